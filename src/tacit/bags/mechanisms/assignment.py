"""Which rows are in which random bag: drawn without looking at any label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["assign_rows", "check_assignment"]


def assign_rows(
    rows: int, *, size: int, bags: int, joins: int | None = None, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the row numbers of each bag: all different within a bag, and each row in at most ``joins`` bags.

    Without ``joins`` every bag is a uniform draw of its own, as in the paper. With it a bag is drawn uniformly among
    the rows that may still join one; the last ``joins`` bags take, where needed, the rows that may join
    most, so that the draw always ends with all bags full. Bags are then no longer independent.

    References
    ----------
    Chen et al. (2023), Section 4.
    """
    check_assignment(rows, size=size, bags=bags, joins=joins)
    if joins is None:
        return np.stack([rng.choice(rows, size, replace=False, shuffle=False) for _ in range(bags)]).astype(np.int64)
    return _capped(rows, size, bags, joins, rng)


def check_assignment(rows: int, *, size: int, bags: int, joins: int | None) -> None:
    """Raise if a table of so many rows cannot fill the bags."""
    m, n = check_count(size, name="size"), check_count(bags, name="bags")
    if m > rows:
        raise InvalidInput(f"must be at most {rows}, the number of rows, got {m}", field="size")
    if joins is not None and m * n > rows * check_count(joins, name="joins"):
        raise InvalidInput(
            f"must be at least {-(-m * n // rows)} for {n} bags of {m} rows out of {rows}, got {joins}; or draw fewer",
            field="joins",
        )


def _capped(rows: int, m: int, n: int, J: int, rng: np.random.Generator) -> NDArray[np.int64]:
    left = np.full(rows, J, dtype=np.int64)
    free = np.arange(rows)  # rows that may still join a bag
    made = np.empty((n, m), dtype=np.int64)
    for bag in range(n):
        chosen = free[rng.choice(len(free), m, replace=False, shuffle=False)]
        after = n - bag - 1
        # while J or more bags are left, sum(left) >= m after is all that is needed, and it always holds
        if after < J and not _can_fill(left, chosen, after, m):
            order = rng.permutation(rows)
            chosen = order[np.argsort(-left[order], kind="stable")[:m]]
        made[bag] = chosen
        left[chosen] -= 1
        if not left[chosen].all():
            free = free[left[free] > 0]
    return made


def _can_fill(left: NDArray[np.int64], chosen: NDArray[np.int64], after: int, m: int) -> bool:
    """Whether ``after`` more bags can be filled once ``chosen`` have joined one (Gale 1957; Ryser 1957)."""
    rest = left.copy()
    rest[chosen] -= 1
    return bool(np.minimum(rest, after).sum() >= m * after)
