"""Train any scikit-learn regressor from numbers that were randomized before it saw them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from tacit.labels.fitting.numbers import CalibratedFit, stretch_outputs
from tacit.labels.learners.classifier import generator_from
from tacit.labels.learners.features import check_features, takes_gaps, takes_sparse
from tacit.labels.learners.released import release_of
from tacit.labels.learners.terms import (
    WEIGHTS,
    assuming,
    check_choices,
    check_payment,
    draw_once,
    row_weights,
    without_payment,
)
from tacit.labels.mechanisms import Mechanism
from tacit.labels.mechanisms.bins import RandomizedResponseOnBins
from tacit.labels.mechanisms.numbers import NumberMechanism
from tacit.labels.mechanisms.values import LabelValues
from tacit.labels.plan import Plan
from tacit.labels.releases.arrays import release_codes, try_out
from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee
from tacit.privacy.ledger import Receipt
from tacit.privacy.payment import Payment
from tacit.privacy.rounding import check_count
from tacit.privacy.settings import read_choice

__all__ = ["LabelPrivateRegressor"]

_SHARE = 0.2  # of epsilon, for the prior
_ENOUGH = 200.0  # rows times that part of epsilon, from which an estimated prior is better than none
_BOUNDS = "the least and the largest label are public"


class LabelPrivateRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Randomize the numbers once, in ``fit``, then train ``estimator`` on what was released.

    A label is clipped to ``bounds``, and rounded at random to one of two neighboring levels so that its expectation
    stays. The level is released by randomized response on bins, which has the least squared error of all mechanisms;
    what it pulls to the mean is undone before the fit (:func:`stretch_outputs`). Predictions go as far from the mean of
    all as rows that a fit has not seen support, and are that mean, with a warning, where they support nothing.

    Unit: one row's label. Not protected: the features, the number of rows, ``sample_weight``, and, where ``bounds`` is
    None, the least and the largest label.

    Parameters
    ----------
    estimator
        A scikit-learn regressor; default ridge regression.
    epsilon
        > 0.
    mechanism
        As in :class:`tacit.labels.Plan`: ``bins`` or ``unbiased``, which needs no prior and adds more noise. Default:
        ``bins``, with a fifth of epsilon for the estimate of the prior, or, where that would be noise (fewer than 200
        rows over that part of epsilon), with equal probabilities.
    bounds
        Public (least, largest) label; None declares those of y public. Tight ones help; with many rows a wide upper
        bound costs little.
    levels
        Number of equally spaced values that labels are rounded to.
    prior
        Public probabilities of the levels that the mechanism is best for; None: estimated, or equal.
    rows_per_person, payment, random_state
        As in :class:`LabelPrivateClassifier`.

    Attributes
    ----------
    release_, guarantee_
        The release and its guarantee.
    receipt_
        The ledger's receipt; None if nothing was charged.
    shrinkage_
        What the predictions' distance from the mean was multiplied by: 0 predicts the mean.

    References
    ----------
    Ghazi et al. (2022); Badanidiyuru et al. (2023).

    Examples
    --------
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> model = LabelPrivateRegressor(epsilon=3.0, bounds=(0.0, 2.0), random_state=0).fit(X, 2 * X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 1.0) < 0.1), print(model.guarantee_)
    epsilon 3 for one label
    (True, None)
    """

    release_: Release
    guarantee_: AnyGuarantee
    receipt_: Receipt | None

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        *,
        epsilon: float = 1.0,
        mechanism: Any = None,  # noqa: ANN401
        bounds: tuple[float, float] | None = None,
        levels: int = 20,
        prior: Any = None,  # noqa: ANN401
        rows_per_person: int = 1,
        payment: Payment | None = None,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.bounds = bounds
        self.levels = levels
        self.prior = prior
        self.rows_per_person = rows_per_person
        self.payment = payment
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> LabelPrivateRegressor:  # noqa: ANN401
        """Randomize ``y`` and train; a :class:`Release` of numbers as ``y`` is taken as it is and charges nothing."""
        check_choices(estimator=(self.estimator, "fit"))
        release = release_of(y)
        self.receipt_ = None
        base = self._base()
        if release is None:
            features, labels = check_features(self, X, y, estimator=base, y_numeric=True)
            weights = row_weights(sample_weight, features)
            release = self._protect(np.asarray(labels, dtype=np.float64), sample_weight)
            self.receipt_ = release.receipt
        else:
            features = check_features(self, X, estimator=base)
            weights = row_weights(sample_weight, features)
        released = _stretched(release, rows=_num_samples(features))
        present = np.flatnonzero(np.isfinite(released))
        self.release_ = release
        self.guarantee_ = assuming(release.guarantee, *_assumed(sample_weight))
        self._model = CalibratedFit.of(
            base,
            _safe_indexing(features, present),
            released[present],
            None if weights is None else weights[present],
            rng=np.random.default_rng(0) if self.random_state is None else generator_from(self.random_state),
        )
        self.shrinkage_ = self._model.share
        return self

    def _protect(self, labels: NDArray[np.float64], sample_weight: ArrayLike | None) -> Release:
        """Check, charge, and randomize each label once."""
        rng = generator_from(self.random_state)
        check_payment(self.payment, rng)
        plan = self._plan(labels)
        coding = LabelValues(values=np.asarray(plan.values))
        try_out(plan, coding)
        public = replace(plan.guarantee(), assumptions=plan.mechanism.assumptions(plan.prior))
        guarantee = assuming(public, *(() if self.bounds is not None else (_BOUNDS,)), *_assumed(sample_weight))

        def draw() -> Release:
            codes = _round_at_random(labels, coding.values, rng)
            return release_codes(codes, plan=plan, coding=coding, guarantee=guarantee, rng=rng)

        return draw_once(draw, plan=plan, guarantee=guarantee, columns={plan.label: labels}, payment=self.payment)

    def _plan(self, labels: NDArray[np.float64]) -> Plan:
        if self.bounds is None and labels.min() == labels.max():
            raise InvalidInput(
                "must take at least two values, got one sample or equal ones; declare bounds", field="labels"
            )
        low, high = (labels.min(), labels.max()) if self.bounds is None else self.bounds
        if not (np.isfinite([low, high]).all() and low < high):
            raise InvalidInput(
                f"must be two finite numbers, the first below the second, got ({low}, {high})", field="bounds"
            )
        levels = check_count(self.levels, name="levels", least=2)
        prior = None if self.prior is None else tuple(map(float, self.prior))
        if self.mechanism is None:
            mechanism = RandomizedResponseOnBins(share=_SHARE)
            if prior is None and len(labels) * _SHARE * self.epsilon < _ENOUGH:
                prior = (1 / levels,) * levels
        else:
            mechanism = read_choice(Mechanism, self.mechanism, field="mechanism")
            if not mechanism.numbers:
                raise InvalidInput(
                    f"must release numbers, got {mechanism}; use LabelPrivateClassifier", field="mechanism"
                )
        return Plan(
            label="y",
            epsilon=self.epsilon,
            mechanism=mechanism,
            values=tuple(np.linspace(float(low), float(high), levels).tolist()),
            prior=prior,
            rows_per_person=self.rows_per_person,
        )

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the fitted estimator's prediction of each row."""
        check_is_fitted(self)
        return self._model.predict(check_features(self, X, estimator=self._base(), reset=False))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        base = self._base()
        tags.input_tags.sparse, tags.input_tags.allow_nan = takes_sparse(base), takes_gaps(base)
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return without_payment(super().__getstate__())

    def _base(self) -> Any:  # noqa: ANN401
        return Ridge() if self.estimator is None else self.estimator


