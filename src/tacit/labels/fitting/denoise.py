"""From noisy labels to what they say about the true ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.labels.fitting.expect import calibrate, expect_outside, posterior_targets
from tacit.labels.fitting.model import Weights, fit_soft, unbalanced
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["Denoise", "Forward", "NoCorrection"]


class Denoise(Protocol):
    """Makes training targets, a distribution over classes a row, from the released labels."""

    def targets(
        self,
        estimator: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        *,
        likelihood: NDArray[np.float64],
        given: NDArray[np.int64],
        sample_weight: Weights = None,
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Return one row of class weights for each label."""


@dataclass(frozen=True, slots=True)
class NoCorrection:
    """Take the released labels as they are."""

    def targets(
        self,
        estimator: Any,  # noqa: ANN401, ARG002
        X: Any,  # noqa: ANN401, ARG002
        *,
        likelihood: NDArray[np.float64],
        given: NDArray[np.int64],
        sample_weight: Weights = None,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return the given labels, one-hot."""
        return np.eye(likelihood.shape[1])[given]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """The posterior of each true label: a model's probabilities for the row times the mechanism's likelihood.

    Each round predicts every row from models that its label did not reach, directly or through another row's target
    (:func:`~tacit.labels.fitting.expect.expect_outside`), and makes new targets from that. This is expectation
    maximisation for the forward-corrected likelihood -log (T' p)_z, so any estimator with sample weights can be
    corrected, not only networks.

    Parameters
    ----------
    rounds
        Passes of expectation and maximisation.
    folds
        Parts for predictions from outside: more than ``rounds``. 1 predicts in-sample, which only rigid models stand.

    References
    ----------
    Dempster, Laird and Rubin (1977); Patrini et al. (2017).
    """

    rounds: int = 2
    folds: int = 3

    def __post_init__(self) -> None:
        check_count(self.rounds, name="rounds")
        check_count(self.folds, name="folds")
        if 1 < self.folds <= self.rounds:
            raise InvalidInput(f"must be more than the {self.rounds} rounds, or 1, got {self.folds}", field="folds")

    def targets(
        self,
        estimator: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        *,
        likelihood: NDArray[np.float64],
        given: NDArray[np.int64],  # noqa: ARG002
        sample_weight: Weights = None,
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Return the posterior of each label after the last round.

        Too few rows to leave any out keep the posterior of their own label alone.
        """
        start = posterior_targets(np.full(likelihood.shape, 1 / likelihood.shape[1]), likelihood)
        plain = unbalanced(estimator)  # a posterior takes P(class | x)
        if self.folds == 1:
            return self._in_sample(plain, X, likelihood, start, sample_weight, rng)
        if len(likelihood) < 2 * self.folds:
            return start
        prior = expect_outside(
            plain,
            X,
            likelihood=likelihood,
            start=start,
            rounds=self.rounds,
            folds=self.folds,
            sample_weight=sample_weight,
            rng=rng,
        )
        return posterior_targets(prior, likelihood)

    def _in_sample(
        self,
        estimator: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        likelihood: NDArray[np.float64],
        start: NDArray[np.float64],
        sample_weight: Weights,
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        targets = start
        for _ in range(self.rounds):
            prior = fit_soft(estimator, X, targets, sample_weight=sample_weight, rng=rng).probabilities(X)
            targets = posterior_targets(calibrate(prior, likelihood=likelihood), likelihood)
        return targets
