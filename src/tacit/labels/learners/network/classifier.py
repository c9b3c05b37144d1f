"""A torch network as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.labels.learners.network.device import NetworkClassifier, bfloat16, repeatable, seeded
from tacit.labels.learners.network.losses import ForwardCorrected, NetworkLoss, SoftCrossEntropy
from tacit.labels.learners.network.optimizers import Adam, Optimizer
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra
from tacit.privacy.rounding import check_count

if TYPE_CHECKING:
    import torch

__all__ = ["TorchClassifier"]

_PREDICT_ROWS = 4096


class TorchClassifier(NetworkClassifier):
    """Train the network that ``module(shape, classes)`` makes, by mini-batches, on the processor or a GPU.

    Rows may be of any shape: vectors, or images (n, channels, height, width). Data are moved to the device once. On a
    GPU the forward pass runs in bfloat16, the loss and the weights are float32. Two fits with the same
    ``random_state`` on the same device give the same network. The states of torch's global generators are left as
    they were.

    Parameters
    ----------
    module
        Called with the shape of one row and the number of classes; returns a ``torch.nn.Module`` from a batch of rows
        to logits.
    loss
        Default :class:`SoftCrossEntropy`.
    optimizer
        Default :class:`Adam`.
    epochs, batch_size
        How many passes over the rows, and how many rows per step.
    steps
        Take at least this many steps, in more epochs if need be: retraining on some of the rows then lasts as long as
        training on all of them did.
    device
        ``"auto"`` uses a GPU if there is one; or any name that torch knows.
    warm_start
        Start from the last fit's weights where there is one of the same shape, instead of a fresh network.
    progress
        Called with the number of epochs done and their total.
    random_state
        As in scikit-learn.

    Attributes
    ----------
    module_
        The trained network.
    classes_, n_features_in_
        As in scikit-learn.
    losses_
        The mean training loss of each epoch.

    Examples
    --------
    >>> import torch
    >>> X, y = np.arange(20.0)[:, None] / 20, np.repeat(["a", "b"], 10)
    >>> linear = TorchClassifier(
    ...     lambda shape, classes: torch.nn.Linear(*shape, classes), epochs=200, optimizer=Adam(learning_rate=0.1),
    ...     random_state=0,
    ... )
    >>> linear.fit(X, y).predict([[0.0], [1.0]])
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(
        self,
        module: Callable[[tuple[int, ...], int], torch.nn.Module],
        *,
        loss: NetworkLoss | None = None,
        optimizer: Optimizer | None = None,
        epochs: int = 10,
        batch_size: int = 256,
        steps: int = 0,
        device: str = "auto",
        warm_start: bool = False,
        progress: Callable[[int, int], None] | None = None,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.module = module
        self.loss = loss
        self.optimizer = optimizer
        self.epochs = epochs
        self.batch_size = batch_size
        self.steps = steps
        self.device = device
        self.warm_start = warm_start
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TorchClassifier:
        """Train on labels."""
        rows, labels = validate_data(self, X, y, dtype=np.float32, allow_nd=True)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        return self._fit(rows, codes, classes, sample_weight)

    def fit_targets(self, X: ArrayLike, targets: ArrayLike, sample_weight: ArrayLike | None = None) -> TorchClassifier:
        """Train on the weights of each row's classes 0..K-1, in one pass: no row is repeated."""
        rows = validate_data(self, X, dtype=np.float32, allow_nd=True)
        weights = np.asarray(targets, dtype=np.float32)
        if weights.ndim != 2 or len(weights) != len(rows):
            raise InvalidInput(
                f"must have one row for each of the {len(rows)} rows of X, got {weights.shape}", field="targets"
            )
        return self._fit(rows, weights, np.arange(weights.shape[1]), sample_weight)

    def fit_likelihoods(
        self, X: ArrayLike, likelihoods: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> TorchClassifier:
        """Train on the likelihood of each row's released label: P(released label | true label k) in column k.

        The loss is the forward-corrected one, -log sum_k p_k P(released | k), not the ``loss`` for labels.
        """
        loss, self.loss = self.loss, ForwardCorrected()
        try:
            return self.fit_targets(X, likelihoods, sample_weight)
        finally:
            self.loss = loss

    def _fit(
        self, X: NDArray[Any], targets: NDArray[Any], classes: NDArray[Any], sample_weight: ArrayLike | None
    ) -> TorchClassifier:
        torch = load_extra("torch")
        check_count(self.epochs, name="epochs")
        check_count(self.batch_size, name="batch_size")
        check_count(self.steps, name="steps", least=0)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float32)
        if weights is not None:
            weights = weights / weights.mean()  # so that their scale does not change the learning rate
        device = self._device()
        seed = int(check_random_state(self.random_state).randint(2**31))
        with seeded(seed, device):
            if not self._can_go_on(classes):
                self.module_ = self.module(tuple(X.shape[1:]), len(classes))
            self.module_.to(device)
            self.classes_ = classes
            put = partial(torch.as_tensor, device=device)
            self._train(put(X), put(targets), None if weights is None else put(weights))
        return self

    def _train(self, X: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor | None) -> None:
        torch = load_extra("torch")
        batches = -(-len(X) // self.batch_size)
        epochs = max(self.epochs, -(-self.steps // batches))
        optimizer, schedule = (self.optimizer or Adam()).build(self.module_.parameters(), steps=epochs * batches)
        self.losses_ = []
        self.module_.train()
        for epoch in range(1, epochs + 1):
            total = torch.zeros((), device=X.device)
            for rows in torch.randperm(len(X), device=X.device).split(self.batch_size):
                mean = self._mean_loss(X[rows], targets[rows], None if weights is None else weights[rows])
                optimizer.zero_grad(set_to_none=True)
                torch.autograd.backward(mean)
                optimizer.step()
                schedule.step()
                total += mean.detach() * len(rows)  # read once per epoch: each reading waits for the GPU
            self.losses_.append(float(total) / len(X))
            if self.progress is not None:
                self.progress(epoch, epochs)

    def _mean_loss(self, X: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor | None) -> torch.Tensor:
        torch = load_extra("torch")
        if targets.ndim == 1:
            targets = torch.nn.functional.one_hot(targets, len(self.classes_)).float()
        with bfloat16(X.device):
            logits = self.module_(X)
        losses = (SoftCrossEntropy() if self.loss is None else self.loss).rows(logits.float(), targets)
        return (losses if weights is None else losses * weights).mean()

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | x), one column for each of ``classes_``."""
        check_is_fitted(self)
        torch = load_extra("torch")
        rows = validate_data(self, X, reset=False, dtype=np.float32, allow_nd=True)
        device = self._device()
        self.module_.to(device).eval()
        parts = []
        with torch.inference_mode(), bfloat16(device), repeatable():
            for start in range(0, len(rows), _PREDICT_ROWS):
                logits = self.module_(torch.as_tensor(rows[start : start + _PREDICT_ROWS], device=device))
                parts.append(logits.double().softmax(dim=1).cpu().numpy())
        return np.concatenate(parts)

    def _can_go_on(self, classes: NDArray[Any]) -> bool:
        return bool(self.warm_start and hasattr(self, "module_") and np.array_equal(classes, self.classes_))
