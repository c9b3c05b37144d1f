"""Boosted trees of any library, fitted by the likelihood of released labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted, validate_data

from tacit.labels.fitting.boosting.class_shift import class_shift
from tacit.labels.fitting.boosting.libraries import library_of
from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.rounds import BoostedRows, grow_trees
from tacit.privacy.errors import InvalidInput

__all__ = ["LikelihoodBoosting", "LikelihoodBoostingRegressor"]

Array = NDArray[np.float64]


class _BoostingEstimator(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """The trees of an estimator, with another loss."""

    estimator: Any
    random_state: Any

    def _grow(
        self,
        X: Any,  # noqa: ANN401
        likelihood: Array,
        sample_weight: Any,  # noqa: ANN401
        *,
        values: Array | None = None,
        eval_set: Any = None,  # noqa: ANN401
        options: Mapping[str, Any],
    ) -> None:
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        objective = ReleasedObjective.of(likelihood, weights, values=values)
        library = library_of(self._base(), scores=objective.scores)
        if library is None:
            raise InvalidInput(
                f"must be boosted trees of XGBoost, LightGBM, CatBoost or scikit-learn, got {self.estimator!r}",
                field="estimator",
            )
        seed = check_random_state(self.random_state).randint(2**31)
        estimator = _seeded(self._base(), seed)
        rows, judge = BoostedRows(X, objective), _judging(eval_set, objective)
        rng = np.random.default_rng(seed)
        self._trees = grow_trees(library, estimator, rows, judge=judge, options=options, rng=rng)
        self._objective = objective.take(np.arange(0))

    def _probabilities(self, X: Any) -> Array:  # noqa: ANN401
        check_is_fitted(self, "_trees")
        validate_data(self, X, skip_check_array=True, reset=False)
        return self._objective.probabilities(self._trees.scores(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        try:
            tags.input_tags = get_tags(self._base()).input_tags
        except (AttributeError, TypeError, ValueError):  # a library older than the tags
            tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.categorical = True
        return tags


class LikelihoodBoosting(ClassifierMixin, _BoostingEstimator):  # type: ignore[misc]
    """Boosted trees for P(class | x), fitted by maximum likelihood of what was released about each label.

    Minimizes -sum_i w_i log sum_c P(released_i | c) P(c | x_i) with the trees of XGBoost, LightGBM, CatBoost or
    scikit-learn's histogram boosting: their gradient is p - q with the posterior q, their Hessian p(1 - p) times the
    share of a label's information that its release can carry (:func:`information_bound`). With clean labels this is
    the estimator. CatBoost with several scores is fitted by expectation maximization instead.

    Held-out released labels choose the number of rounds, up to the estimator's own, and whether the trees have its
    size or four leaves, which under much noise is better, or the mean of both; this costs no privacy.

    Parameters
    ----------
    estimator
        A classifier of one of these libraries; default ``HistGradientBoostingClassifier()``. ``class_weight``,
        ``scale_pos_weight`` and their like change the odds of the classes in what is predicted.
    random_state
        Divides the rows, and seeds an estimator without a seed.

    Attributes
    ----------
    classes_, n_features_in_
        As in scikit-learn.

    References
    ----------
    Patrini et al. (2017), Theorem 2; Friedman (2001).

    Examples
    --------
    >>> from tacit.labels.mechanisms import RandomizedResponse
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(4000, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> coin = RandomizedResponse(epsilon=1.0, classes=2)
    >>> released = coin.randomize(y, rng=rng)
    >>> model = LikelihoodBoosting(random_state=0).fit_likelihoods(X, coin.likelihood(released))
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(self, estimator: Any = None, *, random_state: Any = None) -> None:  # noqa: ANN401
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **options: Any) -> LikelihoodBoosting:  # noqa: ANN401
        """Train on labels."""
        check_classification_targets(y)
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < 2:
            raise InvalidInput(f"must have at least two classes, got one class: {classes[0]!r}", field="y")
        return self._fit(X, np.eye(len(classes))[codes], classes, sample_weight, options)

    def fit_likelihoods(
        self,
        X: Any,  # noqa: ANN401
        likelihoods: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **options: Any,  # noqa: ANN401
    ) -> LikelihoodBoosting:
        """Train on the likelihood of what was released: P(released | true label c) in column c.

        ``options`` go to the estimator's ``fit``, but for ``eval_set``, a list with one pair of features and such
        likelihoods: they choose rounds and size instead of held-out rows.
        """
        likelihood = _checked(likelihoods, X)
        return self._fit(X, likelihood, np.arange(likelihood.shape[1]), sample_weight, options)

    def _fit(
        self,
        X: Any,  # noqa: ANN401
        likelihood: Array,
        classes: NDArray[Any],
        weights: Any,  # noqa: ANN401
        options: Mapping[str, Any],
    ) -> LikelihoodBoosting:
        validate_data(self, X, skip_check_array=True)
        self.classes_ = classes
        others = dict(options)
        self._grow(X, likelihood, weights, eval_set=others.pop("eval_set", None), options=others)
        self._shift = class_shift(self._base(), classes.tolist(), shares=np.exp(self._objective.start))
        return self

    def predict_proba(self, X: Any) -> Array:  # noqa: ANN401
        """Return P(class | x), one column for each class."""
        weighted = self._probabilities(X) * self._shift
        return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _base(self) -> Any:  # noqa: ANN401
        return HistGradientBoostingClassifier() if self.estimator is None else self.estimator


