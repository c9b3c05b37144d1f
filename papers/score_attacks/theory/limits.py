"""When no prediction separates: the negative results of Appendix I, corrected and sharpened."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["bounded_limit", "discrete_limit", "monotone_limit"]


def discrete_limit(rows: int) -> float:
    """Return the largest gap of the p-norm between 0/1 predictions and 0/1 labels: 0 from two rows on, 1 for one.

    Two labelings that each differ from the prediction in one row cost the same; with one row there is no second.

    References
    ----------
    Aggarwal et al. (2021), Theorem 11, which forgets the single row.

    Examples
    --------
    >>> discrete_limit(1), discrete_limit(2)
    (1.0, 0.0)
    """
    return 1.0 if check_count(rows, name="rows") == 1 else 0.0


def monotone_limit(value: Callable[[frozenset[int]], float], rows: int) -> float:
    """Return the least step of a monotone set function: its codomain gap is at most this.

    The step is f(B + j) - f(B), without the factor 1/2 of the printed theorem: N = 1 and f = 0, 1 has gap 1.

    Parameters
    ----------
    value
        f at the set of rows labeled 1.
    rows
        N; all 2^N sets are tried.

    References
    ----------
    Aggarwal et al. (2021), Theorem 12 and Corollary 4.

    Examples
    --------
    >>> monotone_limit(lambda ones: float(len(ones)), 3)
    1.0
    """
    n = check_count(rows, name="rows")
    everything = range(n)
    subsets = chain.from_iterable(combinations(everything, size) for size in range(n))
    steps = [
        value(frozenset((*subset, j))) - value(frozenset(subset))
        for subset in subsets
        for j in everything
        if j not in subset
    ]
    if min(steps) < 0:
        raise InvalidInput(f"value must be monotone, got one that falls by {-min(steps):.6g} with one row more")
    return min(steps)


def bounded_limit(bound: float, rows: int, *, classes: int = 2) -> float:
    """Return the largest codomain gap of any function with values in an interval of length ``bound``.

    The K^N values lie ``gap`` apart, so gap <= bound/(K^N - 1). The printed bound/N is weaker, and needs a
    monotone function; this one does not.

    References
    ----------
    Aggarwal et al. (2021), Theorem 13.

    Examples
    --------
    >>> bounded_limit(1.0, 3)
    0.14285714285714285
    """
    if not (0 < bound < math.inf):
        raise InvalidInput(f"bound must be a finite number > 0, got {bound!r}")
    labelings: int = check_count(classes, name="classes", least=2) ** check_count(rows, name="rows")
    return float(Fraction(bound) / (labelings - 1))
