"""How to divide an epsilon between choosing features, releasing them, and their labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.features.theory.error import ReleasedMeans, independence_rule_error
from tacit.features.theory.selection import share_found
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import gaussian_scale
from tacit.privacy.noise.choice import MOST_EPSILON
from tacit.privacy.rounding import check_count, check_delta, check_epsilon, exact

__all__ = ["BudgetSplit", "check_promise", "split_budget"]

_GAP, _DEVIATION = 0.5, 1 / 3  # the reference: a kept feature differs by half the bound, and varies by a third of it
_SHARES = tuple(Fraction(k, 20) for k in range(1, 15))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSplit:
    """Epsilons that add up to the whole, and the error they should give.

    Examples
    --------
    >>> BudgetSplit(class_rows=0.05, selection=0.45, release=0.5, labels=0.0, error=0.2).whole
    1.0
    """

    class_rows: float
    selection: float
    release: float
    labels: float
    error: float

    @property
    def whole(self) -> float:
        """The sum.

        Examples
        --------
        >>> BudgetSplit(class_rows=0.1, selection=0.2, release=0.3, labels=0.4, error=0.2).whole
        1.0
        """
        return float(sum(map(exact, (self.class_rows, self.selection, self.release, self.labels))))


def split_budget(
    epsilon: float,
    *,
    delta: float,
    features: int,
    keep: int,
    rows: int,
    classes: int = 2,
    released_rows: bool,
    label_epsilon: float | None = None,
    public_class_rows: bool = False,
) -> BudgetSplit:
    """Divide an epsilon so that a reference problem is classified best.

    In the reference, ``keep`` of the features differ between two of the classes by half the bound, all vary by a
    third of it, and the classes are of equal size. For each division the error is that of the independence rule
    between those two under the release's noise and the labels' flips, on the share of those features that selection
    should find among the others. Class sizes get a twentieth. It reads no data: it is as good as the reference is
    like them, and every part can be set by hand.

    Parameters
    ----------
    epsilon, delta
        The whole budget of the release.
    features, keep, rows, classes
        How many there are; the number of rows may be a guess.
    released_rows
        Whether rows leave, with their labels, or class totals.
    label_epsilon
        The labels' part, if it is fixed already.
    public_class_rows
        Whether class sizes cost nothing.

    Examples
    --------
    >>> split = split_budget(4.0, delta=1e-6, features=100, keep=5, rows=5000, released_rows=True)
    >>> split.whole, split.release > split.selection
    (4.0, True)
    >>> split_budget(1.0, delta=1e-6, features=100, keep=5, rows=5000, released_rows=False).labels
    0.0
    """
    check_promise(epsilon, delta)
    whole = exact(epsilon)
    m, p = check_count(keep, name="keep"), check_count(features, name="features")
    n = max(2, check_count(rows, name="rows") // check_count(classes, name="classes", least=2))
    fixed = None if label_epsilon is None else exact(check_epsilon(label_epsilon, name="label_epsilon"))
    if fixed is not None and fixed >= whole:
        raise InvalidInput(f"label_epsilon must be less than epsilon, {epsilon!r}, got {label_epsilon!r}")
    sizes = whole / 20 if m < p and not public_class_rows else Fraction(0)
    splits = [
        BudgetSplit(
            class_rows=float(sizes),
            selection=float(selection),
            release=float(whole - sizes - selection - labels),
            labels=float(labels),
            error=error,
        )
        for selection, found in _choices(whole, m, p, n)
        for labels in _label_shares(whole, fixed, released_rows)
        if whole - sizes - selection - labels > 0
        for left in [float(whole - sizes - selection - labels)]
        for error in [_error(left, float(labels) or None, delta, m, n, classes, found)]
    ]
    if not splits:
        raise InvalidInput(f"epsilon {epsilon!r} leaves nothing for the features after labels at {label_epsilon!r}")
    return min(splits, key=lambda split: split.error)


def check_promise(epsilon: float, delta: float) -> None:
    """Raise unless there is noise for such a promise: an epsilon above 4096 asks for less than the grid can hold.

    Examples
    --------
    >>> check_promise(1e6, 1e-6)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: epsilon must be at most 4096, got 1000000.0; release without a guarantee instead
    """
    check_delta(delta, zero=False)
    if check_epsilon(epsilon) > MOST_EPSILON:
        raise InvalidInput(
            f"epsilon must be at most {MOST_EPSILON}, got {epsilon!r}; release without a guarantee instead"
        )


def _choices(whole: Fraction, m: int, p: int, n: int) -> list[tuple[Fraction, float]]:
    """Epsilons for the selection, and the share it then finds; nothing to choose where all features are kept."""
    if m >= p:
        return [(Fraction(0), 1.0)]
    spread = _DEVIATION * math.sqrt(2 / n)
    scales = [(share * whole, float(2 * min(m, p - m) * Fraction(2, n) / (share * whole))) for share in _SHARES]
    return [(e, share_found(_GAP, chosen=m, others=p - m, deviation=spread, noise=b)) for e, b in scales]


def _label_shares(whole: Fraction, fixed: Fraction | None, released_rows: bool) -> list[Fraction]:
    if not released_rows:
        return [Fraction(0)]
    return [share * whole for share in _SHARES] if fixed is None else [fixed]


@lru_cache(maxsize=4096)
def _error(release: float, labels: float | None, delta: float, m: int, n: int, classes: int, found: float) -> float:
    """The reference's error under one division; no labels leave with totals."""
    noise = 2 * math.sqrt(m) * gaussian_scale(release, delta=delta)
    if labels is None:
        on_means = noise / n
    else:  # randomized response shrinks a gap of means by (E - 1)/(E + K - 1), which is made good by as much noise
        shrunk = -math.expm1(-labels) / (1 + (classes - 1) * math.exp(-labels))
        on_means = math.hypot(_DEVIATION, noise) / shrunk / math.sqrt(n)
    means = ReleasedMeans.of_sums(sigma=_DEVIATION, noise=(on_means, on_means), rows=(n, n), features=m)
    # a share of m gaps is as good as m gaps of its root
    return independence_rule_error(np.full(m, _GAP * math.sqrt(found)), means)
