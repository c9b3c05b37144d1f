"""From attack scores to a leak: one score per row, higher for rows that were probably in the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tacit.leak.epsilon import ERROR_RATES, ONE_RUN, EpsilonBound, epsilon_from_rates
from tacit.leak.intervals import Interval, check_level, clopper_pearson, difference_interval
from tacit.leak.measure import Leak
from tacit.leak.odds import OddsChange
from tacit.leak.one_run import epsilon_one_run
from tacit.leak.roc import check_scores, roc_from_sorted
from tacit.leak.threshold import ThresholdRule, ThresholdScores, best_threshold, count_at_or_above
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_delta

__all__ = ["leak_from_one_run", "leak_from_scores"]


def leak_from_scores(
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    threshold: ThresholdRule,
    level: float = 0.95,
    delta: float = 0.0,
) -> Leak:
    """Measure an attack that guesses that rows with a score at or above a threshold are members.

    The rate is the true-positive rate, the baseline the false-positive rate. The bound on epsilon is that of
    :func:`tacit.leak.epsilon_from_rates` and needs independent scores: one per run, or a mechanism that treats each row
    separately. For many rows of one run use :func:`leak_from_one_run`.

    Parameters
    ----------
    members, nonmembers
        One score per row; only their order counts.
    threshold
        ``FixedThreshold``, ``HeldOut`` or ``UnionBoundThresholds``: how the threshold was chosen.
    """
    inside = np.sort(check_scores(members, name="members"))
    outside = np.sort(check_scores(nonmembers, name="nonmembers"))
    level, delta = check_level(level), check_delta(delta)
    cut = threshold.cut(inside, outside, level=level, delta=delta)
    error = (1 - level) / len(cut.thresholds)
    chosen = cut.thresholds[best_threshold(cut, level=1 - error, delta=delta)]
    found, accused = (int(count_at_or_above(s, chosen)) for s in (cut.members, cut.nonmembers))
    positives, negatives = len(cut.members), len(cut.nonmembers)
    epsilon = epsilon_from_rates(found, positives, accused, negatives, delta=delta, level=1 - error)
    advantage = difference_interval((found, positives), (accused, negatives), level=1 - error)
    return Leak(
        right=found,
        trials=positives,
        baseline=accused / negatives,
        baseline_right=accused,
        baseline_trials=negatives,
        thresholds=len(cut.thresholds),
        interval=_at(clopper_pearson(found, positives, level=1 - error), level),
        advantage_interval=_at(advantage, level),
        method=_method(cut),
        rate_of=f"members score {chosen:.4g} or more",
        baseline_of=f"of {negatives} non-members",
        bound=EpsilonBound(value=epsilon, delta=delta, level=level, method=ERROR_RATES),
        roc=roc_from_sorted(inside, outside, level=level),
        changes=(
            OddsChange.from_counts(
                "member",
                found=found,
                rows=positives,
                mistaken=accused,
                others=negatives,
                share=0.5,
                level=level,
                error=error,
            ),
        ),
    )


def leak_from_one_run(
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    guess_members: int,
    guess_nonmembers: int,
    rng: np.random.Generator,
    level: float = 0.95,
    delta: float = 0.0,
) -> Leak:
    """Measure one run in which a fair coin decided for each row whether it was in the data.

    The attack calls the ``guess_members`` highest scores members, the ``guess_nonmembers`` lowest non-members, and
    leaves the rest out. Both numbers are fixed beforehand. The baseline is one half; the bound is that of
    :func:`tacit.leak.epsilon_one_run`.

    Parameters
    ----------
    rng
        Orders equal scores.
    level
        Confidence of the intervals and of the bound. The intervals treat the guesses as independent; the bound does
        not.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Algorithm 1.
    """
    inside, outside = check_scores(members, name="members"), check_scores(nonmembers, name="nonmembers")
    top = check_count(guess_members, name="guess_members", least=0)
    bottom = check_count(guess_nonmembers, name="guess_nonmembers", least=0)
    examples, guesses = len(inside) + len(outside), top + bottom
    if not 1 <= guesses <= examples:
        raise InvalidInput(f"guesses must be from 1 to the {examples} rows scored, got {top} + {bottom}")
    # shuffled first: otherwise the order of equal scores would reveal the array of each
    order = rng.permutation(examples)
    order = order[np.argsort(np.concatenate([inside, outside])[order])]
    is_member = order < len(inside)
    right = int(is_member[examples - top :].sum()) + bottom - int(is_member[:bottom].sum())
    interval = clopper_pearson(right, guesses, level=level)
    epsilon = epsilon_one_run(right, guesses, examples, delta=delta, level=level)
    return Leak(
        right=right,
        trials=guesses,
        baseline=0.5,
        examples=examples,
        interval=interval,
        advantage_interval=Interval(low=interval.low - 0.5, high=interval.high - 0.5, level=level),
        method="Clopper-Pearson, guesses taken as independent",
        rate_of="guesses are correct",
        baseline_of="without the release",
        bound=EpsilonBound(value=epsilon, delta=delta, level=level, method=ONE_RUN),
        roc=roc_from_sorted(np.sort(inside), np.sort(outside), level=level),
    )


def _at(interval: Interval, level: float) -> Interval:
    """Return the method, corrected for all thresholds tried at once."""
    return Interval(low=interval.low, high=interval.high, level=level)


def _method(cut: ThresholdScores) -> str:
    tried = f", corrected for {len(cut.thresholds)} thresholds" if len(cut.thresholds) > 1 else ""
    return f"Clopper-Pearson; the advantage from both rates, half of the error each{tried}"
