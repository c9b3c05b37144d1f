"""Train any scikit-learn regressor from numbers that were randomized before it saw them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.labels.learners.classifier import generator_from
from tacit.labels.learners.promise import WEIGHTS, assuming, charge_labels, check_choices, without_ledger
from tacit.labels.learners.released import release_of
from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
from tacit.labels.mechanisms.optimal import OptimalUnbiased
from tacit.labels.releases.source import LABEL
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Promise
from tacit.privacy.ledger import Receipt
from tacit.privacy.noise import is_seeded
from tacit.privacy.release import Release
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = ["LabelPrivateRegressor"]


class LabelPrivateRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Randomize the numbers once, in ``fit``, without bias, then train ``estimator`` on what was released.

    A label is clipped to ``bounds``, rounded at random to one of two neighbouring levels so that its expectation
    stays, and replaced by the best unbiased epsilon-DP randomizer on the levels. A squared-error learner then has
    the same minimiser as on the clipped labels.

    Unit: one row's label. Not protected: the features, the number of rows, ``sample_weight``, and, where ``bounds`` is
    None, the least and the largest label.

    Parameters
    ----------
    estimator
        A scikit-learn regressor; default ridge regression.
    epsilon
        > 0.
    bounds
        Public (least, largest) label; None declares those of y public.
    levels
        Number of equally spaced values that labels are rounded to.
    prior
        Public probabilities of the levels that the randomizer is best for; None: all equal.
    rows_per_person
        How many rows one person holds at most: the guarantee is then stated for all of them.
    ledger, dataset
        Where to charge the guarantee, before anything is released; as in :class:`LabelPrivateClassifier`.
    random_state
        None draws from the operating system: a real release. Anything else makes the release seeded.

    Attributes
    ----------
    release_, guarantee_
        What left, and what is promised about it.
    receipt_
        The ledger's; None where nothing was charged.

    References
    ----------
    Badanidiyuru et al. (2023); Ghazi et al. (2022).

    Examples
    --------
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> model = LabelPrivateRegressor(epsilon=3.0, bounds=(0.0, 2.0), random_state=0).fit(X, 2 * X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 1.0) < 0.1), print(model.guarantee_)
    epsilon 3 for one label
    (True, None)
    """

    release_: Release
    guarantee_: Promise
    receipt_: Receipt | None

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        *,
        epsilon: float = 1.0,
        bounds: tuple[float, float] | None = None,
        levels: int = 5,
        prior: Any = None,  # noqa: ANN401
        rows_per_person: int = 1,
        ledger: Any = None,  # noqa: ANN401
        dataset: str | None = None,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.bounds = bounds
        self.levels = levels
        self.prior = prior
        self.rows_per_person = rows_per_person
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> LabelPrivateRegressor:  # noqa: ANN401
        """Randomize ``y`` and train; a :class:`Release` of numbers as ``y`` is taken as it is and charges nothing.

        Examples
        --------
        >>> X = np.arange(20.0)[:, None]
        >>> LabelPrivateRegressor(random_state=0).fit(X, X[:, 0]).n_features_in_
        1
        """
        check_choices(estimator=(self.estimator, "fit"), ledger=(self.ledger, "charge"))
        release = release_of(y)
        if release is None:
            features, self.release_ = self._randomize(X, y, sample_weight)
        else:
            features, self.release_, self.receipt_ = validate_data(self, X), release, None
        released = _numbers(self.release_, rows=len(features))
        present = np.isfinite(released)
        self.guarantee_ = self.release_.guarantee
        extra = {}
        if sample_weight is not None:
            extra = {"sample_weight": np.asarray(_check_sample_weight(sample_weight, features))[present]}
            if isinstance(self.guarantee_, Guarantee):
                self.guarantee_ = assuming(self.guarantee_, WEIGHTS)
        self._model = clone(self._base()).fit(features[present], released[present], **extra)
        return self

    def _randomize(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[np.float64], Release]:
        rng = generator_from(self.random_state)
        features, labels = validate_data(self, X, y, y_numeric=True)
        if sample_weight is not None:
            _check_sample_weight(sample_weight, features)
        mechanism, guarantee = self._mechanism(labels, weighted=sample_weight is not None)
        purpose = f"labels for {type(self._base()).__name__}"
        self.receipt_ = charge_labels(self.ledger, labels, guarantee, dataset=self.dataset, purpose=purpose)
        released = mechanism.randomize(_round_at_random(labels, mechanism.values, rng), rng=rng)
        lists = {name: getattr(mechanism, name).tolist() for name in ("values", "prior", "outputs")}
        return features, Release(
            value=pa.table({LABEL: released}),
            guarantee=guarantee,
            surface="labels",
            mechanism={"name": mechanism.name, "epsilon": mechanism.epsilon, **lists},
            seeded=is_seeded(rng),
        )

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the fitted estimator's prediction of each row.

        Examples
        --------
        >>> X = np.arange(20.0)[:, None]
        >>> LabelPrivateRegressor(random_state=0).fit(X, X[:, 0]).predict(X).shape
        (20,)
        """
        check_is_fitted(self)
        return np.asarray(self._model.predict(validate_data(self, X, reset=False)))

    def _mechanism(self, labels: NDArray[np.float64], *, weighted: bool) -> tuple[OptimalUnbiased, Guarantee]:
        if self.bounds is None and labels.min() == labels.max():
            raise InvalidInput("labels must take at least two values, got one sample or equal ones; declare bounds")
        low, high = (labels.min(), labels.max()) if self.bounds is None else self.bounds
        if not (np.isfinite([low, high]).all() and low < high):
            raise InvalidInput(f"bounds must be two finite numbers, the first below the second, got ({low}, {high})")
        levels = check_count(self.levels, name="levels", least=2)
        prior = np.full(levels, 1 / levels) if self.prior is None else self.prior
        values = np.linspace(float(low), float(high), levels)
        mechanism = OptimalUnbiased(epsilon=check_epsilon(self.epsilon), values=values, prior=prior)
        more = () if self.bounds is not None else ("the least and the largest label are public",)
        promise = assuming(mechanism.guarantee(), *more, *((WEIGHTS,) if weighted else ()))
        return mechanism, promise.for_group(rows=check_count(self.rows_per_person, name="rows_per_person"))

    def __getstate__(self) -> dict[str, Any]:
        return without_ledger(super().__getstate__())

    def _base(self) -> Any:  # noqa: ANN401
        return Ridge() if self.estimator is None else self.estimator


def _numbers(release: Release, *, rows: int) -> NDArray[np.float64]:
    """The released numbers; NaN where a label is missing."""
    if release.mechanism["name"] not in (OptimalUnbiased.name, RandomizedResponseOnBins.name):
        raise InvalidInput(
            f"y must be a release of numbers, got one of {release.surface} by {release.mechanism['name']}; "
            "classes are for LabelPrivateClassifier"
        )
    numbers = np.asarray(pa.table(release.value)[LABEL].to_numpy(), dtype=np.float64)
    if len(numbers) != rows:
        raise InvalidInput(f"y must have one label for each of the {rows} rows of X, got {len(numbers)}")
    return numbers


def _round_at_random(
    labels: NDArray[np.float64], values: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """One of the two neighbouring values, with the label as expectation."""
    clipped = np.clip(labels, values[0], values[-1])
    below = np.clip(np.searchsorted(values, clipped, side="right") - 1, 0, len(values) - 2)
    share = (clipped - values[below]) / (values[below + 1] - values[below])
    return values[below + (rng.random(len(labels)) < share)]
