"""How to divide an epsilon between choosing features, releasing them, and their labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache

from scipy.special import ndtr

from tacit.features.mechanisms.noise import check_gaussian
from tacit.features.mechanisms.selected_share import share_found
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import gaussian_scale
from tacit.privacy.rounding import check_count, exact

__all__ = ["BudgetSplit", "reference_error", "split_budget"]

_GAP, _DEVIATION = 0.5, 1 / 3  # the reference: a kept feature differs by half the bound, and varies by a third of it
_SHARES = tuple(Fraction(k, 20) for k in range(1, 15))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSplit:
    """Epsilons that add up to the whole; 0 where there is nothing to spend on, infinite if there is no noise."""

    class_rows: float
    selection: float
    release: float
    labels: float

    @classmethod
    def without_noise(cls) -> BudgetSplit:
        """Return the division of an infinite epsilon."""
        return cls(class_rows=math.inf, selection=math.inf, release=math.inf, labels=math.inf)

    @property
    def whole(self) -> float:
        """The sum."""
        return float(sum(exact(getattr(self, one.name)) for one in fields(self)))


def split_budget(
    epsilon: float,
    *,
    delta: float,
    features: int,
    keep: int,
    rows: int,
    classes: int = 2,
    releases_labels: bool,
    label_epsilon: float | None = None,
    selection_epsilon: float | None = None,
    public_class_rows: bool = False,
) -> BudgetSplit:
    """Divide an epsilon so that a reference problem is classified best.

    In the reference, ``keep`` of the features differ between two of the classes by half the bound, all vary by a
    third of it, and the classes are of equal size. For each division the error is that of the independence rule
    between those two under the release's noise and the labels' flips, on the share of those features that selection
    should find among the others. Class sizes get a twentieth. It reads no data: it is as good as the reference is
    like them, and every part can be set by hand; the number of rows may be a guess.
    """
    check_gaussian(epsilon, delta)
    whole = exact(epsilon)
    chooses = check_count(keep, name="keep") < check_count(features, name="features")
    sizes = whole / 20 if chooses and not public_class_rows else Fraction(0)
    splits = [
        BudgetSplit(class_rows=float(sizes), selection=float(selection), release=float(left), labels=float(labels))
        for selection in (_parts(whole, selection_epsilon) if chooses else [Fraction(0)])
        for labels in (_parts(whole, label_epsilon) if releases_labels else [Fraction(0)])
        if (left := whole - sizes - selection - labels) > 0
    ]
    if not splits:
        given = "selection_epsilon" if label_epsilon is None else "label_epsilon"
        part = selection_epsilon if label_epsilon is None else label_epsilon
        raise InvalidInput(f"must leave a part of epsilon {epsilon!r} for the features, got {part!r}", field=given)
    counts = {"features": features, "keep": keep, "rows": rows, "classes": classes}
    return min(splits, key=lambda split: reference_error(split, delta=delta, **counts))


def reference_error(
    split: BudgetSplit, *, delta: float, features: int, keep: int, rows: int, classes: int = 2
) -> float:
    """Return the error with which the reference problem of :func:`split_budget` is classified under a division."""
    n = max(2, check_count(rows, name="rows") // check_count(classes, name="classes", least=2))
    found = _found(split.selection, keep, features, n)
    return _error(split.release, split.labels, delta, keep, n, classes, found)


def _parts(whole: Fraction, fixed: float | None) -> list[Fraction]:
    return [share * whole for share in _SHARES] if fixed is None else [exact(fixed)]


@lru_cache(maxsize=256)
def _found(epsilon: float, m: int, p: int, n: int) -> float:
    """The share of the features that differ which selection finds; all where there is nothing to choose."""
    if m >= p:
        return 1.0
    scale = float(2 * min(m, p - m) * Fraction(2, n) / exact(epsilon))
    return share_found(_GAP, chosen=m, others=p - m, deviation=_DEVIATION * math.sqrt(2 / n), noise=scale)


@lru_cache(maxsize=4096)
def _error(release: float, labels: float, delta: float, m: int, n: int, classes: int, found: float) -> float:
    noise = 2 * math.sqrt(m) * gaussian_scale(release, delta=delta)
    if labels == 0:  # totals, which release no labels
        on_means = noise / n
    else:  # randomized response shrinks a gap of means by (E - 1)/(E + K - 1), which is made good by as much noise
        shrunk = -math.expm1(-labels) / (1 + (classes - 1) * math.exp(-labels))
        on_means = math.hypot(_DEVIATION, noise) / shrunk / math.sqrt(n)
    # Fan and Fan (2008), Theorem 1, for means of equal precision: m features, of whose gaps a share is found
    signal = m * found * (_GAP / _DEVIATION) ** 2
    spread = 2 * m * (1 / n + (on_means / _DEVIATION) ** 2)
    return float(ndtr(-signal / (2 * math.sqrt(signal + spread))))
