"""Train any scikit-learn classifier from labels that were randomized before it saw them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.data.classes import Classes
from tacit.labels.fitting.denoise import DenoisingRule, ForwardCorrection, LikelihoodTargets, NoisyLabels
from tacit.labels.fitting.model import FittedModel, Weights, fit_hard, fit_soft, fresh_copy
from tacit.labels.fitting.temperature import find_temperature, scale_temperature
from tacit.labels.learners.released import RandomizedLabels, release_of
from tacit.labels.learners.retrain import RetrainingReport, RetrainingRule, SkipIfCollapsed
from tacit.labels.learners.terms import (
    REPRESENTATION,
    WEIGHTS,
    assuming,
    check_choices,
    check_payment,
    draw_once,
    row_weights,
    without_payment,
)
from tacit.labels.mechanisms import LabelMechanism, Mechanism
from tacit.labels.mechanisms.staged import StageLearner
from tacit.labels.plan import ALL, Plan
from tacit.labels.releases.arrays import release_codes, try_out
from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee
from tacit.privacy.ledger import Receipt
from tacit.privacy.ledger.fingerprint import list_column
from tacit.privacy.noise import system_rng
from tacit.privacy.payment import Payment
from tacit.privacy.rounding import check_count
from tacit.privacy.settings import read_choice

__all__ = ["LabelPrivateClassifier"]


class LabelPrivateClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Randomize the labels once, in ``fit``, then train ``estimator`` on the released labels.

    Everything after the randomization is post-processing: denoising and retraining cost no privacy.

    Unit: one row's label. Not protected: the features and what they reveal about the labels, the number of rows,
    ``sample_weight`` (label-derived weights leak labels: balance classes by the estimator's own ``class_weight``, which
    sees released labels only), and, if ``classes`` is None, which classes occur.

    Parameters
    ----------
    estimator
        A scikit-learn classifier; default logistic regression.
    epsilon, mechanism, prior
        As in :class:`tacit.labels.Plan`. ``staged`` learns between stages with this learner's own estimator.
    representation
        A scikit-learn transformer, such as :class:`BarlowTwins`, fitted here on the features alone; denoising, the
        estimator and predictions read what it returns. One that is fitted already: ``FrozenEstimator(transformer)``;
        the guarantee assumes that it was not made from these labels. In a pipeline before this learner a transformer
        would be given the true ones.
    denoise
        How released labels become targets; default :class:`LikelihoodTargets` for networks, :class:`ForwardCorrection`
        for other estimators. :class:`NoCorrection` trains on them unchanged.
    retrain
        Which rows to train on again, with the model's own predictions; default :class:`SkipIfCollapsed`: where they
        agree with the released labels, unless half the classes drop out, as they do when labels are rare.
    rounds
        How many times to retrain; 0 does not.
    student
        The estimator that is retrained, on the features unchanged, and then predicts; such as a network that starts
        from the representation's own (:meth:`BarlowTwins.start`). Default: ``estimator``, on the representation.
    warm
        Retrain from the last model's weights, where the estimator has ``warm_start``. Neither did better on MNIST.
    classes
        The public class list, which is put into scikit-learn's sorted order, or a :class:`Classes`, which keeps its
        own; None declares the classes in y public.
    rows_per_person
        The largest number of rows per person: the guarantee is then stated for all of them.
    payment
        Charged with the guarantee before anything is released. The same labels and plan, and for ``staged`` the same
        features and weights, fitted again get the labels that were paid for; ``Payment(again=True)`` charges for other
        ones.
    progress
        Called with the fits done and the fits in all.
    random_state
        None draws from the operating system: a real release. Anything else makes the release seeded, which cannot be
        charged.

    Attributes
    ----------
    classes_, n_features_in_
        As in scikit-learn.
    release_, guarantee_
        The release and its guarantee.
    receipt_
        The ledger's receipt; None if nothing was charged.
    consensus_fraction_
        Share of rows whose predicted label is the released one, after the first fit.
    temperature_
        The temperature of :meth:`predict_proba`, which corrects the overconfidence of a retrained model: that with the
        largest likelihood of the released labels (:func:`find_temperature`). 1 without retraining.

    References
    ----------
    Ghazi et al. (2021), Algorithm 3 (stages); Das et al. (2024) (retraining; fresh against warm start: Appendix G).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LabelPrivateClassifier(epsilon=3.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9, print(model.guarantee_)
    epsilon 3 for one label
    (True, None)
    """

    release_: Release | RandomizedLabels
    guarantee_: AnyGuarantee
    receipt_: Receipt | None

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        *,
        epsilon: float = 1.0,
        mechanism: Any = "rr",  # noqa: ANN401
        prior: Any = None,  # noqa: ANN401
        representation: Any = None,  # noqa: ANN401
        denoise: DenoisingRule | None = None,
        retrain: RetrainingRule | None = None,
        rounds: int = 1,
        student: Any = None,  # noqa: ANN401
        warm: bool = False,
        classes: Any = None,  # noqa: ANN401
        rows_per_person: int = 1,
        payment: Payment | None = None,
        progress: Callable[[int, int], None] | None = None,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.prior = prior
        self.representation = representation
        self.denoise = denoise
        self.retrain = retrain
        self.rounds = rounds
        self.student = student
        self.warm = warm
        self.classes = classes
        self.rows_per_person = rows_per_person
        self.payment = payment
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> LabelPrivateClassifier:  # noqa: ANN401
        """Randomize ``y`` and train; a release, or :class:`RandomizedLabels`, is used unchanged and charges nothing."""
        rng = generator_from(self.random_state)
        self._check_settings()
        release = y if isinstance(y, RandomizedLabels) else release_of(y)
        if release is None:
            check_payment(self.payment, rng)
        features, labels = self._features(X, y) if release is None else (self._features(X), None)
        weights = row_weights(sample_weight, features)
        represented = self._represent(features, rng)
        self.receipt_ = None
        if release is None:
            release = self._protect(labels, features, represented, weights, rng)
            self.receipt_ = release.receipt
        else:
            self._check_release(release, represented)
        self.release_, evidence = release, release.evidence
        self.guarantee_ = assuming(release.guarantee, *self._assumed(sample_weight))
        self.classes_ = np.asarray(evidence.classes if labels is None else _as_given(evidence.classes, labels))
        self._rows = rows = np.flatnonzero(evidence.present)
        noisy = NoisyLabels(
            given=evidence.outputs[rows],
            likelihood=evidence.likelihood[rows],
            sample_weight=None if weights is None else weights[rows],
        )
        if len(rows) < len(features):
            features, represented = features[rows], represented[rows]
        self._train(features, represented, noisy, rng)
        return self

    def _check_settings(self) -> None:
        """Find what cannot be done before anything is charged."""
        check_choices(
            estimator=(self.estimator, "fit"),
            student=(self.student, "fit"),
            denoise=(self.denoise, "targets"),
            retrain=(self.retrain, "choose"),
        )
        check_count(self.rounds, name="rounds", least=0)
        if self.warm and "warm_start" not in self._base().get_params(deep=False):
            raise InvalidInput(f"warm needs an estimator with warm_start, got {self._base()!r}; leave it False")
        if self.student is not None and (self.warm or self.rounds == 0):
            raise InvalidInput(f"student must have rounds >= 1 and warm False, got {self.rounds} and {self.warm}")

    def _assumed(self, sample_weight: ArrayLike | None) -> tuple[str, ...]:
        """Assume that what bypasses the mechanism was not made from the labels."""
        given = {REPRESENTATION: self.representation, WEIGHTS: sample_weight}
        return tuple(words for words, what in given.items() if what is not None)

    def _features(self, X: ArrayLike, *targets: Any, **options: Any) -> Any:  # noqa: ANN401
        # rows of any shape are for estimators that say they take them, such as networks, and for representations
        allow_nd = self.representation is not None or hasattr(self._base(), "fit_targets")
        return validate_data(self, X, *targets, allow_nd=allow_nd, **options)

    def _represent(self, X: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Fit the representation, before anything is charged; labels are not among its arguments."""
        self._representation = None
        if self.representation is not None:
            self._representation = fresh_copy(self.representation, rng).fit(X, None)
        return self._represented(X)

    def _represented(self, X: NDArray[Any]) -> NDArray[Any]:
        if self._representation is None:
            return X
        represented: NDArray[Any] = check_array(
            self._representation.transform(X), allow_nd=True, input_name="representation"
        )
        return represented

    def _check_release(self, release: Release | RandomizedLabels, X: NDArray[Any]) -> None:
        mechanism = release.asked.mechanism if isinstance(release, Release) else None
        if mechanism is not None and mechanism.numbers:
            raise InvalidInput("must be a release of classes; numbers are for LabelPrivateRegressor", field="y")
        if release.rows != len(X):
            raise InvalidInput(f"must have one label for each of the {len(X)} rows of X, got {release.rows}", field="y")
        self._check_denoise(X, mechanism=mechanism, classes=len(release.evidence.classes))

    def _protect(
        self,
        labels: Any,  # noqa: ANN401
        features: NDArray[Any],
        X: NDArray[Any],
        weights: Weights,
        rng: np.random.Generator,
    ) -> Release:
        """Check, charge, and randomize each label once."""
        check_classification_targets(labels)
        coding = (
            self.classes
            if isinstance(self.classes, Classes)
            else Classes.of(labels, declared=None if self.classes is None else sorted(self.classes))
        )
        codes, plan = coding.encode(labels), self._plan(coding)
        self._check_denoise(X, mechanism=plan.mechanism, classes=len(coding))
        try_out(plan, coding)
        guarantee = assuming(plan.guarantee(), *self._assumed(weights))
        learner = StageLearner(X=X, estimator=self._base(), sample_weight=weights)
        columns = {plan.label: labels} | (self._stages(features, weights) if plan.mechanism.needs_features else {})
        return draw_once(
            lambda: release_codes(codes, plan=plan, coding=coding, guarantee=guarantee, rng=rng, learner=learner),
            plan=plan,
            guarantee=guarantee,
            columns=columns,
            payment=self.payment,
        )

    def _stages(self, features: NDArray[Any], weights: Weights) -> dict[str, Any]:
        """Return what staged labels depend on beside the labels: a guarantee assumes something about each of them."""
        columns: dict[str, Any] = {"X": list_column(features)}
        if weights is not None:
            columns["weights"] = weights
        if self.representation is not None:
            columns["representation"] = np.full(len(features), type(self.representation).__name__)
        return columns

    def _plan(self, coding: Classes) -> Plan:
        mechanism = read_choice(Mechanism, self.mechanism, field="mechanism")
        if mechanism.numbers:
            raise InvalidInput(f"must release classes, got {mechanism}; use LabelPrivateRegressor", field="mechanism")
        return Plan(
            label="y",
            epsilon=self.epsilon,
            mechanism=mechanism,
            prior=self.prior,
            classes=tuple(map(str, coding.values)) if coding.declared else None,
            features=ALL if mechanism.needs_features else (),
            rows_per_person=self.rows_per_person,
        )

    def _check_denoise(self, X: NDArray[Any], *, mechanism: LabelMechanism | None, classes: int) -> None:
        check = getattr(self._denoise(), "check", None)
        if check is not None:
            check(self._base(), X, mechanism=mechanism, classes=classes)

    def _train(self, X: NDArray[Any], represented: NDArray[Any], noisy: NoisyLabels, rng: np.random.Generator) -> None:
        K, given, weights = len(self.classes_), noisy.given, noisy.sample_weight
        self._tell(0)
        targets = self._denoise().targets(self._base(), represented, noisy, rng=rng)
        fit = getattr(self._denoise(), "fit", fit_soft)
        model: FittedModel = fit(self._base(), represented, targets, sample_weight=weights, rng=rng)
        probabilities = model.probabilities(represented)
        self._given, self._predicted = given, probabilities.argmax(axis=1)
        self._chosen, self._as_given = np.arange(len(given)), False
        self.consensus_fraction_ = float(np.mean(self._predicted == given))
        learner, seen = (self._base(), represented) if self.student is None else (self.student, X)
        first = model
        for number in range(self.rounds):
            self._tell(1 + number)
            self._chosen = rows = self._retrain().choose(probabilities, given=given)
            if len(rows) == 0:
                break  # nothing to learn from: the last model stays
            codes, kept = probabilities.argmax(axis=1)[rows], None if weights is None else weights[rows]
            start = model if self.warm else None
            model = fit_hard(learner, seen[rows], codes, classes=K, sample_weight=kept, start=start, rng=rng)
            probabilities, self._as_given = model.probabilities(seen), self.student is not None
        self._model, self.temperature_ = model, 1.0
        if model is not first:
            self.temperature_ = find_temperature(probabilities, noisy.likelihood, sample_weight=weights)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | x), one column for each of ``classes_``."""
        check_is_fitted(self)
        model: FittedModel = self._model
        features = self._features(X, reset=False)
        probabilities = model.probabilities(features if self._as_given else self._represented(features))
        return scale_temperature(probabilities, temperature=self.temperature_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def retraining_report(self, y: ArrayLike) -> RetrainingReport:
        """Compare with the true labels of the training rows; what it returns is outside the guarantee."""
        check_is_fitted(self)
        truth = Classes(values=tuple(self.classes_.tolist())).encode(y)[self._rows]
        right = self._predicted == truth
        return RetrainingReport(
            given=float(np.mean(self._given == truth)),
            predicted=float(np.mean(right)),
            chosen=float(np.mean(right[self._chosen])) if len(self._chosen) else 0.0,
            chosen_fraction=len(self._chosen) / len(truth),
        )

    def __getstate__(self) -> dict[str, Any]:
        return without_payment(super().__getstate__())

    def _tell(self, fits: int) -> None:
        if self.progress is not None:
            self.progress(fits, 1 + self.rounds)

    def _base(self) -> Any:  # noqa: ANN401
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _retrain(self) -> RetrainingRule:
        return SkipIfCollapsed() if self.retrain is None else self.retrain

    def _denoise(self) -> DenoisingRule:
        if self.denoise is None:
            return LikelihoodTargets() if hasattr(self._base(), "fit_likelihoods") else ForwardCorrection()
        return self.denoise


def _as_given(classes: Sequence[Any], labels: NDArray[Any]) -> list[Any]:
    """Return the classes as the labels have them: a release that was paid for may have 1 where they have "1"."""
    given = {_number(label): label for label in np.unique(labels).tolist()}
    return [given.get(_number(name), name) for name in classes]


def _number(label: Any) -> Any:  # noqa: ANN401
    try:
        return float(label)
    except ValueError:
        return label


def generator_from(random_state: Any) -> np.random.Generator:  # noqa: ANN401
    """Return the operating system's generator for None, a seeded one for anything else."""
    if random_state is None:
        return system_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