class LikelihoodBoostingRegressor(RegressorMixin, _BoostingEstimator):  # type: ignore[misc]
    """Boosted trees for the mean of a number, fitted by maximum likelihood of what was released about it.

    P(value | x) is proportional to share(value) exp(t(x) value), where the shares are those that make the release
    likeliest and t(x) is the sum of the trees: with one leaf the prediction is the mean of all. What a mechanism
    released of each number, its bin for example, is a mixture over the values, and needs no correction of its bias.

    Parameters
    ----------
    estimator
        A regressor of XGBoost, LightGBM, CatBoost or scikit-learn's histogram boosting; default
        ``HistGradientBoostingRegressor()``. Its loss is not used.
    random_state
        As in :class:`LikelihoodBoosting`.

    Examples
    --------
    >>> from tacit.labels.mechanisms import RandomizedResponseOnBins
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, size=(4000, 2))
    >>> y = rng.binomial(4, X[:, 0])
    >>> bins = RandomizedResponseOnBins(epsilon=2.0, values=range(5), prior=[0.2] * 5)
    >>> released = bins.transition().T[bins.randomize(y, rng=rng)]
    >>> model = LikelihoodBoostingRegressor(random_state=0).fit_likelihoods(X, released, values=range(5))
    >>> low, high = model.predict([[0.25, 0.5], [0.75, 0.5]])
    >>> bool(0.5 < low < 1.5), bool(2.5 < high < 3.5)
    (True, True)
    """

    def __init__(self, estimator: Any = None, *, random_state: Any = None) -> None:  # noqa: ANN401
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LikelihoodBoostingRegressor:  # noqa: ANN401
        """Train on numbers: a few values, each of many rows."""
        values, codes = np.unique(np.asarray(y, dtype=np.float64), return_inverse=True)
        return self.fit_likelihoods(X, np.eye(len(values))[codes], values=values, sample_weight=sample_weight)

    def fit_likelihoods(
        self,
        X: Any,  # noqa: ANN401
        likelihoods: ArrayLike,
        *,
        values: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **options: Any,  # noqa: ANN401
    ) -> LikelihoodBoostingRegressor:
        """Train on the likelihood of what was released: P(released | true number is values[c]) in column c."""
        likelihood, numbers = _checked(likelihoods, X), np.asarray(values, dtype=np.float64)
        if numbers.shape != likelihood.shape[1:]:
            raise InvalidInput(
                f"must have one number for each of {likelihood.shape[1]} columns of likelihoods, got {numbers.shape}",
                field="values",
            )
        validate_data(self, X, skip_check_array=True)
        others = dict(options)
        self._values = numbers
        self._grow(X, likelihood, sample_weight, values=numbers, eval_set=others.pop("eval_set", None), options=others)
        return self

    def predict(self, X: Any) -> Array:  # noqa: ANN401
        """Return the mean of each row's number."""
        return np.asarray(self._probabilities(X) @ self._values)

    def _base(self) -> Any:  # noqa: ANN401
        return HistGradientBoostingRegressor() if self.estimator is None else self.estimator


def _checked(likelihoods: ArrayLike, X: Any) -> Array:  # noqa: ANN401
    likelihood, rows = np.asarray(likelihoods, dtype=np.float64), _num_samples(X)
    if likelihood.ndim != 2 or len(likelihood) != rows:
        raise InvalidInput(
            f"must have one row for each of the {rows} rows of X, got {likelihood.shape}", field="likelihoods"
        )
    return likelihood


def _judging(eval_set: Any, objective: ReleasedObjective) -> BoostedRows | None:  # noqa: ANN401
    """The rows of an ``eval_set``, from the same start."""
    if not eval_set:
        return None
    (X, likelihoods), *more = eval_set
    if more:
        raise InvalidInput(f"must have one pair of features and likelihoods, got {1 + len(more)}", field="eval_set")
    likelihood = _checked(likelihoods, X)
    scaled = likelihood / likelihood.max(axis=1, keepdims=True)
    return BoostedRows(X, objective.with_rows(scaled))


def _seeded(estimator: Any, seed: int) -> Any:  # noqa: ANN401
    """A copy of the estimator, with this seed if it has none."""
    fresh = clone(estimator)
    settings = fresh.get_params(deep=False)
    if settings.get("random_state") is None and settings.get("random_seed") is None:
        fresh.set_params(random_state=seed)
    return fresh
