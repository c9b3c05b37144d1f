"""A least size of bags, by leaving small ones out or by merging them; decided on counts, never on labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["DropSmall", "KeepAll", "MergeSmall", "Regrouping", "SizeRule", "check_sizes", "rule_for"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regrouping:
    """Where each bag goes: its new number, or -1 where it is left out."""

    target: NDArray[np.int64]  # one number a bag
    bags: int  # how many bags there are afterwards
    other: int | None = None  # the number of the bag of merged ones, if there is one; it is the last

    @property
    def kept(self) -> NDArray[np.int64]:
        """The old numbers of the bags that stay as they are, in their order."""
        stays = self.target >= 0
        if self.other is not None:
            stays &= self.target != self.other
        return np.flatnonzero(stays)

    @property
    def dropped(self) -> bool:
        """Whether some bags are left out."""
        return bool((self.target < 0).any())

    def add(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the sums of ``values``, one row a bag, over the new bags."""
        if self.bags == len(values) and self.other is None:
            return values.astype(np.float64)
        result = np.zeros((self.bags, *values.shape[1:]))
        keeps = self.target >= 0
        np.add.at(result, self.target[keeps], values[keeps])
        return result


@runtime_checkable
class SizeRule(Protocol):
    """A rule for small bags."""

    def regroup(self, counts: NDArray[np.generic]) -> Regrouping:
        """Return where each bag goes, from public or noised counts alone."""

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON."""


@dataclass(frozen=True, slots=True)
class KeepAll:
    """Leave every bag as it is."""

    def regroup(self, counts: NDArray[np.generic]) -> Regrouping:
        """Return every bag as it is."""
        return Regrouping(target=np.arange(len(counts)), bags=len(counts))

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON."""
        return {"rule": "keep"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSmall:
    """Leave out bags with fewer than ``least`` rows: nothing is said about the labels of their rows.

    Examples
    --------
    >>> DropSmall(least=3).regroup(np.array([1, 5, 3])).target
    array([-1,  0,  1])
    """

    least: int

    def __post_init__(self) -> None:
        check_count(self.least, name="least")

    def regroup(self, counts: NDArray[np.generic]) -> Regrouping:
        """Return where each bag goes."""
        large = np.asarray(counts, dtype=np.float64) >= self.least
        return Regrouping(target=np.where(large, np.cumsum(large) - 1, -1), bags=int(large.sum()))

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON."""
        return {"rule": "drop", "least": self.least}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSmall:
    """Merge bags with fewer than ``least`` rows into one bag "other".

    Where that bag would itself be too small, the next smallest bags join it, so that no row is left out.

    Examples
    --------
    >>> MergeSmall(least=3).regroup(np.array([1, 9, 4])).target
    array([1, 0, 1])
    """

    least: int

    def __post_init__(self) -> None:
        check_count(self.least, name="least")

    def regroup(self, counts: NDArray[np.generic]) -> Regrouping:
        """Return where each bag goes."""
        sizes = np.asarray(counts, dtype=np.float64)
        small = sizes < self.least
        if not small.any():
            return Regrouping(target=np.arange(len(sizes)), bags=len(sizes))
        for bag in np.argsort(np.where(small, np.inf, sizes), kind="stable"):
            if sizes[small].sum() >= self.least or small.all():
                break
            small[bag] = True
        other = int((~small).sum())
        return Regrouping(target=np.where(small, other, np.cumsum(~small) - 1), bags=other + 1, other=other)

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON."""
        return {"rule": "merge", "least": self.least}


def rule_for(least: int, *, small: str) -> SizeRule:
    """Return the rule of a plan: every bag is kept where one row is enough."""
    if least == 1:
        return KeepAll()
    return DropSmall(least=least) if small == "drop" else MergeSmall(least=least)


def check_sizes(plan: Regrouping, counts: NDArray[np.generic], sizes: SizeRule) -> None:
    """Raise if public counts leave no bag of the least size."""
    least = sizes.describe().get("least")
    if least is not None and plan.add(counts).max(initial=0.0) < least:
        raise InvalidInput(f"must be smaller: no bag would have {least} rows or more", field="min_size")
