"""Whether a leak is below a limit, decided by its interval, never by the measured value alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tacit.leak.epsilon import ERROR_RATES, ONE_RUN, EpsilonBound, epsilon_from_rates
from tacit.leak.measure import Leak
from tacit.leak.odds import LeakVerdict, compare_odds
from tacit.leak.one_run import epsilon_one_run
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.rounding import check_epsilon

__all__ = ["assert_leak_below"]


def assert_leak_below(
    leak: Leak,
    *,
    odds: float | None = None,
    advantage: float | None = None,
    epsilon: float | None = None,
    guarantee: Guarantee | None = None,
) -> None:
    """Raise ``AssertionError``, with a sentence for each violated limit, unless a leak is below the given limits.

    The questions are decided from opposite ends.

    ``odds``: passes when the upper end of the change of odds is below the limit for every class, such as 10 for a
    release that must not make anyone's odds more than ten times what they were. It holds for rare classes too.

    ``advantage``: passes when the *upper* end of the advantage's interval is below the threshold. The release must
    show that it is safe. If the attack's true advantage is the threshold or more, this passes with probability at
    most 1 - level; a release that is safe may fail. A measurement too small to decide fails.

    ``epsilon``, ``guarantee``: fails when the *lower* bound on epsilon is above the guarantee. The attack must show
    that the guarantee is violated, because no attack can show that it holds. A true guarantee is called violated with
    probability at most 1 - level; a violated guarantee may pass. A measurement so small that it could not have refuted
    the guarantee with every guess correct fails, if the leak's own trials are those of its bound. ``epsilon`` is at the
    delta of the leak's bound; the caller must match the unit of ``guarantee``, see :meth:`tacit.leak.Leak.exceeds`.

    Both are about the attack that was run: another may find more, and one that does worse than the baseline passes.
    A test that is repeated until it passes has no confidence left.

    Examples
    --------
    >>> from tacit.leak import leak_from_guesses
    >>> truth = [0, 1] * 1000
    >>> assert_leak_below(leak_from_guesses([0] * 2000, truth, baseline=0.5), advantage=0.05)
    >>> assert_leak_below(leak_from_guesses([0] * 200, truth[:200], baseline=0.5), advantage=0.05)
    Traceback (most recent call last):
    ...
    AssertionError: advantage must be below 0.05, measured 0.0000 with an interval from -0.0713 to 0.0713 at 95%
    (Clopper-Pearson, 200 trials): too few trials to decide; measure about 410.
    """
    __tracebackhide__ = True
    if not isinstance(leak, Leak):
        raise InvalidInput(f"must be a Leak, as every attack returns, got {type(leak).__name__}", field="leak")
    if odds is None and advantage is None and epsilon is None and guarantee is None:
        raise InvalidInput("one of odds, advantage, epsilon and guarantee must be given, such as odds=10")
    faults: list[str] = []
    if odds is not None:
        faults += _above_odds(leak, _check_odds(odds))
    if advantage is not None:
        faults += _above_advantage(leak, _check_advantage(advantage))
    if epsilon is not None:
        faults += _above_epsilon(leak, check_epsilon(epsilon, zero=True))
    if guarantee is not None:
        faults += _above_guarantee(leak, guarantee)
    if faults:
        raise AssertionError("\n".join(faults))


def _above_odds(leak: Leak, most: float) -> Iterator[str]:
    if not leak.changes:
        raise InvalidInput("this leak has no change of odds: compare it with an advantage")
    verdict = compare_odds(leak.changes, limit=most)
    if verdict is LeakVerdict.BELOW:
        return
    change = max(leak.changes, key=lambda one: (one.odds_interval.low >= most, one.odds_interval.high))
    yield f"the odds must change by less than a factor of {most:g}, {verdict}: {change}."


def _above_advantage(leak: Leak, most: float) -> Iterator[str]:
    interval = leak.advantage_interval
    if interval.high < most:
        return
    yield (
        f"advantage must be below {most:g}, measured {leak.advantage:.4f} with an interval from {interval.low:.4f} to "
        f"{interval.high:.4f} at {100 * interval.level:.4g}% ({leak.method}, {leak.trials} trials): "
        f"{_remedy(leak, most)}."
    )


def _remedy(leak: Leak, most: float) -> str:
    if leak.advantage_interval.low >= most:
        return "the release leaks more; protect it more, or accept a larger advantage"
    if leak.advantage >= most:
        return "too few trials to decide, and the measured value is above; measure more, or protect the release more"
    # an interval's width falls with the root of the trials
    growth = ((leak.advantage_interval.high - leak.advantage) / (most - leak.advantage)) ** 2
    return f"too few trials to decide; measure about {_two_digits(leak.trials * growth)}"


def _above_epsilon(leak: Leak, most: float) -> Iterator[str]:
    bound = _bound(leak)
    if bound.value > most:
        yield _refuted(leak, bound, f"epsilon must be at most {most:g}")
    yield from _too_small(leak, bound, most)


def _above_guarantee(leak: Leak, guarantee: Guarantee) -> Iterator[str]:
    if not isinstance(guarantee, Guarantee):
        raise InvalidInput(
            f"must be a Guarantee, got {guarantee}: compare the leak with an advantage", field="guarantee"
        )
    bound = _bound(leak)
    if leak.exceeds(guarantee):
        yield _refuted(leak, bound, f"the leak must not exceed {guarantee}")
    yield from _too_small(leak, bound, guarantee.epsilon)


def _refuted(leak: Leak, bound: EpsilonBound, rule: str) -> str:
    return (
        f"{rule}, and {bound}, measured by advantage {leak.advantage:.4f} ({leak.advantage_interval}) in {leak.trials} "
        "trials: the mechanism, its guarantee or the attack's two worlds are wrong; look there before you release."
    )


def _too_small(leak: Leak, bound: EpsilonBound, most: float) -> Iterator[str]:
    provable = _most_provable(leak, bound)
    if provable is not None and provable <= most:
        yield (
            f"epsilon {most:g} cannot be tested with {leak.trials} trials: {bound}, and with no wrong guess it would "
            f"be {provable:.3f}; measure more trials."
        )


def _most_provable(leak: Leak, bound: EpsilonBound) -> float | None:
    """Return what the bound would be if the attack never erred; None if it has other trials than the leak."""
    if bound.level != leak.interval.level:
        return None
    n, others, delta = leak.trials, leak.baseline_trials, bound.delta
    level = 1 - (1 - bound.level) / leak.thresholds
    if bound.method == ONE_RUN and others is None:
        return epsilon_one_run(n, n, leak.examples or n, prior=leak.baseline, delta=delta, level=level)
    if bound.method == ERROR_RATES and others is not None:
        return epsilon_from_rates(n, n, 0, others, delta=delta, level=level)
    return None


def _bound(leak: Leak) -> EpsilonBound:
    if leak.bound is None:
        raise InvalidInput("this leak has no epsilon bound, so it can only be compared with an advantage")
    return leak.bound


def _check_odds(odds: float) -> float:
    if not 1 < odds < math.inf:
        raise InvalidInput(f"must be a finite number above 1, such as 10, got {odds!r}", field="odds")
    return float(odds)


def _check_advantage(advantage: float) -> float:
    if not 0 < advantage <= 1:
        raise InvalidInput(f"must be in (0, 1], such as 0.05, got {advantage!r}", field="advantage")
    return float(advantage)


def _two_digits(number: float) -> str:
    unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / unit) * unit:,}"
