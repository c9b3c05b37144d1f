"""Penalties that shrink a part's outputs to 0, so that noise in totals is not learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["NoiseRidge", "Penalty", "Ridge"]

Floats = NDArray[np.float64]
_LEAST = 1e-3  # curvature of a cell of no rows


class Penalty(Protocol):
    """What is added to the sum of row losses: half the sum over cells of strength times squared output."""

    def fitted(self, curvature: Floats, noise: Floats, gaps: Floats, /) -> Penalty:
        """Return the penalty for one part, from its cells' totals less what the overall mean makes of them."""
        ...

    def strengths(self, curvature: Floats, noise: Floats, /) -> Floats:
        """Return one strength per cell, from the loss's curvature over its rows and its noise variance."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge:
    """The same strength for every cell; 0 leaves the maximum likelihood fit."""

    l2: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.l2) and self.l2 >= 0):
            raise InvalidInput(f"must be a finite number >= 0, got {self.l2!r}", field="l2")

    def fitted(self, curvature: Floats, noise: Floats, gaps: Floats, /) -> Ridge:  # noqa: ARG002
        """Return the same penalty."""
        return self

    def strengths(self, curvature: Floats, noise: Floats, /) -> Floats:  # noqa: ARG002
        """Return ``l2`` for every cell."""
        return np.full(len(curvature), float(self.l2))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRidge:
    """The strength that is best on average for a cell of known noise: (1 + v/a)/spread^2.

    To second order a cell with curvature a (rows times the loss's second derivative) and a total with noise of
    variance v is estimated as (a w + e)/(a + s), e of variance a + v, w the true weight. With w of mean 0 and
    variance spread^2 the mean squared error (s^2 spread^2 + a + v)/(a + s)^2 is least at s = (1 + v/a)/spread^2.
    Without noise this is ridge regression with prior variance spread^2.

    Parameters
    ----------
    spread
        How large the weights are thought to be (standard deviation, in logits for the log loss). None estimates it
        for each part from the release itself, which costs no privacy: a cell's total differs from its rows' share
        of the overall total by about a w, with variance a + v, so squared differences less a + v tell spread^2,
        between 0.05 and 2. For the squared loss that is in units of the label, and a label's variance among the rows
        of a cell is taken for 1: where labels are noisy, release them in units of about their standard deviation.
    """

    spread: float | None = None

    def __post_init__(self) -> None:
        if self.spread is not None and not (np.isfinite(self.spread) and self.spread > 0):
            raise InvalidInput(f"must be a finite number > 0 or None, got {self.spread!r}", field="spread")

    def fitted(self, curvature: Floats, noise: Floats, gaps: Floats, /) -> NoiseRidge:
        """Return the penalty with the spread that totals show, between 0.05 and 2."""
        if self.spread is not None:
            return self
        weight = 1 / np.maximum(curvature + noise, _LEAST) ** 2
        found = weight @ (np.mean(gaps**2, axis=1) - curvature - noise) / max(weight @ curvature**2, _LEAST)
        return NoiseRidge(spread=float(np.sqrt(np.clip(found, 0.05**2, 2.0**2))))

    def strengths(self, curvature: Floats, noise: Floats, /) -> Floats:
        """Return (1 + v/a)/spread^2 for each cell."""
        # an empty cell has no curvature: it is held at 0 all the more
        return np.asarray((1 + noise / np.maximum(curvature, _LEAST)) / (self.spread or 1.0) ** 2)
