"""Backward correction: weights for every class of a row that undo the randomization on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.labels.fitting.denoise import NoisyLabels
from tacit.labels.fitting.model import fit_soft, weights_keyword
from tacit.labels.mechanisms import LabelMechanism
from tacit.privacy.errors import InvalidInput

__all__ = ["BackwardCorrection"]

_TRIAL_ROWS = 100


@dataclass(frozen=True, slots=True)
class BackwardCorrection:
    """Weigh each class c of a row by (T^-1)[z, c]: the expected loss is then the loss on the true labels.

    For randomized response (T^-1)[z, c] = (1[c = z] - q)/(pi - q), with pi the probability of the true label and q of
    any other: negative for every class but the released one, and summing to 1 over the classes. Unbiased, where
    :class:`ForwardCorrection` is not, and noisier: the weights grow like 1/epsilon.

    Negative weights make sense where training adds up a loss over rows, as in linear models, boosted trees and
    networks. Refused before anything is charged: estimators without ``sample_weight``, those that raise on negative
    weights or leave them out, those that return no probabilities from them (single trees and forests, whose leaves hold
    class shares), and stages, whose later rows go through channels without an inverse.

    References
    ----------
    Natarajan et al. (2013); Patrini et al. (2017), Theorem 1. Formula sheet a10.
    """

    def check(self, estimator: Any, X: Any, *, mechanism: LabelMechanism | None, classes: int) -> None:  # noqa: ANN401
        """Raise if estimator or mechanism do not allow it, which a fit of made-up labels shows."""
        if mechanism is None or not mechanism.uniform:
            raise _refused()
        if not (weights_keyword(estimator) or hasattr(estimator, "fit_targets")):
            raise InvalidInput(
                f"denoise=BackwardCorrection() needs an estimator with sample_weight, got {estimator!r}; "
                "use ForwardCorrection()"
            )
        if not hasattr(estimator, "fit_targets"):  # a network takes the weights unchanged
            _try_out(estimator, columns=X.shape[1], classes=classes)

    def targets(self, estimator: Any, X: Any, noisy: NoisyLabels, *, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: ANN401, ARG002
        """Return the row of T^-1 at each released label."""
        likelihood = noisy.likelihood
        released = np.eye(likelihood.shape[1], dtype=bool)[noisy.given]
        pi, q = likelihood[released], np.where(released, np.inf, likelihood).min(axis=1)
        as_response = np.where(released, pi[:, None], q[:, None])
        if not np.allclose(likelihood, as_response, rtol=0, atol=1e-9) or (pi <= q).any():
            raise _refused()
        return np.asarray((released - q[:, None]) / (pi - q)[:, None])


def _refused() -> InvalidInput:
    return InvalidInput(
        "denoise=BackwardCorrection() needs randomized response over all classes; use ForwardCorrection()"
    )


def _try_out(estimator: Any, *, columns: int, classes: int) -> None:  # noqa: ANN401
    """Fit made-up rows, with the negative weights and without: no difference means that they are ignored."""
    rng = np.random.default_rng(0)
    X = rng.random((max(_TRIAL_ROWS, 2 * classes), columns))
    released = np.eye(classes, dtype=bool)[rng.permutation(np.arange(len(X)) % classes)]

    def scores(weights: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
        rows = np.full(len(X), scale)
        model = fit_soft(estimator, X, weights, sample_weight=rows, rng=np.random.default_rng(0))
        return np.asarray(getattr(model.estimator, "decision_function", model.probabilities)(X))

    signed, cut = scores(np.where(released, 1.5, -0.5 / (classes - 1)), 1.0), scores(released.astype(np.float64), 1.5)
    if signed.shape == cut.shape and np.allclose(signed, cut):
        raise InvalidInput(
            f"must take negative weights, {estimator!r} ignores them; use ForwardCorrection()", field="estimator"
        )
