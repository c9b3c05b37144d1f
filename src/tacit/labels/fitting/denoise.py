"""From noisy labels to training targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from tacit.labels.fitting.class_weights import unbalanced
from tacit.labels.fitting.expect import calibrate, expect_outside, posterior_targets
from tacit.labels.fitting.model import FittedModel, Weights, fit_soft, fresh_copy
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = [
    "DenoisingRule",
    "ForwardCorrection",
    "LikelihoodTargets",
    "NoCorrection",
    "NoisyLabels",
    "takes_likelihoods",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyLabels:
    """The released labels of some rows.

    Parameters
    ----------
    given
        Their class codes.
    likelihood
        P(released label | true label = c) as column c.
    sample_weight
        One per row; None: all alike.
    """

    given: NDArray[np.int64]
    likelihood: Array
    sample_weight: Weights = None

    def take(self, rows: NDArray[np.int64]) -> NoisyLabels:
        """Return those of some rows."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return NoisyLabels(given=self.given[rows], likelihood=self.likelihood[rows], sample_weight=weights)


class DenoisingRule(Protocol):
    """A way to make training targets, a distribution over classes per row, from the released labels.

    A method ``fit(estimator, X, targets, *, sample_weight, rng)`` trains on them, where it is not to be ``fit_soft``; a
    method ``check(estimator, X, *, mechanism, classes)`` raises before anything is charged.
    """

    def targets(self, estimator: Any, X: Any, noisy: NoisyLabels, *, rng: np.random.Generator) -> Array:  # noqa: ANN401
        """Return one row of class weights for each label."""


@dataclass(frozen=True, slots=True)
class NoCorrection:
    """Take the released labels unchanged."""

    def targets(self, estimator: Any, X: Any, noisy: NoisyLabels, *, rng: np.random.Generator) -> Array:  # noqa: ANN401, ARG002
        """Return the given labels, one-hot."""
        return np.eye(noisy.likelihood.shape[1])[noisy.given]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardCorrection:
    """The posterior of each true label: a model's probabilities for the row times the mechanism's likelihood.

    Each round predicts every row from models that its label did not reach, directly or through another row's target
    (:func:`~tacit.labels.fitting.expect.expect_outside`), and makes new targets from that. This is expectation
    maximization for the forward-corrected likelihood -log (T' p)_z, so any estimator with sample weights can be
    corrected, not only networks.

    Parameters
    ----------
    rounds
        Passes of expectation and maximization.
    folds
        Parts for predictions from outside: more than ``rounds``. 1 predicts in-sample, which only suits rigid models.

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

    def targets(self, estimator: Any, X: Any, noisy: NoisyLabels, *, rng: np.random.Generator) -> Array:  # noqa: ANN401
        """Return the posterior of each label after the last round.

        If there are too few rows to leave any out, the posterior uses only the row's own label.
        """
        likelihood, weights = noisy.likelihood, noisy.sample_weight
        start = posterior_targets(np.full(likelihood.shape, 1 / likelihood.shape[1]), likelihood)
        plain = unbalanced(estimator)  # a posterior takes P(class | x)
        if self.folds == 1:
            targets = start
            for _ in range(self.rounds):
                prior = fit_soft(plain, X, targets, sample_weight=weights, rng=rng).probabilities(X)
                targets = posterior_targets(calibrate(prior, likelihood=likelihood), likelihood)
            return targets
        if len(likelihood) < 2 * self.folds:
            return start
        prior = expect_outside(
            plain,
            X,
            likelihood=likelihood,
            start=start,
            rounds=self.rounds,
            folds=self.folds,
            sample_weight=weights,
            rng=rng,
        )
        return posterior_targets(prior, likelihood)


@dataclass(frozen=True, slots=True)
class LikelihoodTargets:
    """Each released label as its likelihood under every true label, for an estimator that learns from that.

    That is an estimator with a method ``fit_likelihoods``, as ``TorchClassifier`` has, or a pipeline whose last step
    has one: forward correction as published, at the cost of one training. :class:`ForwardCorrection` seeks the same
    minimizer with any estimator, at several; networks learn far less that way, since each of its models sees part of
    the rows.

    References
    ----------
    Patrini et al. (2017), Theorem 2.
    """

    def check(self, estimator: Any, X: Any, **channel: Any) -> None:  # noqa: ANN401, ARG002
        """Reject an estimator that cannot learn from likelihoods, before anything is charged."""
        if not takes_likelihoods(estimator):
            raise InvalidInput(
                f"denoise=LikelihoodTargets() needs an estimator with fit_likelihoods, got {estimator!r}; "
                "use a TorchClassifier, or denoise=ForwardCorrection()"
            )

    def targets(self, estimator: Any, X: Any, noisy: NoisyLabels, *, rng: np.random.Generator) -> Array:  # noqa: ANN401, ARG002
        """Return the likelihoods unchanged."""
        return noisy.likelihood

    def fit(
        self,
        estimator: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        targets: Array,
        *,
        sample_weight: Weights = None,
        rng: np.random.Generator | None,
    ) -> FittedModel:
        """Fit a fresh copy of the estimator to the likelihoods."""
        fitted, rows = fresh_copy(estimator, rng), X
        last = fitted
        if isinstance(fitted, Pipeline):
            last = fresh_copy(fitted.steps[-1][1], rng)
            if len(fitted.steps) > 1:  # a step that reads labels gets the released ones
                rows = fitted[:-1].fit_transform(X, targets.argmax(axis=1))
            fitted.steps[-1] = (fitted.steps[-1][0], last)
        last.fit_likelihoods(rows, targets, sample_weight=sample_weight)
        return FittedModel(fitted, targets.shape[1])


def takes_likelihoods(estimator: Any) -> bool:  # noqa: ANN401
    """Whether the estimator, or the last step of a pipeline, has ``fit_likelihoods``."""
    return hasattr(estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator, "fit_likelihoods")
