"""Which epsilon is needed for a wanted accuracy, and which is the most for a wanted limit on suspicion."""

from __future__ import annotations

import math

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["epsilon_for_error", "epsilon_for_kept", "epsilon_for_suspicion"]

_MARGIN = 1e-12  # relative, to the safe side


def epsilon_for_suspicion(before: float, after: float) -> float:
    """Return the largest epsilon that lets nobody's suspicion of a label grow from ``before`` to above ``after``.

    Whatever someone believes, a release multiplies the odds by at most e^epsilon, so epsilon is the difference of the
    log odds, rounded down. For all releases of the label together, without a delta.

    Examples
    --------
    >>> round(epsilon_for_suspicion(0.004, 0.1), 3)
    3.32
    """
    low, high = _share(before, "before"), _share(after, "after")
    if low >= high:
        raise InvalidInput(f"must be above the suspicion before, {before:g}, got {after:g}", field="after")
    return (math.log(high / (1 - high)) - math.log(low / (1 - low))) * (1 - _MARGIN)


def epsilon_for_kept(share: float, *, classes: int = 2) -> float:
    """Return the least epsilon at which randomized response keeps this share of the labels, rounded up.

    Examples
    --------
    >>> round(epsilon_for_kept(0.9), 3), round(epsilon_for_kept(0.9, classes=10), 3)
    (2.197, 4.394)
    """
    K, kept = check_count(classes, name="classes", least=2), _share(share, "share")
    if kept * K <= 1:
        raise InvalidInput(f"must be above 1/{K}, which any epsilon keeps, got {share:g}", field="share")
    return math.log(kept * (K - 1) / (1 - kept)) * (1 + _MARGIN)


def epsilon_for_error(error: int, *, level: float = 0.95, sensitivity: int = 1) -> float:
    """Return the least epsilon at which a noisy total is this near the true one with this probability, rounded up.

    Discrete Laplace noise: P(|X| > m) = 2 t^(m + 1) / (1 + t), t = e^(-epsilon / sensitivity).

    Parameters
    ----------
    sensitivity
        How much one unit may change the total.

    Examples
    --------
    >>> round(epsilon_for_error(10), 3)
    0.284
    """
    from scipy.optimize import brentq

    m, D = check_count(error, name="error", least=0), check_count(sensitivity, name="sensitivity")
    missed = 1 - _share(level, "level")

    def excess(epsilon: float) -> float:
        return math.log(2) - (m + 1) * epsilon - math.log1p(math.exp(-epsilon)) - math.log(missed)

    least = brentq(excess, 0.0, (math.log(2) - math.log(missed)) / (m + 1) + 1, xtol=1e-15)
    return float(least) * D * (1 + 1e-9) + 1e-12


def _share(value: float, field: str) -> float:
    if not 0 < value < 1:
        raise InvalidInput(f"must be between 0 and 1, got {value!r}", field=field)
    return float(value)
