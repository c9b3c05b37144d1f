"""Train any scikit-learn classifier from labels that were randomized before it saw them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.labels.learn.denoise import Denoise, Forward
from tacit.labels.learn.model import Model, fit_hard, fit_soft
from tacit.labels.learn.retrain import Consensus, Retrain
from tacit.labels.learn.stages import Randomized, randomize_in_stages, read_release
from tacit.labels.protect.coding import Classes
from tacit.labels.protect.finite import FiniteMechanism
from tacit.labels.protect.response import RandomizedResponse
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import is_seeded, system_rng
from tacit.privacy.release import Release
from tacit.privacy.rounding import check_count

__all__ = ["LabelPrivateClassifier", "RetrainingReport"]


_CLASSES = "which classes occur in the labels is public"
WEIGHTS = "row weights are public and were not made from the labels"
"""What a guarantee assumes of ``sample_weight``, which goes past the mechanism."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrainingReport:
    """How often predicted and given labels are right, on all rows and on those retrained on.

    References
    ----------
    Das et al. (2024), Tables 3 and 7.

    Examples
    --------
    >>> report = RetrainingReport(given=0.6, predicted=0.8, chosen=0.95, chosen_fraction=0.5)
    >>> print(report)
    given labels 60.0% right, predicted 80.0%; on the 50.0% of rows retrained on 95.0%
    """

    given: float
    predicted: float
    chosen: float
    chosen_fraction: float

    def __str__(self) -> str:
        return (
            f"given labels {self.given:.1%} right, predicted {self.predicted:.1%}; "
            f"on the {self.chosen_fraction:.1%} of rows retrained on {self.chosen:.1%}"
        )


class LabelPrivateClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Randomize the labels once, in ``fit``, then train ``estimator`` on what was released.

    Everything after the randomization is post-processing: denoising and retraining cost no privacy.

    Unit: one row's label. Not protected: the features, the number of rows, ``sample_weight`` (weights made from the
    labels tell them: balance classes by the estimator's own ``class_weight``, which sees released labels only), and,
    where ``classes`` is None, which classes occur.

    Parameters
    ----------
    estimator
        A scikit-learn classifier; default logistic regression.
    mechanism
        Default randomized response at epsilon 1.
    stages
        1: all labels by ``mechanism``. More: the rows are split at random, and the model of the earlier stages
        gives each later row the prior of :class:`PriorRandomizedResponse`.
    denoise
        How released labels become targets; default :class:`Forward`. :class:`AsGiven` trains on them as they are.
    retrain
        Which rows to train on again, with the model's own predictions; default :class:`Consensus`.
    rounds
        How many times to retrain; 0 does not.
    warm
        Retrain from the last model's weights, where the estimator has ``warm_start``. A fresh start does better.
    classes
        The public class list, in scikit-learn's sorted order; None declares the classes in y public.
    ledger, dataset
        Where to charge the guarantee, before anything is released.
    random_state
        None draws from the operating system: a real release. Anything else makes the release seeded.

    Attributes
    ----------
    classes_, n_features_in_
        As in scikit-learn.
    release_, guarantee_
        What left, and what is promised about it.
    consensus_fraction_
        Share of rows whose predicted label is the released one, after the first fit.

    References
    ----------
    Ghazi et al. (2021), Algorithm 3 (stages); Das et al. (2024) (retraining; fresh against warm start: Appendix G).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LabelPrivateClassifier(mechanism=RandomizedResponse(epsilon=3.0), random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9, print(model.guarantee_)
    epsilon 3 for one label
    (True, None)
    """

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        *,
        mechanism: FiniteMechanism | None = None,
        stages: int = 1,
        denoise: Denoise | None = None,
        retrain: Retrain | None = None,
        rounds: int = 1,
        warm: bool = False,
        classes: Any = None,  # noqa: ANN401
        ledger: Any = None,  # noqa: ANN401
        dataset: str | None = None,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.estimator = estimator
        self.mechanism = mechanism
        self.stages = stages
        self.denoise = denoise
        self.retrain = retrain
        self.rounds = rounds
        self.warm = warm
        self.classes = classes
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> LabelPrivateClassifier:  # noqa: ANN401
        """Randomize ``y`` and train; a :class:`Release` as ``y`` is taken as it is and charges nothing.

        Examples
        --------
        >>> import numpy as np
        >>> X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
        >>> LabelPrivateClassifier(random_state=0).fit(X, y).classes_
        array([0, 1])
        """
        rng = generator_from(self.random_state)
        check_count(self.rounds, name="rounds", least=0)
        if self.warm and "warm_start" not in self._base().get_params(deep=False):
            raise InvalidInput(f"warm needs an estimator with warm_start, got {self._base()!r}; leave it False")
        features: NDArray[Any]
        if isinstance(y, Release):
            features = validate_data(self, X)
            coding, randomized = read_release(y, rows=len(features))
            self.release_ = y
        else:
            features, labels = validate_data(self, X, y)
            check_classification_targets(labels)
            coding = Classes.of(labels, declared=None if self.classes is None else list(self.classes))
            randomized, self.release_ = self._randomize(
                features, coding, coding.encode(labels), weighted=sample_weight is not None, rng=rng
            )
        self.classes_ = np.asarray(coding.values)
        self.guarantee_ = self.release_.guarantee
        if sample_weight is not None and isinstance(self.guarantee_, Guarantee):
            self.guarantee_ = assuming(self.guarantee_, WEIGHTS)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, features)
        self._train(features, randomized, weights, rng)
        return self

    def _randomize(
        self, X: NDArray[Any], coding: Classes, codes: NDArray[np.int64], *, weighted: bool, rng: np.random.Generator
    ) -> tuple[Randomized, Release]:
        mechanism = (self.mechanism or RandomizedResponse(epsilon=1.0)).bind(len(coding))
        guarantee = assuming(
            mechanism.guarantee(), *(() if coding.declared else (_CLASSES,)), *((WEIGHTS,) if weighted else ())
        )
        if self.ledger is not None:
            self.ledger.charge(self.dataset, guarantee, purpose=f"labels for {type(self._base()).__name__}")
        randomized = randomize_in_stages(
            self._base(), X, codes, mechanism=mechanism, stages=self.stages, denoise=self._denoise(), rng=rng
        )
        described = {"name": mechanism.name, "epsilon": mechanism.epsilon, "classes": list(coding.values)}
        release = Release(
            value=pa.table({"label": coding.decode(randomized.given), "stage": randomized.stage}),
            guarantee=guarantee,
            surface="labels",
            mechanism={**described, "stages": self.stages},
            seeded=is_seeded(rng),
        )
        return randomized, release

    def _train(
        self, X: NDArray[Any], randomized: Randomized, weights: NDArray[np.float64] | None, rng: np.random.Generator
    ) -> None:
        given, K = randomized.given, len(self.classes_)
        targets = self._denoise().targets(
            self._base(), X, likelihood=randomized.likelihood, given=given, sample_weight=weights, rng=rng
        )
        model = fit_soft(self._base(), X, targets, sample_weight=weights, rng=rng)
        probabilities = model.probabilities(X)
        self._given, self._predicted = given, probabilities.argmax(axis=1)
        self._chosen = np.arange(len(given))
        self.consensus_fraction_ = float(np.mean(self._predicted == given))
        for _ in range(self.rounds):
            self._chosen = rows = self._retrain().choose(probabilities, given=given)
            if len(rows) == 0:
                break  # nothing to learn from: the first model stands
            codes, kept = probabilities.argmax(axis=1)[rows], None if weights is None else weights[rows]
            start = model if self.warm else None
            model = fit_hard(self._base(), X[rows], codes, classes=K, sample_weight=kept, start=start, rng=rng)
            probabilities = model.probabilities(X)
        self._model = model

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | x), one column for each of ``classes_``.

        Examples
        --------
        >>> import numpy as np
        >>> X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
        >>> LabelPrivateClassifier(random_state=0).fit(X, y).predict_proba(X).shape
        (20, 2)
        """
        check_is_fitted(self)
        model: Model = self._model
        return model.probabilities(validate_data(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest class of each row.

        Examples
        --------
        >>> import numpy as np
        >>> X, y = np.arange(20.0)[:, None], np.repeat(["a", "b"], 10)
        >>> set(LabelPrivateClassifier(random_state=0).fit(X, y).predict(X)) <= {"a", "b"}
        True
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def retraining_report(self, y: ArrayLike) -> RetrainingReport:
        """Compare with the true labels of the training rows; what it returns is outside the guarantee.

        Examples
        --------
        >>> import numpy as np
        >>> X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
        >>> 0 <= LabelPrivateClassifier(random_state=0).fit(X, y).retraining_report(y).predicted <= 1
        True
        """
        check_is_fitted(self)
        truth = Classes(values=tuple(self.classes_.tolist())).encode(y)
        right = self._predicted == truth
        return RetrainingReport(
            given=float(np.mean(self._given == truth)),
            predicted=float(np.mean(right)),
            chosen=float(np.mean(right[self._chosen])) if len(self._chosen) else 0.0,
            chosen_fraction=len(self._chosen) / len(truth),
        )

    def _base(self) -> Any:  # noqa: ANN401
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _retrain(self) -> Retrain:
        return Consensus() if self.retrain is None else self.retrain

    def _denoise(self) -> Denoise:
        return Forward() if self.denoise is None else self.denoise


def assuming(guarantee: Guarantee, *assumptions: str) -> Guarantee:
    """Return the guarantee with more assumptions, each once.

    Examples
    --------
    >>> assuming(RandomizedResponse(epsilon=1.0).guarantee(), "a", "a").assumptions[1:]
    ('a',)
    """
    return replace(guarantee, assumptions=tuple(dict.fromkeys((*guarantee.assumptions, *assumptions))))


def generator_from(random_state: Any) -> np.random.Generator:  # noqa: ANN401
    """Return the operating system's generator for None, a seeded one for anything else.

    Examples
    --------
    >>> is_seeded(generator_from(None)), is_seeded(generator_from(0))
    (False, True)
    """
    if random_state is None:
        return system_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
