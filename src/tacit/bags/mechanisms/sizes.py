"""A least size of bags, by leaving small ones out or by merging them; decided on counts, never on labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["BagRegrouping", "SizeRule"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BagRegrouping:
    """Where each bag goes: its new number, or -1 where it is left out."""

    target: NDArray[np.int64]  # one number per bag
    bags: int  # how many bags there are afterwards
    other: int | None = None  # the number of the bag of merged ones, if there is one; it is the last

    @property
    def kept(self) -> NDArray[np.int64]:
        """The old numbers of the bags that stay unchanged, in their order."""
        stays = self.target >= 0
        if self.other is not None:
            stays &= self.target != self.other
        return np.flatnonzero(stays)

    @property
    def dropped(self) -> bool:
        """Whether some bags are left out."""
        return bool((self.target < 0).any())

    def add(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the sums of ``values``, one row per bag, over the new bags."""
        if self.bags == len(values) and self.other is None:
            return values.astype(np.float64)
        result = np.zeros((self.bags, *values.shape[1:]))
        keeps = self.target >= 0
        np.add.at(result, self.target[keeps], values[keeps])
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRule:
    """A least size of bags, by public or noisy counts alone: smaller bags are left out, or merged into one.

    Where the bag of merged ones would itself be too small, the next smallest bags join it, so that no row is left out.

    Parameters
    ----------
    least
        The least number of rows; 1 keeps every bag.
    small
        ``drop`` releases nothing about the labels of smaller bags; ``merge`` puts their rows into a bag "other".

    Examples
    --------
    >>> SizeRule(least=3).regroup(np.array([1, 5, 3])).target
    array([-1,  0,  1])
    >>> SizeRule(least=3, small="merge").regroup(np.array([1, 9, 4])).target
    array([1, 0, 1])
    """

    least: int = 1
    small: Literal["drop", "merge"] = "drop"

    def __post_init__(self) -> None:
        check_count(self.least, name="least")

    def regroup(self, counts: NDArray[np.generic]) -> BagRegrouping:
        """Return where each bag goes."""
        sizes = np.asarray(counts, dtype=np.float64)
        small = sizes < self.least
        if self.least == 1 or not small.any():
            return BagRegrouping(target=np.arange(len(sizes)), bags=len(sizes))
        if self.small == "drop":
            return BagRegrouping(target=np.where(small, -1, np.cumsum(~small) - 1), bags=int((~small).sum()))
        for bag in np.argsort(np.where(small, np.inf, sizes), kind="stable"):
            if sizes[small].sum() >= self.least or small.all():
                break
            small[bag] = True
        other = int((~small).sum())
        return BagRegrouping(target=np.where(small, other, np.cumsum(~small) - 1), bags=other + 1, other=other)

    def check(self, counts: NDArray[np.generic]) -> None:
        """Raise if public counts leave no bag of the least size."""
        if self.least > 1 and self.regroup(counts).add(counts).max(initial=0.0) < self.least:
            raise InvalidInput(f"must be smaller: no bag would have {self.least} rows or more", field="min_size")

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON."""
        return {"rule": "keep"} if self.least == 1 else {"rule": self.small, "least": self.least}
