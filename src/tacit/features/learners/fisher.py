"""Fisher's classifier on released features: it knows the noise that was added and takes it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.features.learners.rules import FisherRule, IndependenceRule, InverseCovariance
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.noisy_totals import ReleasedTotals
from tacit.privacy.errors import InvalidInput

__all__ = ["FisherClassifier"]

Matrix = NDArray[np.float64]


class FisherClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify by the class mean that is nearest by the covariance within classes.

    Noise of a known variance on the training features adds to the covariance and not to the means; noise of a known
    transition matrix on the labels mixes the class totals. Both are undone: the totals by class are multiplied by
    the inverse of the transition matrix, and the noise's variance is subtracted from the diagonal.

    Parameters
    ----------
    rule
        ``IndependenceRule()`` (the default) uses the variances alone, ``FullCovarianceRule()`` the whole covariance.
    noise
        Standard deviation of the noise on the training features: one number, or one per feature.
    noisy_test
        Whether the rows to classify carry the same noise.
    transition
        P(released label = column | label = row) over the sorted classes; None if the labels are true.

    References
    ----------
    Fisher (1936); Fan and Fan (2008); the feature-release paper, Section A.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> X = rng.normal(size=(4000, 2)) + 2 * y[:, None]
    >>> noisy = X + rng.normal(scale=3.0, size=X.shape)
    >>> FisherClassifier(noise=3.0).fit(noisy, y).score(X, y) > 0.9
    True
    """

    classes_: NDArray[Any]
    means_: Matrix
    inverse_covariance_: InverseCovariance
    priors_: Matrix
    coef_: Matrix
    intercept_: Matrix

    def __init__(
        self,
        rule: FisherRule | None = None,
        *,
        noise: ArrayLike = 0.0,
        noisy_test: bool = False,
        transition: ArrayLike | None = None,
    ) -> None:
        self.rule = rule
        self.noise = noise
        self.noisy_test = noisy_test
        self.transition = transition

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: ANN401
        """Learn means and covariance."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(f"the labels must be of at least two classes, got 1 class: {self.classes_[0]!r}")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise InvalidInput("must be positive for some row, got only zeros", field="sample_weight")
        return self.fit_codes(X, codes, classes=self.classes_, weights=weights)

    def fit_codes(
        self, X: Matrix, codes: NDArray[np.int64], *, classes: Sequence[Any] | Matrix, weights: Matrix | None = None
    ) -> Self:
        """Learn from rows whose labels are places in a list of classes, which may have classes that do not occur.

        A release states its list, and its transition matrix is in that list's order.
        """
        weights = np.ones(len(X)) if weights is None else weights
        K = len(classes)
        middle = np.average(X, axis=0, weights=weights)
        X = X - middle  # squares of values far from 0 would leave no digits for their spread
        member = np.zeros((K, len(X)))
        member[codes, np.arange(len(X))] = weights
        squares = self._rule.squares(X, weights=weights)
        self.fit_moments(counts=member.sum(axis=1), sums=member @ X, squares=squares, classes=classes)
        return self._rescaled(middle, np.ones_like(middle))

    def fit_moments(self, *, counts: ArrayLike, sums: ArrayLike, squares: ArrayLike, classes: ArrayLike) -> Self:
        """Learn from totals of noisy rows: all that :meth:`fit` reads of them.

        ``counts`` and ``sums`` are by released class; ``squares`` are of all rows, and for ``FullCovarianceRule()`` the
        products of two features.
        """
        self.classes_ = np.asarray(classes)
        rows, totals = self._unmixed(np.asarray(counts, dtype=np.float64), np.asarray(sums, dtype=np.float64))
        self.n_features_in_ = totals.shape[1]
        added = np.broadcast_to(np.square(np.asarray(self.noise, dtype=np.float64)), totals.shape[1:])
        error = added * np.sqrt(2 / _degrees(rows))  # of a variance that is estimated from so many rows
        return self._learn(rows, totals, np.asarray(squares, dtype=np.float64), noise=added, error=error)

    def fit_totals(
        self, totals: ReleasedTotals, *, box: FeatureRanges, classes: Sequence[Any], squares_noise: float = 0.0
    ) -> Self:
        """Learn from released class totals, which are on the box's own scale: half widths from its middle."""
        self.classes_ = np.asarray(classes)
        self.n_features_in_ = box.features
        rows = np.maximum(totals.counts, 1.0)  # noise may leave less than one row
        means = np.clip(totals.sums / rows[:, None], -1.0, 1.0)
        error = np.full(box.features, squares_noise / _degrees(rows))
        self._learn(rows, means * rows[:, None], totals.squares, noise=np.zeros(box.features), error=error)
        return self._rescaled(box.middle, box.half)

    @property
    def _rule(self) -> FisherRule:
        return IndependenceRule() if self.rule is None else self.rule

    def _rescaled(self, middle: Matrix, half: Matrix) -> Self:
        """The same rule for rows in their own units."""
        self.means_ = middle + half * self.means_
        self.coef_ = self.coef_ / half
        self.intercept_ = self.intercept_ - self.coef_ @ middle
        covariance = self.inverse_covariance_.covariance
        self.inverse_covariance_ = InverseCovariance(
            covariance * (half**2 if covariance.ndim == 1 else np.outer(half, half))
        )
        return self

    def _unmixed(self, counts: Matrix, sums: Matrix) -> tuple[Matrix, Matrix]:
        """Totals by true class, in expectation, from totals by released class."""
        if self.transition is None:
            return counts, sums
        T = np.asarray(self.transition, dtype=np.float64)
        if T.shape != (len(counts), len(counts)) or np.linalg.matrix_rank(T) < len(counts):
            raise InvalidInput(f"transition must be an invertible {len(counts)} x {len(counts)} matrix")
        return np.asarray(np.linalg.solve(T.T, counts)), np.asarray(np.linalg.solve(T.T, sums))

    def _learn(self, counts: Matrix, sums: Matrix, squares: Matrix, *, noise: Matrix, error: Matrix) -> Self:
        """From class totals and the second moments of all rows to a linear rule."""
        usable = np.maximum(counts, 1.0)  # an estimate of a rare class may fall below one row
        self.means_ = sums / usable[:, None]
        between = (self.means_.T * usable) @ self.means_ if squares.ndim == 2 else usable @ self.means_**2
        spread = (squares - between) / _degrees(counts)
        self.inverse_covariance_ = self._rule.inverse_covariance(
            spread, noise=noise, error=error, noisy_test=self.noisy_test
        )
        self.priors_ = usable / usable.sum()
        self.coef_ = self.inverse_covariance_.apply(self.means_.T).T
        self.intercept_ = np.log(self.priors_) - 0.5 * (self.coef_ * self.means_).sum(axis=1)
        return self

    def decision_function(self, X: Any) -> Matrix:  # noqa: ANN401
        """Return the discriminant of each class; for two classes, the second's less the first's."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> Matrix:  # noqa: ANN401
        """Return P(class | x) under the Gaussian model."""
        scores = self._scores(X)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the class of each row."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _scores(self, X: Any) -> Matrix:  # noqa: ANN401
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(rows @ self.coef_.T + self.intercept_)


def _degrees(counts: Matrix) -> float:
    """The rows minus one per class: the denominator of a variance within classes."""
    return float(max(counts.sum() - len(counts), 1.0))
