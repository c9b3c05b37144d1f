"""From one membership score per row to a leak, if all rows were scored on one trained model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from tacit.leak import EpsilonBound, Leak, epsilon_one_run, leak_from_scores
from tacit.leak.roc import check_scores
from tacit.leak.threshold import ThresholdScores, count_at_or_above
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["SHARES", "LargestAdvantage", "measure_membership"]

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of the rows that the attack guesses, the rest left out; the bound on epsilon pays for trying all."""

_NO_COIN = 1e-9  # a fair coin falls so unevenly less often than this


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
    fair_coins: bool = False,
    level: float = 0.95,
    delta: float = 0.0,
) -> Leak:
    """Measure an attack that scored many rows on one trained model, higher for rows it thinks were in.

    The advantage is TPR - FPR at a threshold that half of the rows chose, counted on the other half; its interval is
    about other rows of the same model. The ROC is that of all rows.

    Rows scored on one model are not independent runs, so two error rates prove no epsilon. A fair coin for each row
    does: with ``fair_coins`` the attack guesses the top share of the rows, or half of it at either end, for each of
    :data:`SHARES`, and the bound of :func:`tacit.leak.epsilon_one_run` is taken for all of them at once (a union
    bound). Its unit is the presence of one row.

    Parameters
    ----------
    rng
        Draws the half of the rows that chooses the threshold, and the order of equal scores.
    fair_coins
        Whether each row was put into the training data by a fair coin of its own, and the score was made without
        those coins. Without that no epsilon is proved, and the leak's ``bound`` is ``None``.
    delta
        The delta of the guarantee under test.

    References
    ----------
    Yeom et al. (2018), Definition 4; Steinke, Nasr and Jagielski (2023), Algorithm 1.
    """
    inside, outside = check_scores(members, name="members"), check_scores(nonmembers, name="nonmembers")
    leak = leak_from_scores(inside, outside, threshold=LargestAdvantage(rng=rng), level=level, delta=delta)
    bound = _bound(inside, outside, rng=rng, level=level, delta=delta) if fair_coins else None
    return replace(leak, bound=bound)


def _bound(
    members: Floats, nonmembers: Floats, *, rng: np.random.Generator, level: float, delta: float
) -> EpsilonBound:
    """Return the best bound over :data:`SHARES`, at one end and at both."""
    rows = len(members) + len(nonmembers)
    _check_coins(len(members), rows)
    # shuffled first: otherwise the order of equal scores would reveal the array of each
    order = rng.permutation(rows)
    order = order[np.argsort(np.concatenate([members, nonmembers])[order])]
    from_top = np.concatenate([[0], np.cumsum(order[::-1] < len(members))])
    from_bottom = np.concatenate([[0], np.cumsum(order >= len(members))])
    guesses = np.maximum(1, np.round(np.multiply(SHARES, rows)).astype(np.int64))
    right = np.concatenate([from_top[guesses], from_top[guesses - guesses // 2] + from_bottom[guesses // 2]])
    guesses = np.tile(guesses, 2)
    epsilon = epsilon_one_run(right, guesses, rows, delta=delta, level=1 - (1 - level) / len(guesses))
    method = f"right guesses of one run, corrected for {len(guesses)} numbers of guesses"
    return EpsilonBound(value=float(np.max(epsilon)), delta=delta, level=level, method=method)


def _check_coins(members: int, rows: int) -> None:
    if 2 * binom.cdf(min(members, rows - members), rows, 0.5) < _NO_COIN:
        raise InvalidInput(
            f"fair_coins must be true only if each row was included with probability 1/2, got {members} members of "
            f"{rows} rows: give all rows that had a coin, or leave fair_coins out"
        )
