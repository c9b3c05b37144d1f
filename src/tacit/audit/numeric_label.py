"""Suggestions for a label that is an amount: its public range, a grid on it, and cuts into classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.amounts import is_amount
from tacit.data.encoder.kinds import numbers_of
from tacit.data.encoder.typical import typical_values
from tacit.privacy.words import counted

__all__ = ["NumericLabel"]

_LEAST_STEPS = 20  # of the grid


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericLabel:
    """The range of a numeric label, the grid that labels are rounded to, and its rounded quartiles.

    Parameters
    ----------
    least, most
        A range that leaves no label out: scores are refused for labels outside theirs.
    origin
        Where the numbers come from, in words, because the owner of the plan must know which are public.

    Examples
    --------
    >>> cost = NumericLabel.of(pa.chunked_array([[k**2 / 10 for k in range(100)]]))
    >>> cost.low, cost.high, cost.step, cost.cuts
    (0, 1000, 50, (60, 200, 600))
    """

    low: float
    high: float
    least: float
    most: float
    step: float
    cuts: tuple[float, ...]
    origin: str

    @classmethod
    def of(cls, private: pa.ChunkedArray, public: pa.ChunkedArray | None = None) -> NumericLabel | None:
        """Return the suggestion of public rows, widened to the private labels, or of these; None for classes."""
        if not is_amount(private):
            return None
        every = _numbers(private)
        labels = typical_values(every)
        known = labels if public is None else _numbers(public)
        if len(known) == 0 or public is None:
            far = len(every) - len(labels)
            without = f", without {counted(far, 'value')} far from the rest, which are clipped" if far else ""
            origin = f"read off the private rows{without}: put public ones in their place"
            return cls._on_grid(labels, labels, every, origin=origin)
        covered = known.min() <= labels.min() and labels.max() <= known.max()
        wider = "" if covered else ", its range widened to the private rows: check that it is public"
        return cls._on_grid(known, labels, every, origin=f"read off the public table{wider}")

    @classmethod
    def _on_grid(
        cls, known: NDArray[np.float64], labels: NDArray[np.float64], every: NDArray[np.float64], *, origin: str
    ) -> NumericLabel:
        ends = min(known.min(), labels.min()), max(known.max(), labels.max())
        unit = 10.0 ** math.floor(math.log10((ends[1] - ends[0]) / 2))
        low, high = math.floor(ends[0] / unit), math.ceil(ends[1] / unit)
        finer = next(parts for parts in (1, 2, 5, 10) if (high - low) * parts >= _LEAST_STEPS)
        step = unit / finer
        return cls(
            low=_plain(low * unit),
            high=_plain(high * unit),
            least=_plain(min(low, math.floor(every.min() / unit)) * unit),
            most=_plain(max(high, math.ceil(every.max() / unit)) * unit),
            step=_plain(step),
            cuts=_cuts(known, within=ends) or (_plain(round((low + high) * finer / 2) * step),),
            origin=origin,
        )

    def __str__(self) -> str:
        cuts = ", ".join(map(str, self.cuts))
        return f"from {self.low} to {self.high}, with classes cut at {cuts}, {self.origin}"


def _cuts(labels: NDArray[np.float64], *, within: tuple[float, float]) -> tuple[float, ...]:
    """Return the quartiles, each rounded to one digit of itself or of their distance, whichever is smaller.

    Where most labels are one value, such as no loss, they are the quartiles of the others.
    """
    values, counts = np.unique(labels, return_counts=True)
    if 2 * counts.max() > len(labels):
        labels = labels[labels != values[counts.argmax()]]
    quartiles = np.quantile(labels, (0.25, 0.5, 0.75)) if len(labels) else np.empty(0)
    wide = float(np.ptp(quartiles)) / 2 if len(labels) else 0.0
    digits = (10.0 ** math.floor(math.log10(min(abs(cut), wide or abs(cut)))) if cut else 1.0 for cut in quartiles)
    rounded = {_plain(round(cut / digit) * digit) for cut, digit in zip(quartiles, digits, strict=True)}
    return tuple(sorted(cut for cut in rounded if within[0] < cut < within[1]))


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    numbers = numbers_of(column, name="label")
    return numbers[np.isfinite(numbers)]


def _plain(number: float) -> float:
    """Return a number without the noise of floating point, as an integer where it is one."""
    rounded = float(f"{number:.12g}")
    return int(rounded) if rounded.is_integer() else rounded