def _assumed(sample_weight: ArrayLike | None) -> tuple[str, ...]:
    return () if sample_weight is None else (WEIGHTS,)


def _stretched(release: Release, *, rows: int) -> NDArray[np.float64]:
    """The released numbers, their pull to the mean undone; NaN where a label is missing."""
    mechanism = release.asked.mechanism
    if not mechanism.numbers:
        raise InvalidInput(
            f"must be a release of numbers, got one by {mechanism}; classes are for LabelPrivateClassifier", field="y"
        )
    if release.rows != rows:
        raise InvalidInput(f"must have one label for each of the {rows} rows of X, got {release.rows}", field="y")
    settled, evidence = release.mechanism, release.evidence
    assert isinstance(settled, NumberMechanism)
    assert evidence.channel is not None  # numbers go through one
    stretched = stretch_outputs(
        settled.outputs,
        values=np.asarray(evidence.classes, dtype=np.float64),
        transition=evidence.channel.transition,
        prior=np.ravel(settled.prior),
    )
    return np.where(evidence.present, stretched[evidence.outputs], np.nan)


def _round_at_random(
    labels: NDArray[np.float64], values: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The place of one of the two neighboring values, with the clipped label as expectation."""
    clipped = np.clip(labels, values[0], values[-1])
    below = np.clip(np.searchsorted(values, clipped, side="right") - 1, 0, len(values) - 2)
    share = (clipped - values[below]) / (values[below + 1] - values[below])
    return np.asarray(below + (rng.random(len(labels)) < share), dtype=np.int64)
