"""Noise for totals: epsilon split over everything that one unit moves, and what the whole release then guarantees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any, ClassVar

from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.loss import ComposedLoss, PrivacyLoss
from tacit.privacy.noise import DiscreteGaussian, DiscreteLaplace, gaussian_scale, zcdp_epsilon, zcdp_rho
from tacit.privacy.rounding import check_delta, check_epsilon, exact

__all__ = [
    "CalibratedNoise",
    "GaussianTotalsNoise",
    "LaplaceTotalsNoise",
    "TotalsNoise",
    "TotalsQuery",
    "has_laplace_law",
    "noise_of_budget",
]

Sampler = DiscreteLaplace | DiscreteGaussian

_CLOSE = 1e-4  # relative width at which the search for a Gaussian scale ends


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsQuery:
    """How far one unit moves a vector of integers: by how many steps which entries, in the worst cases.

    Parameters
    ----------
    moves
        One tuple a worst case: the most steps that each moved entry moves by. All other changes of one unit move
        some entries of one of these cases by less.
    share
        Which part of the budget the vector gets; the shares of a release add up to 1.
    """

    moves: tuple[tuple[int, ...], ...]
    share: Fraction = Fraction(1)

    @property
    def l1(self) -> int:
        """The sensitivity in the sum of absolute differences."""
        return max(sum(case) for case in self.moves)

    @property
    def squared_l2(self) -> int:
        """The square of the sensitivity in Euclidean length."""
        return max(sum(move * move for move in case) for case in self.moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedNoise:
    """One sampler per query, what they guarantee together, and the loss of moves that cover every worst case."""

    samplers: tuple[Sampler, ...]
    guarantee: Guarantee
    cover: PrivacyLoss

    def for_person(self, rows: int) -> Guarantee:
        """Return the guarantee for so many units of one person, from a loss wherever there is a delta."""
        one = self.guarantee
        if rows > 1 and one.delta and one.loss is None:
            one = replace(one, loss=self.cover, epsilon=max(one.epsilon, self.cover.epsilon_at(one.delta)))
        return one.for_group(rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceTotalsNoise:
    """Discrete Laplace noise of pure epsilon: scale L1/(share epsilon) steps on every entry of a query.

    A unit moves the q-th query by at most L1_q, so the log ratio of the probabilities of any output is at most
    sum_q L1_q / scale_q = sum_q share_q epsilon = epsilon.

    Parameters
    ----------
    epsilon
        For the whole release.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2012). Proof: docs/proofs/bags.md.

    Examples
    --------
    >>> third = TotalsQuery(moves=((1, 1),), share=Fraction(1, 3))
    >>> [s.scale for s in LaplaceTotalsNoise(epsilon=1.0).calibrate([third] * 3, unit=Unit.LABEL).samplers]
    [Fraction(6, 1), Fraction(6, 1), Fraction(6, 1)]
    """

    name: ClassVar[str] = "discrete_laplace"

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))

    def calibrate(self, queries: Sequence[TotalsQuery], *, unit: Unit) -> CalibratedNoise:
        """Return the noise of each query, and the guarantee for all of them."""
        budget = exact(self.epsilon)
        made = tuple(DiscreteLaplace(scale=query.l1 / (query.share * budget)) for query in queries)
        cover = _cover(made, queries)
        loss = cover if cover.pure_epsilon <= self.epsilon else None  # thirds of 1, each rounded up, exceed 1
        guarantee = Guarantee(unit=unit, epsilon=self.epsilon, loss=loss)
        return CalibratedNoise(samplers=made, guarantee=guarantee, cover=cover)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianTotalsNoise:
    """Discrete Gaussian noise of (epsilon, delta): scale s L2/sqrt(share) steps, with the least s that will do.

    Where every change of a unit is a part of one worst case, s is found on the composed privacy loss distribution;
    else (unit record) by zero-concentrated privacy, which needs about a tenth more noise.

    Parameters
    ----------
    epsilon, delta
        For the whole release; a delta of 1/rows or more is rejected where the rows are known.

    References
    ----------
    Canonne, Kamath and Steinke (2020); Balle and Wang (2018) for the start of the search. Proof: docs/proofs/bags.md.
    """

    name: ClassVar[str] = "discrete_gaussian"

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta, zero=False))

    def calibrate(self, queries: Sequence[TotalsQuery], *, unit: Unit) -> CalibratedNoise:
        """Return the noise of each query, and the guarantee for all of them."""
        if all(len(query.moves) == 1 for query in queries):
            return self._by_distribution(queries, unit)
        return self._by_concentration(queries, unit)

    def _by_distribution(self, queries: Sequence[TotalsQuery], unit: Unit) -> CalibratedNoise:
        lower = gaussian_scale(self.epsilon, delta=self.delta)

        def price(s: float) -> float:
            return _cover(_gaussians(queries, s), queries).epsilon_at(self.delta)

        upper = lower
        while price(upper) > self.epsilon:
            lower, upper = upper, upper * 1.01
        while upper - lower > _CLOSE * upper:
            middle = (lower + upper) / 2
            lower, upper = (middle, upper) if price(middle) > self.epsilon else (lower, middle)
        made = _gaussians(queries, upper)
        loss = _cover(made, queries)
        guarantee = Guarantee(unit=unit, epsilon=self.epsilon, delta=self.delta, loss=loss)
        return CalibratedNoise(samplers=made, guarantee=guarantee, cover=loss)

    def _by_concentration(self, queries: Sequence[TotalsQuery], unit: Unit) -> CalibratedNoise:
        rho = exact(zcdp_rho(self.epsilon, delta=self.delta))
        made = _gaussians(queries, math.nextafter(1 / math.sqrt(2 * float(rho)), math.inf) * (1 + 1e-12))
        spent = sum((m.rho(squared_sensitivity=q.squared_l2) for m, q in zip(made, queries, strict=True)), Fraction(0))
        epsilon = max(self.epsilon, zcdp_epsilon(spent, delta=self.delta))
        guarantee = Guarantee(unit=unit, epsilon=epsilon, delta=self.delta)
        return CalibratedNoise(samplers=made, guarantee=guarantee, cover=_cover(made, queries))


TotalsNoise = LaplaceTotalsNoise | GaussianTotalsNoise
"""Discrete noise for totals, with its budget."""


def noise_of_budget(epsilon: float, *, delta: float) -> TotalsNoise:
    """Return Gaussian noise where the budget has a delta, else Laplace noise."""
    return GaussianTotalsNoise(epsilon=epsilon, delta=delta) if delta else LaplaceTotalsNoise(epsilon=epsilon)


def has_laplace_law(described: Mapping[str, Any]) -> bool:
    """Return whether totals that were released so are off by Laplace noise; made consistent, they are off by sums."""
    return bool(described["name"] == LaplaceTotalsNoise.name and not described.get("consistent"))


def _gaussians(queries: Sequence[TotalsQuery], s: float) -> tuple[DiscreteGaussian, ...]:
    return tuple(DiscreteGaussian(scale=Fraction(s * math.sqrt(q.squared_l2 / q.share))) for q in queries)


def _cover(made: Sequence[Sampler], queries: Sequence[TotalsQuery]) -> PrivacyLoss:
    """The composed loss of all moved entries: of the worst case, or of the largest move of every case at each entry."""
    parts = tuple(
        sampler.loss(sensitivity=max(moves))
        for sampler, query in zip(made, queries, strict=True)
        for moves in zip_longest(*query.moves, fillvalue=0)
        if any(moves)
    )
    return parts[0] if len(parts) == 1 else ComposedLoss(parts=parts)
