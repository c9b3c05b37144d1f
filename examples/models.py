"""A network trained to its margin gives its points away; stopped early it tells less; DP-SGD keeps a promise.

First 20 points in 100 dimensions, attacked by outputs at the margin; then 800 images of digits, odd against even,
learned under a guarantee, written to a file and read back.

    python examples/models.py
"""

import tempfile
from pathlib import Path

import numpy as np
import torch

from tacit.data import digits
from tacit.models.attack import attack_losses, attack_margin
from tacit.models.files import ModelRelease, read_model
from tacit.models.protect import margin_snapshots, stop_before_ties, train_dp_sgd
from tacit.privacy.noise import system_rng


def attack_points(steps):
    rng = np.random.default_rng(0)
    X, y, fresh = rng.normal(size=(20, 100)), rng.choice([-1.0, 1.0], 20), rng.normal(size=(1000, 100))
    path = list(margin_snapshots(X, y, width=50, rng=rng, steps=steps, every=10))
    stopped = stop_before_ties(path, X, y)
    for name, network in (("trained to its margin", path[-1]), ("stopped early", stopped.model)):
        leak = attack_margin(network, X, fresh, labels=y).leak
        print(f"{name}: membership AUC {leak.roc.auc:.3f}, {leak.roc.at_0_1_percent}")
    print(f"  {stopped.promise}")


def train_privately(epochs):
    data = digits()
    order = np.random.default_rng(0).permutation(len(data))
    X, y = data.X[order] / 16 - 0.3, 2.0 * (data.codes[order] % 2) - 1.0
    layers = [torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1, bias=False)]
    made = train_dp_sgd(
        torch.nn.Sequential(*layers),
        X[:800],
        y[:800],
        epsilon=3.0,
        delta=1e-5,
        clip=1.0,
        epochs=epochs,
        batch_size=80,
        learning_rate=0.2,
        rng=system_rng(),
    )
    file = Path(tempfile.mkdtemp()) / "model.safetensors"
    release = ModelRelease.of_module(
        made.module, guarantee=made.guarantee, mechanism=made.mechanism, seeded=made.seeded
    )
    release.write(file)
    back = read_model(file)
    margins = y * back.network(X)
    leak = attack_losses(-margins[:800], -margins[800:], rng=np.random.default_rng(1))
    print(f"by DP-SGD: accuracy {(margins[800:] > 0).mean():.1%}, membership AUC {leak.roc.auc:.3f}")
    print(f"  {back}")
    for assumption in back.guarantee.assumptions:
        print(f"  assumes: {assumption}")


def main(steps=600, epochs=10):
    attack_points(steps)
    train_privately(epochs)


if __name__ == "__main__":
    main()
