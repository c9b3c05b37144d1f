"""Choose between learners on one release: by its own labels, at no cost, or by clean ones, if they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from tacit.labels.learners.released import ReleasedLabels
from tacit.labels.learners.terms import assuming
from tacit.labels.learners.validate import estimate_accuracy, released_accuracy
from tacit.labels.releases.release import Release
from tacit.leak.performance import MetricEstimate
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee

__all__ = ["ChosenLearner", "choose_learner"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenLearner:
    """The learner that did best, fitted on the whole release, and what every one of them scored."""

    model: Any
    place: int
    scores: tuple[MetricEstimate, ...]
    guarantee: AnyGuarantee

    def __str__(self) -> str:
        score = self.scores[self.place]
        return f"number {self.place + 1} of {len(self.scores)}, accuracy {score:.3f}, {self.guarantee}"


def choose_learner(
    learners: Sequence[Any],
    X: ArrayLike,
    release: Release,
    *,
    hold_out: float = 0.2,
    clean: tuple[ArrayLike, ArrayLike] | None = None,
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
    hold_out
        The share of rows whose released labels estimate the accuracy, unbiased and inside the guarantee of the release.
    clean
        Rows that are not in the release and their true labels, to evaluate on instead. Nothing protects these labels:
        the guarantee of the chosen model says so.
    rng
        Splits the rows, alike for all learners.
    """
    if not learners:
        raise InvalidInput("must be at least one, got none", field="learners")
    if not 0 < hold_out < 1:
        raise InvalidInput(f"must be in (0, 1), got {hold_out!r}", field="hold_out")
    rows, labels = np.asarray(X), ReleasedLabels(release)
    if len(rows) != len(labels):
        raise InvalidInput(
            f"must have one label for each of the {len(rows)} rows of X, got {len(labels)}", field="release"
        )
    held, kept = np.split(rng.permutation(len(rows)), [max(1, round(hold_out * len(rows)))])
    scores, assumed = [], []
    for learner in learners:
        if clean is None:
            model = clone(learner).fit(rows[kept], labels[kept])
            scores.append(released_accuracy(model.predict(rows[held]), labels[held].release))
        else:
            predicted = clone(learner).fit(rows, labels).predict(clean[0])
            scores.append(estimate_accuracy((np.asarray(predicted) == np.asarray(clean[1])).astype(np.float64)))
    if clean is not None:
        judges = len(np.asarray(clean[1]))
        assumed = [f"{judges} clean validation labels chose the model, and are outside this guarantee"]
    place = int(np.argmax([score.value for score in scores]))
    model = clone(learners[place]).fit(rows, release)
    model.guarantee_ = assuming(model.guarantee_, *assumed)
    return ChosenLearner(model=model, place=place, scores=tuple(scores), guarantee=model.guarantee_)
