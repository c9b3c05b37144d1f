"""The values of a column without typing errors far from the rest, and without codes for a gap such as -999."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["gap_codes", "typical_values"]

_MIDDLE = 0.05, 0.95
_WIDTHS = 3.0
_FEW = 0.01
_FEWEST = 20  # of fewer values the middle contains the extremes
_REPEATED = 10  # rows that share a code


def gap_codes(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the values that likely stand for a gap: an end of the range that several rows share, far from the rest.

    Examples
    --------
    >>> gap_codes(np.array([*range(20, 80), *[-999.0] * 10, *[999.0] * 10]))
    (-999.0, 999.0)
    >>> gap_codes(np.array([0.0] * 900 + [5.0, 900.0] * 50))
    ()
    """
    rest, codes = values[np.isfinite(values)], set[float]()
    while len(rest) >= _FEWEST:
        low, high = rest.min(), rest.max()
        inner = rest[(rest != low) & (rest != high)]
        if len(inner) < _FEWEST:
            break
        reach = _WIDTHS * float(np.subtract(*np.quantile(inner, _MIDDLE[::-1])))
        gaps = ((low, inner.min() - low), (high, high - inner.max()))
        found = {end for end, gap in gaps if 0 < reach < gap and np.count_nonzero(rest == end) >= _REPEATED}
        if not found:
            break
        codes |= found
        rest = rest[~np.isin(rest, list(found))]
    return tuple(sorted(map(float, codes)))


def typical_values(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the finite values, less codes for a gap, and less those at an end that are few and far from the rest.

    Far: more than three widths of the middle nine tenths away from these. Few: at most one in a hundred; of more, the
    farthest such share is left out. So an age of 4000 is left out, and a long tail is kept but for its end. Where more
    than nine tenths of the values are equal, such as amounts that are mostly 0, the others decide.

    Examples
    --------
    >>> typical_values(np.array([*range(20, 80), 4000.0])).max().item()
    79.0
    >>> typical_values(np.array([0.0] * 900 + [5.0, 900.0] * 50)).max().item()
    900.0
    >>> len(typical_values(np.exp(np.arange(1000) / 20)))
    991
    """
    known = values[np.isfinite(values) & ~np.isin(values, gap_codes(values))]
    rest = known
    while len(rest) >= _FEWEST:
        low = np.quantile(rest, _MIDDLE[0], method="higher")
        high = np.quantile(rest, _MIDDLE[1], method="lower")
        if low < high:
            reach = _WIDTHS * (high - low)
            return known[(known >= -_end(-known, reach - low)) & (known <= _end(known, high + reach))]
        rest = rest[rest != low]
    return known


def _end(values: NDArray[np.float64], near: float) -> float:
    """Return the value up to which an upper end is kept: where the far values begin, or the last share of them."""
    if np.count_nonzero(values > near) <= max(1, _FEW * len(values)):
        return near
    return float(np.quantile(values, 1 - _FEW, method="higher"))
