"""Recognize training points by |Phi(x)| alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["KnownMargin", "check_outputs"]

_TIES = 5  # outputs that show the margin


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMargin:
    """Call x a training point where |Phi(x)| is within ``tolerance`` of the margin m, in margins.

    Training points lie at m; fresh points lie below m/2 in high dimension, and in low dimension on either side, but
    seldom at m itself: the score is -||Phi(x)|/m - 1|. The default tolerance lies half-way between m and m/2.

    References
    ----------
    Paper 004, Corollary 4.3 (known margin) and Corollary 4.4 (:meth:`from_leaked`); :meth:`from_ties` needs neither.
    """

    margin: float
    tolerance: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.margin < np.inf:
            raise InvalidInput(f"must be > 0 and finite, got {self.margin}", field="margin")
        if not 0 < self.tolerance < 1:
            raise InvalidInput(f"must be in (0, 1), in margins, got {self.tolerance}", field="tolerance")

    @classmethod
    def from_leaked(cls, outputs: ArrayLike) -> KnownMargin:
        """Take the largest |Phi| of candidates: the margin where one of them was trained on (Corollary 4.4)."""
        return cls(margin=float(np.abs(check_outputs(outputs, name="outputs")).max()))

    @classmethod
    def from_ties(cls, outputs: ArrayLike) -> KnownMargin:
        """Take for the margin where five of the |Phi| stand closest, relative to ten times as many around them.

        Fresh outputs have a density, training points tie: no member, label or margin need be known. It takes five
        training points or more among the candidates, tied more closely than chance ties fresh ones.

        Examples
        --------
        >>> fresh = np.random.default_rng(0).normal(size=100)
        >>> KnownMargin.from_ties([*fresh, 1.001, -1.0, 0.999, 1.0, -1.0]).margin
        1.0
        """
        sizes = np.sort(np.abs(check_outputs(outputs, name="outputs")))
        sizes = sizes[sizes > 0]
        if len(sizes) < _TIES:
            raise InvalidInput(f"must have {_TIES} that are not 0, got {len(sizes)}", field="outputs")
        many = min(10 * _TIES, len(sizes))
        first = np.arange(len(sizes) - _TIES + 1)
        around = np.clip(first - (many - _TIES) // 2, 0, len(sizes) - many)
        logs = np.log(sizes)
        wide = logs[around + many - 1] - logs[around]
        start = int(np.argmin((logs[first + _TIES - 1] - logs[first]) / np.maximum(wide, np.finfo(float).tiny)))
        return cls(margin=float(np.median(sizes[start : start + _TIES])))

    @property
    def threshold(self) -> float:
        """The score of an output ``tolerance`` margins away from the margin, fixed before any point is seen."""
        return -self.tolerance

    def score(self, outputs: ArrayLike) -> Floats:
        """Return minus the distance of |Phi| from the margin, in margins."""
        return -np.abs(np.abs(check_outputs(outputs, name="outputs")) / self.margin - 1)


def check_outputs(outputs: ArrayLike, *, name: str) -> Floats:
    """Return a network's outputs as one number per point, or raise unless all are finite."""
    try:
        values = np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must have one output per row, got {type(outputs).__name__}") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or not len(values):
        raise InvalidInput(f"{name} must have one output per row, and a row or more, got shape {values.shape}")
    broken = int((~np.isfinite(values)).sum())
    if broken:
        raise InvalidInput(
            f"{name} must have finite outputs only, got {broken} of {len(values)} that are not: query the model with "
            "other rows"
        )
    return values
