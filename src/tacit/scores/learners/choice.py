"""Choosing a model by protected scores, with a bound on the regret that the protection causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tacit.privacy.errors import InvalidInput
from tacit.scores.policies.several import Regret

__all__ = ["ModelChoice", "choose"]

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
