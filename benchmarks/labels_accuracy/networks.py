"""The networks."""

from __future__ import annotations

from typing import Any

from tacit.labels.learners.network import Adam, TorchClassifier


def small_cnn(shape: tuple[int, ...], classes: int) -> Any:
    """Two blocks of convolutions and one hidden layer, on rows of 784 pixels; about 430,000 weights."""
    from torch import nn

    side = round(shape[0] ** 0.5)
    return nn.Sequential(
        nn.Unflatten(1, (1, side, side)),
        *_block(1, 32),
        *_block(32, 64),
        nn.Flatten(),
        nn.Linear(64 * (side // 4) ** 2, 128),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(128, classes),
    )


def _block(channels: int, width: int) -> list[Any]:
    from torch import nn

    return [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]


def perceptron(shape: tuple[int, ...], classes: int) -> Any:
    """One hidden layer of 64."""
    from torch import nn

    return nn.Sequential(nn.Linear(shape[0], 64), nn.ReLU(), nn.Linear(64, classes))


def digits_network(*, quick: bool, **options: Any) -> TorchClassifier:
    epochs = 2 if quick else 20
    return TorchClassifier(perceptron, epochs=epochs, batch_size=64, steps=19 * epochs, **options)  # 1,200 rows: 19


def mnist_network(*, quick: bool, learning_rate: float = 3e-4, **options: Any) -> TorchClassifier:
    optimizer = Adam(learning_rate=learning_rate)
    return TorchClassifier(small_cnn, epochs=2 if quick else 12, batch_size=512, optimizer=optimizer, **options)


def fast_mnist_network(*, quick: bool, **options: Any) -> TorchClassifier:
    """At this rate plain training on labels of epsilon 0.5 does not get off the ground; all else does better."""
    return mnist_network(quick=quick, learning_rate=2e-3, **options)
