"""A representation learned from the features alone, which are public under label privacy: it costs nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.labels.learners.network.device import NetworkEstimator, bfloat16, repeatable, seeded
from tacit.labels.learners.network.optimizers import Adam, Optimizer
from tacit.labels.learners.network.views import AffineViews, CorruptedViews, RandomViews
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra
from tacit.privacy.rounding import check_count

if TYPE_CHECKING:
    import torch

__all__ = ["BarlowTwins"]

_ROWS_AT_ONCE = 4096


class BarlowTwins(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NetworkEstimator):  # type: ignore[misc]
    """Barlow Twins: a network whose outputs agree on two views of a row, and share nothing with one another.

    With C the correlations, over a batch, of the outputs for one view with those for the other, the loss is
    sum_i (1 - C_ii)^2 + lambda sum_(i != j) C_ij^2. ``fit`` ignores ``y``. Rows are vectors, images (n, height, width)
    or images (n, channels, height, width). What ``transform`` returns is centered and each row scaled to the same
    length, so that near means alike. Two fits with the same ``random_state`` on the same device give the same network.

    Parameters
    ----------
    dimensions
        Numbers per row in the representation; for images by the default module rounded up to a multiple of 4.
    views
        Default :class:`AffineViews` for images, :class:`CorruptedViews` for vectors.
    module
        Called with the shape of one row and ``dimensions``; returns the ``torch.nn.Module``. Default: three
        convolutions and a mean over each quarter for images, two hidden layers for vectors.
    redundancy
        The published lambda.
    width
        Of the projector that the loss is computed on, which is discarded.
    epochs, batch_size, optimizer, device, progress, random_state
        As in :class:`TorchClassifier`.

    Attributes
    ----------
    module_, n_features_in_
        The trained network; as in scikit-learn.
    losses_
        The mean loss of each epoch.

    References
    ----------
    Zbontar, Jing, Misra, LeCun and Deny (2021), equations (1) and (2).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> images = load_digits().images[:200] / 16
    >>> BarlowTwins(dimensions=8, epochs=1, random_state=0).fit(images).transform(images).shape
    (200, 8)
    """

    def __init__(
        self,
        *,
        dimensions: int = 256,
        views: RandomViews | None = None,
        module: Callable[[tuple[int, ...], int], torch.nn.Module] | None = None,
        redundancy: float = 0.005,
        width: int = 512,
        epochs: int = 10,
        batch_size: int = 256,
        optimizer: Optimizer | None = None,
        device: str = "auto",
        progress: Callable[[int, int], None] | None = None,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.dimensions = dimensions
        self.views = views
        self.module = module
        self.redundancy = redundancy
        self.width = width
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> BarlowTwins:  # noqa: ARG002
        """Learn from the rows; ``y`` is ignored."""
        torch = load_extra("torch")
        for name in ("dimensions", "width", "epochs"):
            check_count(getattr(self, name), name=name)
        check_count(self.batch_size, name="batch_size", least=2)
        rows = self._rows(X, ensure_min_samples=2)
        device = self._device()
        with seeded(int(check_random_state(self.random_state).randint(2**31)), device):
            shape = tuple(rows.shape[1:])
            self.module_ = (self.module or default_body)(shape, self.dimensions).to(device)
            self._n_features_out = self._outputs(rows[:1]).shape[1]
            projector = _projector(self._n_features_out, self.width).to(device)
            self._train(torch.as_tensor(rows, device=device), projector)
        self.mean_ = self._outputs(rows).mean(axis=0)
        return self

    def _train(self, rows: torch.Tensor, projector: torch.nn.Module) -> None:
        torch = load_extra("torch")
        both = torch.nn.Sequential(self.module_, projector).train()
        views = self.views or (AffineViews() if rows.ndim == 4 else CorruptedViews())
        size = min(self.batch_size, len(rows))
        batches = len(rows) // size  # a smaller last batch is left out: its correlations say little
        optimizer, schedule = (self.optimizer or Adam()).build(both.parameters(), steps=self.epochs * batches)
        self.losses_ = []
        for epoch in range(1, self.epochs + 1):
            total = torch.zeros((), device=rows.device)
            for places in torch.randperm(len(rows), device=rows.device)[: batches * size].split(size):
                batch = rows[places]
                with bfloat16(rows.device):
                    one, other = both(torch.cat([views.draw(batch), views.draw(batch)])).chunk(2)
                loss = twins_loss(one.float(), other.float(), redundancy=self.redundancy)
                optimizer.zero_grad(set_to_none=True)
                torch.autograd.backward(loss)
                optimizer.step()
                schedule.step()
                total += loss.detach()
            self.losses_.append(float(total) / batches)
            if self.progress is not None:
                self.progress(epoch, self.epochs)

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the representation of each row."""
        check_is_fitted(self)
        centered = self._outputs(self._rows(X, reset=False)) - self.mean_
        lengths = np.sqrt((centered**2).sum(axis=1, keepdims=True))
        return np.asarray(np.sqrt(centered.shape[1]) * centered / np.maximum(lengths, 1e-12), dtype=np.float32)

    def start(self, shape: tuple[int, ...], classes: int) -> torch.nn.Module:
        """Return a copy of the trained network with a fresh head, for ``TorchClassifier(twins.start)`` to fine-tune."""
        check_is_fitted(self)
        if shape != self._shape:
            raise InvalidInput(f"must be of shape {self._shape}, as those of fit, got {shape}", field="rows")
        nn = load_extra("torch").nn
        layers = [nn.Unflatten(1, (1, shape[0]))] if len(shape) == 2 else []
        norm, head = nn.BatchNorm1d(self._n_features_out), nn.Linear(self._n_features_out, classes)
        made: torch.nn.Module = nn.Sequential(*layers, copy.deepcopy(self.module_), norm, nn.ReLU(), head)
        return made

    def _rows(self, X: ArrayLike, **options: Any) -> NDArray[np.float32]:  # noqa: ANN401
        rows: NDArray[np.float32] = validate_data(self, X, dtype=np.float32, allow_nd=True, **options)
        if options.get("reset", True):
            self._shape = tuple(rows.shape[1:])
        elif tuple(rows.shape[1:]) != self._shape:
            raise InvalidInput(f"X must have rows of shape {self._shape}, as in fit, got {rows.shape[1:]}")
        return rows[:, None] if rows.ndim == 3 else rows

    def _outputs(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        torch = load_extra("torch")
        device = self._device()
        # in double precision a row's numbers do not depend on the rows it is asked for with
        body = copy.deepcopy(self.module_).to(device).double().eval()
        put = partial(torch.as_tensor, device=device, dtype=torch.float64)
        with torch.inference_mode(), repeatable():
            parts = [
                body(put(rows[start : start + _ROWS_AT_ONCE])).cpu().numpy()
                for start in range(0, len(rows), _ROWS_AT_ONCE)
            ]
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def twins_loss(one: torch.Tensor, other: torch.Tensor, *, redundancy: float) -> torch.Tensor:
    """Return sum_i (1 - C_ii)^2 + redundancy sum_(i != j) C_ij^2, C the correlations of two batches of outputs."""
    one, other = ((z - z.mean(0)) / (z.std(0, correction=0) + 1e-4) for z in (one, other))
    correlations = one.T @ other / len(one)
    same = correlations.diagonal()
    loss: torch.Tensor = ((1 - same) ** 2).sum() + redundancy * ((correlations**2).sum() - (same**2).sum())
    return loss


def default_body(shape: tuple[int, ...], dimensions: int) -> torch.nn.Module:
    """Return three convolutions and a mean over quarters for images, two hidden layers of 256 for vectors."""
    nn = load_extra("torch").nn
    if len(shape) == 3:
        channels = (shape[0], 16, 32, -(-dimensions // 4))
        layers = [_step(nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o)) for i, o in pairwise(channels)]
        last = [nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    else:
        wide = (int(np.prod(shape)), 256, 256)
        layers = [_step(nn.Linear(i, o, bias=False), nn.BatchNorm1d(o)) for i, o in pairwise(wide)]
        last = [nn.Linear(wide[-1], dimensions)]
    made: torch.nn.Module = nn.Sequential(*layers, *last)
    return made


def _step(layer: torch.nn.Module, norm: torch.nn.Module) -> torch.nn.Module:
    nn = load_extra("torch").nn
    made: torch.nn.Module = nn.Sequential(layer, norm, nn.ReLU())
    return made


def _projector(dimensions: int, width: int) -> torch.nn.Module:
    nn = load_extra("torch").nn
    made: torch.nn.Module = nn.Sequential(
        nn.BatchNorm1d(dimensions), nn.ReLU(), nn.Linear(dimensions, width, bias=False), nn.BatchNorm1d(width),
        nn.ReLU(), nn.Linear(width, width, bias=False),
    )  # fmt: skip
    return made
