"""Choose between learners on one release: by its own labels, at no cost, or by clean ones, if asked by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tacit.labels.learners.released import ReleasedLabels
from tacit.labels.learners.terms import assuming
from tacit.labels.learners.validate import AccuracyEstimate, released_accuracy
from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee

__all__ = ["ChosenLearner", "CleanLabels", "HeldOut", "Judge", "choose_learner"]


class Judge(Protocol):
    """Says how good a learner is, and what that assumes."""

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the guarantee of the chosen model assumes, besides that of the release."""

    def judge(
        self,
        learner: Any,  # noqa: ANN401
        X: NDArray[Any],
        labels: ReleasedLabels,
        *,
        order: NDArray[np.int64],
    ) -> AccuracyEstimate:
        """Fit a copy of the learner and return its accuracy; ``order`` is a permutation, the same for all learners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Judge by the released labels of rows that were held out: unbiased, and inside the guarantee of the release."""

    fraction: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise InvalidInput(f"must be in (0, 1), got {self.fraction!r}", field="fraction")

    @property
    def assumes(self) -> tuple[str, ...]:
        """Nothing more."""
        return ()

    def judge(
        self,
        learner: Any,  # noqa: ANN401
        X: NDArray[Any],
        labels: ReleasedLabels,
        *,
        order: NDArray[np.int64],
    ) -> AccuracyEstimate:
        """Return the de-biased accuracy on the held-out rows."""
        held, kept = np.split(order, [max(1, round(self.fraction * len(order)))])
        model = clone(learner).fit(X[kept], labels[kept])
        judged = released_accuracy(model.predict(X[held]), labels[held].release)
        if judged is None:
            raise InvalidInput(
                f"must be by a mechanism that judges without bias, got {labels.release.asked.mechanism}",
                field="release",
            )
        return judged


@dataclass(frozen=True, slots=True, eq=False)
class CleanLabels:
    """Judge by true labels of other rows, which nothing protects: the guarantee then says so.

    Parameters
    ----------
    X, y
        Rows that are not in the release, and their true labels.

    Examples
    --------
    >>> CleanLabels([[0.0], [1.0]], [0, 1]).assumes
    ('2 clean validation labels chose the model, and are outside this guarantee',)
    """

    X: ArrayLike
    y: ArrayLike

    @property
    def assumes(self) -> tuple[str, ...]:
        """That the validation labels need no protection."""
        return (f"{len(np.asarray(self.y))} clean validation labels chose the model, and are outside this guarantee",)

    def judge(
        self,
        learner: Any,  # noqa: ANN401
        X: NDArray[Any],
        labels: ReleasedLabels,
        *,
        order: NDArray[np.int64],  # noqa: ARG002
    ) -> AccuracyEstimate:
        """Return the accuracy on the clean rows."""
        right = float(np.mean(clone(learner).fit(X, labels).predict(self.X) == np.asarray(self.y)))
        return AccuracyEstimate(value=right, standard_error=math.sqrt(right * (1 - right) / len(np.asarray(self.y))))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenLearner:
    """The learner that did best, fitted on the whole release, and what every one of them scored."""

    model: Any
    place: int
    scores: tuple[AccuracyEstimate, ...]
    guarantee: AnyGuarantee

    def __str__(self) -> str:
        return f"number {self.place + 1} of {len(self.scores)}, accuracy {self.scores[self.place]}, {self.guarantee}"


def choose_learner(
    learners: Sequence[Any],
    X: ArrayLike,
    release: Release,
    *,
    judge: Judge | None = None,
    rng: np.random.Generator,
) -> ChosenLearner:
    """Return the learner with the best accuracy, fitted on the whole release.

    All learners read the same release, so the choice costs nothing. The winner's accuracy is that of the luckiest: its
    expectation is a little above the truth.

    Parameters
    ----------
    learners
        Such as :class:`LabelPrivateClassifier`; copies are fitted.
    X, release
        Features, and the labels released for them.
    judge
        Default :class:`HeldOut`. :class:`CleanLabels` uses true labels, and the guarantee says so.
    rng
        Splits the rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sklearn.datasets import load_iris
    >>> from tacit.labels import Plan, protect
    >>> from tacit.labels.learners.classifier import LabelPrivateClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> release = protect(pa.table({"y": y}), Plan(label="y", epsilon=3), rng=rng)
    >>> learners = [LabelPrivateClassifier(rounds=rounds, random_state=0) for rounds in (0, 1)]
    >>> choose_learner(learners, X, release, rng=rng).model.score(X, y) > 0.9
    True
    """
    if not learners:
        raise InvalidInput("must be at least one, got none", field="learners")
    by, rows, labels = judge or HeldOut(), np.asarray(X), ReleasedLabels(release)
    if len(rows) != len(labels):
        raise InvalidInput(
            f"must have one label for each of the {len(rows)} rows of X, got {len(labels)}", field="release"
        )
    order = rng.permutation(len(rows))
    scores = tuple(by.judge(learner, rows, labels, order=order) for learner in learners)
    place = int(np.argmax([score.value for score in scores]))
    model = clone(learners[place]).fit(rows, release)
    model.guarantee_ = assuming(model.guarantee_, *by.assumes)
    return ChosenLearner(model=model, place=place, scores=scores, guarantee=model.guarantee_)
