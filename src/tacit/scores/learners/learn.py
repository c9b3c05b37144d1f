"""Choosing among models and submissions by released scores, with a bound on the regret that the protection causes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee
from tacit.privacy.settings import read_choice
from tacit.privacy.words import counted
from tacit.scores.methods import BestScore, LearnMethod
from tacit.scores.policies.several import Regret
from tacit.scores.releases.label_table import sources_of
from tacit.scores.releases.release import Release

__all__ = ["ChoiceReport", "ChosenSubmission", "ModelChoice", "choose", "learn"]

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice(Generic[Model]):
    """The model with the lowest released score, and bounds on its regret.

    Regret is the chosen model's exact score less the least exact score on the same rows, clipped as the policy
    clips. The bounds hold before the noise is drawn, whatever the exact scores are; that the rows are a
    sample themselves comes on top.

    Parameters
    ----------
    probability_within
        A lower bound on the probability that the regret is at most ``within``.
    """

    model: Model
    index: int
    score: float
    tied: tuple[int, ...]
    expected_regret: float
    within: float
    probability_within: float


def choose(
    models: Sequence[Model], scores: Sequence[float], *, regret: Regret, within: float = 0.01
) -> ModelChoice[Model]:
    """Return the model with the lowest released score, the first of equal ones; this is free post-processing.

    Parameters
    ----------
    scores
        One for each, lower is better, as a policy released them.

    References
    ----------
    Dwork et al. (2015), "The reusable holdout".
    """
    if len(models) != len(scores) or not scores:
        raise InvalidInput(f"must be one for each of the {len(scores)} scores, got {len(models)}", field="models")
    if not within >= 0:
        raise InvalidInput(f"must be a number >= 0, got {within!r}", field="within")
    index = min(range(len(scores)), key=scores.__getitem__)
    return ModelChoice(
        model=models[index],
        index=index,
        score=scores[index],
        tied=tuple(place for place, value in enumerate(scores) if value == scores[index]),
        expected_regret=regret.expected(models=len(scores)),
        within=within,
        probability_within=1.0 - regret.tail(within, models=len(scores)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceReport:
    """Which submission was chosen, and how far it may be from the best."""

    choice: ModelChoice[str]
    names: tuple[str, ...]
    values: tuple[float, ...]
    measure: str
    lower_is_better: bool
    rows: int

    def to_json(self) -> dict[str, Any]:
        """Return the choice as plain JSON."""
        return {
            "choice": self.choice.model,
            "index": self.choice.index,
            "score": self.values[self.choice.index],
            "measure": self.measure,
            "lower_is_better": self.lower_is_better,
            "scores": [{"name": name, "score": value} for name, value in zip(self.names, self.values, strict=True)],
            "tied": list(self.choice.tied),
            "within": self.choice.within,
            "probability_within": self.choice.probability_within,
            "expected_regret": self.choice.expected_regret,
            "rows": self.rows,
        }

    def __str__(self) -> str:
        best = "lowest" if self.lower_is_better else "highest"
        scores = ", ".join(f"{name} {value:.4g}" for name, value in zip(self.names, self.values, strict=True))
        sure = math.floor(1000 * self.choice.probability_within) / 10  # a bound is never rounded up
        near = f"within {self.choice.within:g} of the best in {self.measure} on these {self.rows:,} rows"
        chance = (
            f"With probability at least {sure:g}% it is {near}"
            if sure
            else f"The noise is too large to bound the probability that it is {near}: use a larger epsilon or within"
        )
        return "\n".join(
            [
                f"{self.choice.model} has the {best} released score: {self.measure} "
                f"{self.values[self.choice.index]:.4g}.",
                f"All: {scores}.",
                f"{chance}. On average the best is better by at most {self.choice.expected_regret:.2g}.",
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSubmission:
    """The submission of best released score, known by its place."""

    guarantee_: AnyGuarantee
    report_: ChoiceReport

    def predict(self, data: Sequence[Any]) -> Any:  # noqa: ANN401
        """Return the chosen one of the submissions, which are given in the order in which they were scored."""
        given, wanted = sources_of(data), len(self.report_.names)
        if len(given) != wanted:
            raise InvalidInput(f"must be the {counted(wanted, 'scored submission')}, got {len(given)}", field="data")
        return given[self.report_.choice.index]


@checked(test="a choice depends on the scores alone", features="a choice depends on the scores alone")
def learn(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    test: object = None,  # noqa: ARG001
    features: Sequence[str] = (),  # noqa: ARG001
    method: LearnMethod | str | None = None,
    hold_out: float = 0.2,  # noqa: ARG001
    rng: np.random.Generator | None = None,  # noqa: ARG001
    progress: Progress | None = None,  # noqa: ARG001
) -> ChosenSubmission:
    """Choose the submission of best released score.

    The bounds on its regret hold before the noise is drawn, whatever the exact scores are.

    Parameters
    ----------
    release
        The answers to two submissions or more, or their path.
    data
        The submissions in the order in which they were scored; default: they are called by their numbers.
    method
        ``BestScore(within=0.01)``, written ``best:within=0.01``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.scores import Plan, protect
    >>> labels = pa.table({"ill": [0, 1] * 500})
    >>> models = [pa.table({"p": [p, 1 - p] * 500}) for p in (0.4, 0.1, 0.3)]
    >>> plan = Plan(label="ill", epsilon=3, metric="brier", submissions=3)
    >>> model = learn(protect(labels, plan, data=models, rng=np.random.default_rng(0)), method="best:within=0.02")
    >>> print(model.report_)
    submission 2 has the lowest released score: the Brier score 0.009148.
    All: submission 1 0.1584, submission 2 0.009148, submission 3 0.09058.
    With probability at least 99.9% it is within 0.02 of the best in the Brier score on these 1,000 rows...
    """
    opened = Release.open(release)
    names = _names(opened, sources_of(data))
    within = read_choice(LearnMethod, method or BestScore(), field="method").within
    means = tuple(float(answer["mean"]) for answer in opened.answers if "mean" in answer)
    values = means or opened.scores
    sign = 1 if opened.metric.lower_is_better else -1
    choice = choose(
        names,
        [sign * value for value in values],
        regret=opened.policy.regret(opened.metric, rows=opened.rows),
        within=within,
    )
    report = ChoiceReport(
        choice=choice,
        names=tuple(names),
        values=values,
        measure=_measure(opened),
        lower_is_better=opened.metric.lower_is_better,
        rows=opened.rows,
    )
    return ChosenSubmission(guarantee_=opened.guarantee, report_=report)


def _names(release: Release, given: Sequence[object]) -> list[str]:
    count = len(release.answers)
    if count < 2:
        raise InvalidInput(
            f"must have the scores of two submissions or more to choose from, got {count}", field="release"
        )
    if given and len(given) != count:
        raise InvalidInput(f"must be the {counted(count, 'scored submission')}, got {len(given)}", field="data")
    named = [isinstance(source, str | os.PathLike) for source in given] or [False] * count
    return [Path(str(given[k])).name if named[k] else f"submission {k + 1}" for k in range(count)]


def _measure(release: Release) -> str:
    """The name of the values that are compared."""
    squares = release.metric.root and release.settled["noise_scale"] > 0
    return "the mean squared error" if squares else release.metric.title
