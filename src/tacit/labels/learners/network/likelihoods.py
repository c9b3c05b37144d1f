"""Forward correction inside the loss: one training, no expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.labels.fitting.model import Model, Weights, fresh_copy
from tacit.privacy.errors import InvalidInput

__all__ = ["Likelihoods"]


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """Each released label as its likelihood under every true label, for an estimator that learns from that.

    That is an estimator with a method ``fit_likelihoods``, as :class:`TorchClassifier` has: forward correction as
    published, at the cost of one training. :class:`~tacit.labels.Forward` seeks the same minimiser with any
    estimator, at several; networks learn far less that way, since each of its models sees part of the rows.

    References
    ----------
    Patrini et al. (2017), Theorem 2.
    """

    def check(self, estimator: Any, X: Any, **channel: Any) -> None:  # noqa: ANN401, ARG002
        """Refuse an estimator that cannot learn from likelihoods, before anything is charged."""
        if not hasattr(estimator, "fit_likelihoods"):
            raise InvalidInput(
                f"denoise=Likelihoods() needs an estimator with fit_likelihoods, got {estimator!r}; "
                "use a TorchClassifier, or denoise=Forward()"
            )

    def targets(
        self,
        estimator: Any,  # noqa: ANN401, ARG002
        X: Any,  # noqa: ANN401, ARG002
        *,
        likelihood: NDArray[np.float64],
        given: NDArray[np.int64],  # noqa: ARG002
        sample_weight: Weights = None,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return the likelihoods as they are."""
        return likelihood

    def fit(
        self,
        estimator: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        targets: NDArray[np.float64],
        *,
        sample_weight: Weights = None,
        rng: np.random.Generator | None,
    ) -> Model:
        """Fit a fresh copy of the estimator to the likelihoods."""
        fitted = fresh_copy(estimator, rng).fit_likelihoods(X, targets, sample_weight=sample_weight)
        return Model(fitted, targets.shape[1])
