"""From one membership score per row to a leak, if all rows were scored on one trained model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from tacit.leak import Leak, OddsChange, leak_from_scores, odds_changes
from tacit.leak.roc import check_scores
from tacit.leak.threshold import ThresholdScores, count_at_or_above
from tacit.models.attacks.coins import CoinDesign
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["LargestAdvantage", "measure_membership"]

_OUTSIDE, _INSIDE = "non-member", "member"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LargestAdvantage:
    """Choose the threshold with the largest TPR - FPR on a random half of the scores, and count on the other half.

    All thresholds between two neighboring scores are as good on that half; the one half-way is taken, so that members
    of the other half that fall just below the chosen ones are not lost.

    References
    ----------
    Yeom et al. (2018), Definition 4, for the advantage.
    """

    rng: np.random.Generator

    def cut(self, members: Floats, nonmembers: Floats, *, level: float, delta: float) -> ThresholdScores:  # noqa: ARG002
        """Return the threshold, and the scores that had no part in choosing it."""
        choose_in, rest_in = self._split(members, "members")
        choose_out, rest_out = self._split(nonmembers, "nonmembers")
        candidates = np.unique(choose_in)  # the best threshold is some member's score
        advantage = count_at_or_above(choose_in, candidates) / len(choose_in)
        advantage -= count_at_or_above(choose_out, candidates) / len(choose_out)
        best = candidates[int(np.argmax(advantage))]
        return ThresholdScores(np.array([_lowered(best, choose_out)]), rest_in, rest_out)

    def _split(self, scores: Floats, name: str) -> tuple[Floats, Floats]:
        if len(scores) < 2:
            raise InvalidInput(f"{name} must be 2 rows or more, one to choose the threshold on, got {len(scores)}")
        mask = np.zeros(len(scores), dtype=np.bool_)
        mask[self.rng.permutation(len(scores))[: len(scores) // 2]] = True
        return scores[mask], scores[~mask]


def _lowered(lowest: float, outside: Floats) -> float:
    """Return the score half-way between the lowest score above the cut, a member's, and the next, a non-member's."""
    below = outside[outside < lowest]
    if not len(below):
        return lowest
    middle = lowest / 2 + below.max() / 2  # halved first: the sum may overflow
    return float(middle) if np.isfinite(middle) and below.max() < middle <= lowest else lowest


def measure_membership(
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    rng: np.random.Generator,
    coins: CoinDesign | None = None,
    level: float = 0.95,
    delta: float = 0.0,
) -> Leak:
    """Measure an attack that scored many rows on one trained model, higher for rows it thinks were in.

    The advantage is TPR - FPR at a threshold that half of the rows chose, counted on the other half. The change of odds
    is that of the rows with the highest scores, as many as change it the most: each half chooses for the other. Both
    intervals are about other rows of the same model. The ROC is that of all rows.

    Rows scored on one model are not independent runs, so two error rates prove no epsilon; coins do.

    Parameters
    ----------
    rng
        Draws the half of the rows that chooses the threshold, and the order of equal scores.
    coins
        How coins chose the rows: :class:`tacit.models.attacks.coins.RowCoins` or
        :class:`tacit.models.attacks.coins.PairCoins`. Without them no epsilon is proved: the leak's ``bound`` is None.
    delta
        The delta of the guarantee under test.

    References
    ----------
    Yeom et al. (2018), Definition 4.
    """
    inside, outside = check_scores(members, name="members"), check_scores(nonmembers, name="nonmembers")
    leak = leak_from_scores(inside, outside, threshold=LargestAdvantage(rng=rng), level=level, delta=delta)
    bound = None if coins is None else coins.bound(inside, outside, rng=rng, level=level, delta=delta)
    return replace(leak, bound=bound, changes=_changes(inside, outside, level=level)).of_this_release()


def _changes(inside: Floats, outside: Floats, *, level: float) -> tuple[OddsChange, ...]:
    """How flags change the odds of having been trained on; only the order of the scores counts."""
    scores = np.concatenate([inside, outside])
    chances = rankdata(scores) / (len(scores) + 1)
    truth = np.repeat([1, 0], [len(inside), len(outside)])
    changes = odds_changes(
        [0.5, 0.5], np.stack([1 - chances, chances], 1), truth, names=[_OUTSIDE, _INSIDE], level=level
    )
    return tuple(change for change in changes if change.name == _INSIDE)
