"""A first layer that hashes rows: ReLU units, each silent on some rows only, that distinguish all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["Floats", "RowHash", "feature_table"]

Floats = NDArray[np.floating[Any]]

_MARGIN = 8  # a unit's threshold lies this many times the rounding error of its sum away from every row
_CANDIDATES = 8  # directions tried for a unit that must distinguish two rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowHash:
    """ReLU units max(0, x @ weights + bias) that recognize rows exactly.

    On every row each unit is either silent, exactly 0, or at least 3/(2 strength): its threshold lies in a
    gap of the projected rows that is wide against the rounding of the sum, whatever the order of summation.
    For every asked row i and every other row j a unit is silent on i and not on j. So
    1 - sum of strength times the units silent on i is exactly 1 on row i and below 0 on all others.

    Parameters
    ----------
    weights, bias
        The layer, (features, units) and (units,).
    strength
        What a unit is multiplied with to be at least 3/2 where it is not silent.
    silent
        (distinct rows, units).
    """

    weights: Floats
    bias: Floats
    strength: Floats
    silent: NDArray[np.bool_]
    place: NDArray[np.intp]
    asked: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        rows: ArrayLike,
        *,
        rng: np.random.Generator,
        asked: ArrayLike | None = None,
        width: int = 64,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> RowHash:
        """Return units that distinguish every asked row from all rows with other features.

        ``width`` random directions come first, each with its threshold in the widest gap of a quarter of the rows;
        then directions from one colliding row to the other, until none collide.

        Parameters
        ----------
        asked
            (rows,) true for the rows to recognize; all by default. Fewer rows need fewer units.
        dtype
            The rows are distinguished as they are in this dtype, with its rounding.
        """
        given = feature_table(rows, dtype=dtype)
        X, place = np.unique(given, axis=0, return_inverse=True)
        place = place.reshape(-1)
        wanted = np.zeros(len(X), dtype=bool)
        wanted[place[_mask(asked, rows=len(given))]] = True
        units = _enough_units(X, np.flatnonzero(wanted), count=check_count(width, name="width"), rng=rng)
        return cls(
            weights=np.stack([unit.weights for unit in units], axis=1).astype(dtype),
            bias=np.array([unit.bias for unit in units], dtype=dtype),
            strength=np.array([unit.strength for unit in units], dtype=dtype),
            silent=np.stack([unit.silent for unit in units], axis=1),
            place=place,
            asked=wanted,
        )

    def strengths(self, distinct: NDArray[np.intp]) -> Floats:
        """Return the (units, rows) weights that exclude all other rows than the distinct ones named."""
        if not self.asked[distinct].all():
            raise InvalidInput(
                "must name rows that the hash was asked to recognize; build it with more asked", field="distinct"
            )
        return np.asarray(np.where(self.silent[distinct].T, self.strength[:, None], 0), dtype=self.strength.dtype)


def feature_table(rows: ArrayLike, *, dtype: type[np.floating[Any]]) -> Floats:
    """Return rows as a table of ``dtype``, or raise if they are not finite numbers."""
    given = np.asarray(rows, dtype=dtype)
    if given.ndim != 2 or given.size == 0 or not np.isfinite(given).all():
        raise InvalidInput(
            f"must be a table of finite numbers with at least one row and one column, got shape {given.shape}",
            field="rows",
        )
    return given


def _mask(asked: ArrayLike | None, *, rows: int) -> NDArray[np.bool_]:
    mask = np.ones(rows, dtype=bool) if asked is None else np.asarray(asked, dtype=bool)
    if mask.shape != (rows,):
        raise InvalidInput(f"predictions and asked must be one for each of the {rows} rows, got {len(mask)}")
    return mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Unit:
    weights: Floats
    bias: float
    strength: float
    silent: NDArray[np.bool_]


def _enough_units(X: Floats, asked: NDArray[np.intp], *, count: int, rng: np.random.Generator) -> list[_Unit]:
    spread = X.std(axis=0, dtype=np.float64)
    scale = np.maximum(spread, spread.mean() / 4)  # a nearly constant feature gets no outsized weight
    scale[scale == 0] = 1.0
    units = [_random_unit(X, scale, rng=rng) for _ in range(count)]
    while pairs := _collisions(units, asked, most=max(16, len(asked) // 8)):
        added: list[_Unit] = []
        for i, j in pairs:
            if not any(unit.silent[i] and not unit.silent[j] for unit in added):
                added.append(_separating_unit(X, scale, i, j, rng=rng))
        units += added
    return units


def _collisions(units: list[_Unit], asked: NDArray[np.intp], *, most: int) -> list[tuple[int, int]]:
    """Return pairs (asked row, row that no unit distinguishes from it), one per asked row, at most ``most``."""
    silent = np.stack([unit.silent for unit in units], axis=1)
    active = (~silent).T.astype(np.float32)
    pairs: list[tuple[int, int]] = []
    for block in np.array_split(asked, max(1, len(asked) // 512)):
        alike = silent[block].astype(np.float32) @ active == 0
        alike[np.arange(len(block)), block] = False
        hit = np.flatnonzero(alike.any(axis=1))[: most - len(pairs)]
        pairs += [(int(block[k]), int(alike[k].argmax())) for k in hit]
    return pairs


def _random_unit(X: Floats, scale: Floats, *, rng: np.random.Generator) -> _Unit:
    """Return a unit of a random direction; one silent on all rows if rounding leaves it no gap."""
    direction = rng.normal(size=X.shape[1]) / scale
    z = np.sort(X.astype(np.float64) @ direction)
    window = max(1, len(z) // 4)
    low = int(rng.integers(0, max(1, len(z) - window)))
    unit = _unit_in_gap(X, direction, z[low : low + window + 1])
    if unit is not None:
        return unit
    silent = np.ones(len(X), dtype=bool)
    return _Unit(weights=direction, bias=float(-z[-1] - 4 * np.ptp(z) - np.abs(z).max()), strength=1.0, silent=silent)


def _separating_unit(X: Floats, scale: Floats, i: int, j: int, *, rng: np.random.Generator) -> _Unit:
    """Return the unit, of a few directions from row i to row j, whose gap is widest."""
    straight = (X[j].astype(np.float64) - X[i]) / scale**2
    tilt = 0.3 * np.linalg.norm(straight * scale) / np.sqrt(X.shape[1])
    best: _Unit | None = None
    for share in np.arange(_CANDIDATES) / _CANDIDATES:
        direction = straight + share * tilt * rng.normal(size=X.shape[1]) / scale
        z = X.astype(np.float64) @ direction
        unit = _unit_in_gap(X, direction, np.sort(z[(z >= z[i]) & (z <= z[j])]))
        if unit is not None and (best is None or unit.strength < best.strength):
            best = unit
    if best is None:
        raise InvalidInput(
            f"must differ by more than {X.dtype.name} loses in a sum, got {X[i].tolist()!r} and "
            f"{X[j].tolist()!r}; use a wider dtype or drop one of them",
            field="rows",
        )
    return best


def _unit_in_gap(X: Floats, direction: Floats, z: Floats) -> _Unit | None:
    """Return the unit whose threshold lies in the widest gap of the sorted ``z``; None if rounding could cross it."""
    if len(z) < 2:
        return None
    at = int(np.diff(z).argmax())
    gap = float(z[at + 1] - z[at])
    rounding = (X.shape[1] + 4) * float(np.finfo(X.dtype).eps) * float((np.abs(X) @ np.abs(direction)).max())
    if gap / 4 <= _MARGIN * rounding:
        return None
    threshold = float(z[at]) + gap / 4
    steep = float(np.sqrt(2 / gap))  # half of the steepness for each of the two layers: neither has outsized weights
    silent = X.astype(np.float64) @ direction < threshold
    return _Unit(weights=steep * direction, bias=-steep * threshold, strength=steep, silent=silent)
