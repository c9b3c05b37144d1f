"""Multinomial logistic regression by the likelihood of released labels, with a penalty that they choose themselves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.labels.fitting.likelihood_rows import LikelihoodRows, StandardizedFeatures
from tacit.labels.fitting.shares import class_rates
from tacit.privacy.errors import InvalidInput

__all__ = ["LikelihoodRegression", "NoSignalWarning"]

Array = NDArray[np.float64]

_TINY = 1e-300
_SHRINKAGES = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0)  # of a fit: 0 leaves the rates alone
_DECADES = (3.0, 2.0, 1.0, 0.0, -1.0, -2.0)  # of the penalty, from strong to weak
_USUAL, _WEAKER, _STRONGER = 1.0, 0.5, 0.7  # decade of the penalty, and its deviations to both sides, before any label
_USUAL_SHRINKAGE, _LOG_SPREAD = 1.25, 0.5  # a penalty pulls fits too near the rates; log-normal
_LEAST_SHRINKAGE = 0.05  # whose probability 0 has
_LEAST_CHANCE = 0.05  # of a penalty that is worth a fit
_WORSE = 3.0  # log-likelihood below the best at which a search among weaker penalties ends
_CHANCE = 2.0  # log-likelihood that features without information may gain on held-out rows
_STEPS = 20
_CELLS = 2_500_000  # terms of logits on which the penalty is chosen: all rows, up to so many
_INFORMATION = 4.0  # or rows with so much information for each coefficient, if these are more
_ROUGH, _FINE, _FINEST = 1e-6, 1e-8, 1e-13  # relative change of the loss at which a fit ends: of a path, large, small


class NoSignalWarning(UserWarning):
    """The features say nothing about the labels, as far as the released labels can tell."""


class LikelihoodRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear logits of P(class | x), fitted by maximum likelihood of what was released about each label.

    Minimizes -sum_i w_i log sum_c P(released_i | c) P(c | x_i) + penalty/2 |B|^2 by L-BFGS, where B are the
    coefficients of standardized features. With clean labels this is logistic regression. The penalty is the one under
    which held-out released labels are likeliest, which costs no privacy. They also choose how far the fit goes from the
    rates of the classes: with little information the likeliest fit has the right direction and is too sure.

    Parameters
    ----------
    penalty
        Of the squared coefficients of standardized features; None: chosen by cross-validation on the released labels.
    shrinkage
        What the fit's distance from the rates of the classes is multiplied by, where the penalty is given; else it is
        chosen too.
    folds
        Of that cross-validation.
    class_weight
        As in scikit-learn, for labels that are known; ``"balanced"`` balances the estimated shares of released ones.
    max_iter
        Steps of L-BFGS.
    random_state
        Divides the rows into folds.

    Attributes
    ----------
    coef_, intercept_
        Of the features as they were given; one row for each class.
    penalty_, shrinkage_, n_iter_
        The penalty that was used, or the geometric mean of several; what the fit's distance from the rates of the
        classes was multiplied by; the steps of the longest fit.
    classes_, n_features_in_
        As in scikit-learn.

    References
    ----------
    Patrini et al. (2017), Theorem 2.

    Examples
    --------
    >>> from tacit.labels.mechanisms import RandomizedResponse
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=4000) > 3).astype(int)
    >>> coin = RandomizedResponse(epsilon=1.0, classes=2)
    >>> released = coin.randomize(y, rng=rng)
    >>> model = LikelihoodRegression(random_state=0).fit_likelihoods(X, coin.transition().T[released])
    >>> first, second = model.coef_[1] - model.coef_[0]
    >>> bool(first > 0.5), bool(abs(second) < 0.25)
    (True, True)
    """

    def __init__(
        self,
        *,
        penalty: float | None = None,
        shrinkage: float = 1.0,
        folds: int = 5,
        class_weight: Any = None,  # noqa: ANN401
        max_iter: int = 200,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.folds = folds
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LikelihoodRegression:
        """Train on labels."""
        rows, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise InvalidInput(f"must have at least two classes, got one class: {classes[0]!r}", field="y")
        return self._fit(rows, np.eye(len(classes))[codes], classes, sample_weight)

    def fit_likelihoods(
        self, X: ArrayLike, likelihoods: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LikelihoodRegression:
        """Train on the likelihood of what was released: P(released | true label c) in column c."""
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        likelihood = np.asarray(likelihoods, dtype=np.float64)
        if likelihood.ndim != 2 or len(likelihood) != rows.shape[0]:
            raise InvalidInput(
                f"must have one row for each of the {rows.shape[0]} rows of X, got {likelihood.shape}",
                field="likelihoods",
            )
        return self._fit(rows, likelihood, np.arange(likelihood.shape[1]), sample_weight)

    def _fit(self, X: Any, likelihood: Array, classes: NDArray[Any], sample_weight: Any) -> LikelihoodRegression:  # noqa: ANN401
        self.classes_ = classes
        weights = self._weights(likelihood, _check_sample_weight(sample_weight, X, dtype=np.float64))
        features = StandardizedFeatures.of(X, weights)
        evidence = LikelihoodRows(features, likelihood, weights)
        rates = evidence.start()
        tried = (
            self._choose(evidence, rates)
            if self.penalty is None
            else [_TriedPenalty(self.penalty, 1.0, self.shrinkage, rates)]
        )
        precision = _FINE if evidence.rows * evidence.cells > _CELLS else _FINEST
        found, self.n_iter_ = rates, 0
        for one in tried:
            fit, steps = evidence.fit(
                one.penalty, rates=rates, start=one.start, steps=self.max_iter, precision=precision
            )
            found, self.n_iter_ = found + one.chance * one.shrinkage * (fit - rates), max(self.n_iter_, steps)
        self.penalty_ = float(np.exp(sum(one.chance * np.log(one.penalty) for one in tried)))
        self.shrinkage_ = sum(one.chance * one.shrinkage for one in tried)
        slopes, self.intercept_ = features.unscaled(found)
        self.coef_ = slopes.T
        if len(self.intercept_) == 1:  # the log odds of the second class
            self.coef_, self.intercept_ = (np.concatenate([-one, one]) / 2 for one in (self.coef_, self.intercept_))
        return self

    def _weights(self, likelihood: Array, weights: Array) -> Array:
        """The weights of the rows, times those of the classes as far as their labels are known."""
        if self.class_weight is None:
            return weights
        shares = class_rates(likelihood, weights)
        if self.class_weight == "balanced":
            of_class = 1 / (len(shares) * np.maximum(shares, _TINY))
        else:
            of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        posterior = likelihood * shares
        return np.asarray(weights * (posterior @ of_class) / posterior.sum(axis=1))

    def _choose(self, evidence: LikelihoodRows, rates: Array) -> list[_TriedPenalty]:
        """The penalties under which held-out labels are likely, with their chances and shrinkages.

        Decades first, then the halves beside the best. All that were tried count, by how likely they make the labels
        and by how usual they are: the likeliest of few noisy labels is so by chance.
        """
        paths = self._paths(evidence, rates)
        if not paths:
            return [_TriedPenalty(1.0, 1.0, 1.0, rates)]
        gains: dict[float, Array] = {}
        for power in _DECADES:
            gains[power] = sum((path.gains(power) for path in paths), np.zeros(len(_SHRINKAGES)))
            if gains[power].max() < _best(gains)[1] - _WORSE:
                break
        best, _ = _best(gains)
        for power in (best + 0.5, best - 0.5):
            gains[power] = sum((path.gains(power) for path in paths), np.zeros(len(_SHRINKAGES)))
        if _best(gains)[1] < _CHANCE:
            warnings.warn(
                "the released labels do not show that the features say anything about the label; more rows or a larger "
                "epsilon may help",
                NoSignalWarning,
                stacklevel=4,
            )
        return [
            _TriedPenalty(10.0**power, chance, shrinkage, paths[0].fits[power])
            for power, chance, shrinkage in _chances(gains)
        ]

    def _paths(self, evidence: LikelihoodRows, rates: Array) -> list[_PenaltyPath]:
        """Divide rows into those to fit and those to judge by, as many times as the size of the data allows."""
        wanted = max(
            _CELLS // evidence.cells, round(_INFORMATION * evidence.rows * evidence.columns / evidence.known(rates))
        )
        order = check_random_state(self.random_state).permutation(evidence.rows)
        some = evidence if wanted >= evidence.rows else evidence.take(np.sort(order[:wanted]))
        if some.rows < 2 * self.folds:
            return []
        fold = order[order < some.rows] % self.folds
        used = min(self.folds, max(1, round(_CELLS / (some.cells * some.rows))))
        parts = [(some.where(fold != n), some.take(np.flatnonzero(fold == n))) for n in range(used)]
        return [_PenaltyPath(kept, judge=judge, rates=rates) for kept, judge in parts]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return P(class | x), one column for each class."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(softmax(safe_sparse_dot(rows, self.coef_.T) + self.intercept_, axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _PenaltyPath:
    """Fits of one part of the rows, each from the last, judged by another part."""

    def __init__(self, kept: LikelihoodRows, *, judge: LikelihoodRows, rates: Array) -> None:
        self._kept, self._judge = kept, judge
        self._rates = self._last = rates
        self.fits: dict[float, Array] = {}

    def gains(self, power: float) -> Array:
        """The log-likelihood of the held-out labels above that of the classes' rates alone, at each shrinkage."""
        self._last, _ = self._kept.fit(10.0**power, rates=self._rates, start=self._last, steps=_STEPS, precision=_ROUGH)
        self.fits[power] = self._last
        losses = self._judge.losses_between(self._rates, self._last, _SHRINKAGES)
        return np.asarray(losses[0] - losses)


def _best(gains: dict[float, Array]) -> tuple[float, float]:
    power = max(gains, key=lambda tried: gains[tried].max())
    return power, float(gains[power].max())


@dataclass(frozen=True, slots=True)
class _TriedPenalty:
    """A penalty, its chance, the shrinkage of its fit, and a fit near it."""

    penalty: float
    chance: float
    shrinkage: float
    start: Array


def _chances(gains: dict[float, Array]) -> list[tuple[float, float, float]]:
    """The powers of ten that the labels make likely, with their chances and the mean shrinkage under each."""
    powers, shrinkages = np.array(sorted(gains)), np.array(_SHRINKAGES)
    positive = np.maximum(shrinkages, _LEAST_SHRINKAGE)
    spread = np.where(
        powers < _USUAL, _WEAKER, _STRONGER
    )  # far too weak a penalty costs more than far too strong a one
    usual = -((powers - _USUAL) ** 2) / (2 * spread**2) + np.log(np.gradient(powers))
    usual = usual[:, None] - np.log(positive / _USUAL_SHRINKAGE) ** 2 / (2 * _LOG_SPREAD**2)
    usual += np.log(np.gradient(shrinkages) / positive)
    both = softmax(usual + np.stack([gains[power] for power in powers.tolist()]))
    chances = both.sum(axis=1)
    means, kept = both @ shrinkages / chances, chances >= min(_LEAST_CHANCE, chances.max())
    chances = chances / chances[kept].sum()
    return [(float(powers[one]), float(chances[one]), float(means[one])) for one in np.flatnonzero(kept)]
