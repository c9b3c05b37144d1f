"""Numbers and guarantees in plain words, the same ones in the terminal, in the page and in the advice."""

from __future__ import annotations

import math

from tacit.leak import Interval, OddsChange
from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.rounding import format_up

__all__ = [
    "MOST_FOLDS",
    "WEAK",
    "change_of_odds",
    "fold",
    "fold_interval",
    "in_odds",
    "in_plain_words",
    "listed",
    "percent",
    "points",
    "proved",
    "span",
]

_VAST = 1e6
WEAK = 10.0
"""A guarantee with a larger epsilon is hardly one: the odds may change more than twenty thousand-fold."""


def percent(share: float) -> str:
    """Return a share in percent, never rounded to all or nothing where it is neither.

    Examples
    --------
    >>> [percent(share) for share in (0.791, 1.0, 0.9997, 0.00031, 0.0, 0.9999999)]
    ['79.1%', '100%', '99.97%', '0.03%', '0%', 'above 99.99%']
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if 0 < share < 1e-4:
        return "below 0.01%"
    if 1 - 1e-4 < share < 1:
        return "above 99.99%"
    return f"{share:.2%}" if 0 < share < 1e-3 or 1 - 1e-3 < share < 1 else f"{share:.1%}"


def points(difference: float) -> str:
    """Return a difference of two shares in percentage points, with its sign.

    An interval above zero must not read as if it touched it: what would be rounded to zero has a digit more.

    Examples
    --------
    >>> points(0.209), points(-0.004), points(0.0004), points(0.0)
    ('+20.9 points', '-0.4 points', '+0.04 points', '0.0 points')
    """
    rounded = (f"{100 * difference:+.{digits}f}" for digits in (1, 2))
    return f"{next((shown for shown in rounded if float(shown)), '0.0')} points"


def proved(epsilon: float) -> str:
    """Return an attack's lower bound on epsilon, rounded down so that it is never overstated.

    Examples
    --------
    >>> proved(0.5669)
    'at least 0.566'
    """
    return f"at least {math.floor(1000 * epsilon) / 1000:.3f}"


def span(interval: Interval) -> str:
    """Return an interval of shares in percent; one without width is exact.

    Examples
    --------
    >>> span(Interval(low=0.1, high=0.25, level=0.95)), span(Interval(low=1.0, high=1.0, level=0.95))
    ('10.0% to 25.0%', 'exact')
    """
    return "exact" if interval.low == interval.high else f"{percent(interval.low)} to {percent(interval.high)}"


def in_plain_words(guarantee: AnyGuarantee) -> str:
    """Return the meaning of a guarantee for one person, without mathematics.

    Differential privacy bounds the factor by which seeing the release changes the odds between any two values of
    what is protected: e^epsilon, except with probability delta.

    Examples
    --------
    >>> from tacit.privacy import NoGuarantee, Unit
    >>> in_plain_words(Guarantee(unit=Unit.LABEL, epsilon=1.0))
    'Whatever anyone already knows, this changes the odds on one label at most 2.8-fold.'
    >>> in_plain_words(NoGuarantee(reason="exact totals"))
    'Nothing is guaranteed: exact totals.'
    """
    if not isinstance(guarantee, Guarantee):
        return f"Nothing is guaranteed: {guarantee.reason}."
    factor = math.exp(min(guarantee.epsilon, 700.0))
    if factor >= _VAST:
        return f"The odds on {guarantee.protects} may change more than a million-fold: that protects nobody."
    but = f", except with probability {format_up(guarantee.delta, digits=1)}" if guarantee.delta else ""
    return (
        f"Whatever anyone already knows, this changes the odds on {guarantee.protects} at most {_up(factor)}-fold{but}."
    )


def in_odds(guarantee: AnyGuarantee) -> str:
    """Return how much a guarantee allows the odds to change, rounded up.

    Examples
    --------
    >>> from tacit.privacy import Unit
    >>> in_odds(Guarantee(unit=Unit.LABEL, epsilon=1.0))
    'at most 2.8-fold'
    """
    if not isinstance(guarantee, Guarantee):
        return "by any factor"
    return f"at most {_up(math.exp(min(guarantee.epsilon, 700.0)))}-fold"


_LONGEST = 10_000_000  # a change of odds beyond which only its size matters
MOST_FOLDS = 1e6
"""The largest change of odds that is told as the end of an interval."""


def fold(odds: float) -> str:
    """Return a change of odds, with two digits or three.

    Examples
    --------
    >>> [fold(odds) for odds in (0.0, 0.0123, 1.234, 12.34, 12345.6, 2.64e15, math.inf)]
    ['0', '0.012', '1.2', '12', '12,300', '2.6 x 10^15', 'infinity']
    """
    if not 0 < odds < math.inf:
        return "infinity" if odds else "0"
    if odds > _LONGEST:
        power = math.floor(math.log10(odds))
        return f"{odds / 10.0**power:.2g} x 10^{power}"
    digits = (1 if odds < 100 else 2) - math.floor(math.log10(odds))
    return f"{round(odds, digits):,.{max(digits, 0)}f}"


def fold_interval(change: OddsChange) -> str:
    """Return the interval of a change of odds; an upper end beyond a million says no more than none.

    Examples
    --------
    >>> counts = {"rows": 8, "others": 12, "share": 0.4, "level": 0.95}
    >>> fold_interval(OddsChange.from_counts("yes", found=4, mistaken=1, **counts))
    '0.30 to 832'
    >>> fold_interval(OddsChange.from_counts("yes", found=4, mistaken=0, **counts))
    '0.42 or more'
    """
    low, high = fold(change.odds_interval.low), change.odds_interval.high
    return f"{low} or more" if high >= MOST_FOLDS else f"{low} to {fold(high)}"


def change_of_odds(change: OddsChange) -> str:
    """Return by what factor the odds change; at least, where no other row is flagged."""
    if not math.isinf(change.odds):
        return f"{fold(change.odds)}-fold"
    low = change.odds_interval.low
    return f"at least {fold(low)}-fold" if low > 1 else "by any factor"


def listed(words: list[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> listed(["labels", "bags", "scores"])
    'labels, bags and scores'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _up(factor: float) -> str:
    """Round away from the safe side: a guarantee is never stated stronger than it is."""
    digits = 2 if factor < 1.1 else 1 if factor < 10 else 0
    return f"{math.ceil(factor * 10**digits - 1e-9) / 10**digits:,.{digits}f}"
