"""Train any scikit-learn classifier from labels that were randomized before it saw them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted

from tacit.data.classes import Classes
from tacit.labels.fitting.class_weights import as_number, coded
from tacit.labels.fitting.denoise import DenoisingRule, LikelihoodTargets, NoisyLabels
from tacit.labels.fitting.likelihood_forms import likelihood_form
from tacit.labels.fitting.model import Weights, fresh_copy
from tacit.labels.fitting.temperature import scale_temperature
from tacit.labels.learners.features import (
    check_features,
    check_represented,
    fingerprint_columns,
    takes_gaps,
    takes_sparse,
)
from tacit.labels.learners.released import RandomizedLabels, release_of
from tacit.labels.learners.retrain import RetrainingReport, RetrainingRule
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
from tacit.labels.learners.training import LabelTraining, TrainingResult
from tacit.labels.mechanisms import LabelMechanism, Mechanism
from tacit.labels.mechanisms.staged import StageLearner
from tacit.labels.plan import ALL, Plan
from tacit.labels.releases.arrays import release_codes, try_out
from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee
from tacit.privacy.ledger import Receipt
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
        A scikit-learn classifier; default logistic regression. It gets frames, sparse matrices, missing values and
        strings as they are, and may have ``class_weight`` by class.
    epsilon, mechanism, prior
        As in :class:`tacit.labels.Plan`. ``staged`` learns between stages with this learner's own estimator.
    representation
        A scikit-learn transformer, such as :class:`BarlowTwins`, fitted here on the features alone; denoising, the
        estimator and predictions read what it returns. One that is fitted already: ``FrozenEstimator(transformer)``;
        the guarantee assumes that it was not made from these labels. In a pipeline before this learner a transformer
        would be given the true ones.
    denoise
        How released labels become targets. Default: :class:`LikelihoodTargets` for networks, logistic regression and
        boosted trees of four libraries, also as the last step of a pipeline (:func:`likelihood_form`: the release then
        chooses the penalty instead of ``C``, and the rounds and size of trees). Other estimators are trained in the way
        under which held-out released labels are likeliest (:func:`judge_training`). :class:`NoCorrection` trains on the
        released labels unchanged.
    retrain
        Which rows to train on again, with the model's own predictions. Default, for networks, and where ``denoise`` is
        given: :class:`SkipIfCollapsed`; for other estimators, where held-out released labels prefer it.
    rounds
        How many times to retrain, where it is done; 0 does not.
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
        The temperature of :meth:`predict_proba`: that with the largest likelihood of the released labels, held-out ones
        where these judged the training (:func:`find_temperature`). 1 for a model that is fitted by likelihood.

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
        if len(rows) < _num_samples(features):
            features, represented = _safe_indexing(features, rows), _safe_indexing(represented, rows)
        self._trained = self._training(self.classes_.tolist()).train(features, represented, noisy, rng)
        self._given, self.temperature_ = noisy.given, self._trained.temperature
        self.consensus_fraction_ = float(np.mean(self._trained.predicted == noisy.given))
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

    def _features(self, X: Any, *labels: Any, reset: bool = True) -> Any:  # noqa: ANN401
        # rows of any shape are for estimators that say they take them, such as networks, and for representations
        first = self._base() if self.representation is None else self.representation
        allow_nd = self.representation is not None or hasattr(first, "fit_targets")
        return check_features(self, X, *labels, estimator=first, reset=reset, allow_nd=allow_nd)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        first = self._base() if self.representation is None else self.representation
        tags.input_tags.sparse, tags.input_tags.allow_nan = takes_sparse(first), takes_gaps(first)
        return tags

    def _represent(self, X: Any, rng: np.random.Generator) -> Any:  # noqa: ANN401
        """Fit the representation, before anything is charged; labels are not among its arguments."""
        self._representation = None
        if self.representation is not None:
            self._representation = fresh_copy(self.representation, rng).fit(X, None)
        return self._represented(X)

    def _represented(self, X: Any) -> Any:  # noqa: ANN401
        return X if self._representation is None else check_represented(self._representation.transform(X))

    def _check_release(self, release: Release | RandomizedLabels, X: Any) -> None:  # noqa: ANN401
        mechanism = release.asked.mechanism if isinstance(release, Release) else None
        if mechanism is not None and mechanism.numbers:
            raise InvalidInput("must be a release of classes; numbers are for LabelPrivateRegressor", field="y")
        if release.rows != (rows := _num_samples(X)):
            raise InvalidInput(f"must have one label for each of the {rows} rows of X, got {release.rows}", field="y")
        self._check_denoise(X, mechanism=mechanism, classes=len(release.evidence.classes))

    def _protect(
        self,
        labels: Any,  # noqa: ANN401
        features: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
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
        codes, plan, names = coding.encode(labels), self._plan(coding), _as_given(coding.values, labels)
        self._check_denoise(X, mechanism=plan.mechanism, classes=len(coding))
        try_out(plan, coding)
        if self.payment is not None:
            self._training(names).try_out(features, X, weights)
        guarantee = assuming(plan.guarantee(), *self._assumed(weights))
        learner = StageLearner(X=X, estimator=coded(self._base(), names), sample_weight=weights)
        columns = {plan.label: labels} | (self._stages(features, weights) if plan.mechanism.needs_features else {})
        return draw_once(
            lambda: release_codes(codes, plan=plan, coding=coding, guarantee=guarantee, rng=rng, learner=learner),
            plan=plan,
            guarantee=guarantee,
            columns=columns,
            payment=self.payment,
        )

    def _stages(self, features: Any, weights: Weights) -> dict[str, Any]:  # noqa: ANN401
        """Return what staged labels depend on beside the labels: a guarantee assumes something about each of them."""
        columns = fingerprint_columns(features)
        if weights is not None:
            columns["weights"] = weights
        if self.representation is not None:
            columns["representation"] = np.full(_num_samples(features), type(self.representation).__name__)
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

    def _check_denoise(self, X: Any, *, mechanism: LabelMechanism | None, classes: int) -> None:  # noqa: ANN401
        check = getattr(self.denoise, "check", None)
        if check is not None:
            check(self._base(), X, mechanism=mechanism, classes=classes)

    def _training(self, classes: Sequence[Any]) -> LabelTraining:
        return LabelTraining(
            estimator=self._base(),
            denoise=self.denoise,
            retrain=self.retrain,
            rounds=self.rounds,
            student=self.student,
            warm=self.warm,
            classes=classes,
            progress=self.progress,
        )

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | x), one column for each of ``classes_``."""
        check_is_fitted(self)
        trained: TrainingResult = self._trained
        features = self._features(X, reset=False)
        probabilities = trained.model.probabilities(features if trained.as_given else self._represented(features))
        return scale_temperature(probabilities, temperature=self.temperature_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def retraining_report(self, y: ArrayLike) -> RetrainingReport:
        """Compare with the true labels of the training rows; what it returns is outside the guarantee."""
        check_is_fitted(self)
        truth = Classes(values=tuple(self.classes_.tolist())).encode(y)[self._rows]
        right, chosen = self._trained.predicted == truth, self._trained.chosen
        return RetrainingReport(
            given=float(np.mean(self._given == truth)),
            predicted=float(np.mean(right)),
            chosen=float(np.mean(right[chosen])) if len(chosen) else 0.0,
            chosen_fraction=len(chosen) / len(truth),
        )

    def __getstate__(self) -> dict[str, Any]:
        return without_payment(super().__getstate__())

    def _base(self) -> Any:  # noqa: ANN401
        estimator = LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator
        by_likelihood = self.denoise is None or isinstance(self.denoise, LikelihoodTargets)
        return likelihood_form(estimator) if by_likelihood and not self.warm else estimator


def _as_given(classes: Sequence[Any], labels: NDArray[Any]) -> list[Any]:
    """Return the classes as the labels have them: a release that was paid for may have 1 where they have "1"."""
    given = {as_number(label): label for label in np.unique(labels).tolist()}
    return [given.get(as_number(name), name) for name in classes]


def generator_from(random_state: Any) -> np.random.Generator:  # noqa: ANN401
    """Return the operating system's generator for None, a seeded one for anything else."""
    if random_state is None:
        return system_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
