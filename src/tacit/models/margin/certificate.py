"""How near a network is to a KKT point of the margin problem, with the multipliers that show it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.margin.labels import check_points, signs_of
from tacit.models.margin.stationarity import solve, stationarity_of
from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["KktCertificate", "kkt"]

_ZERO = 1e-6  # a multiplier below this share of the largest is no support


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KktCertificate:
    """How far a network is from a KKT point of min |theta|^2/2 subject to y_i Phi(x_i) >= m.

    Nothing here changes when the network is rescaled, but the margins.

    Parameters
    ----------
    residual
        |theta - sum_i l_i y_i g_i| / |theta|, least over multipliers l >= 0 and Clarke subgradients g_i.
    multipliers
        The l_i that attain it.
    kinks
        How many pairs of a point and a neuron have |w_j . x_i + b_j| within the tolerance: their derivative is free.
    tolerance
        Of kinks, relative to |(w_j, b_j)| |(x_i, 1)|.
    """

    residual: float
    multipliers: Floats
    margins: Floats
    kinks: int
    tolerance: float

    @property
    def margin(self) -> float:
        """m, the least margin of all points."""
        return float(self.margins.min())

    @property
    def feasible(self) -> bool:
        """Whether every point is on its own side: then the network rescaled to margin 1 is feasible."""
        return self.margin > 0

    @property
    def support(self) -> NDArray[np.bool_]:
        """Which points have a multiplier."""
        return np.asarray(self.multipliers > _ZERO * self.multipliers.max(initial=0.0))

    @property
    def least_margin(self) -> float:
        """The least margin of the support; NaN where there is none."""
        return float(self.margins[self.support].min()) if self.support.any() else float("nan")

    @property
    def largest_margin(self) -> float:
        """The largest margin of the support: at a KKT point it equals the least margin of all points."""
        return float(self.margins[self.support].max()) if self.support.any() else float("nan")

    @property
    def slackness(self) -> float:
        """sum_i l_i (y_i Phi(x_i) - m) / (m sum_i l_i): 0 at a KKT point, infinite if m <= 0."""
        total = self.multipliers.sum()
        if not self.feasible or total <= 0:
            return float("inf")
        return float(self.multipliers @ (self.margins / self.margin - 1) / total)

    def __str__(self) -> str:
        return (
            f"stationarity residual {self.residual:.2g}, margins of {int(self.support.sum())} support points "
            f"{self.least_margin:.6g} to {self.largest_margin:.6g}, least of all {self.margin:.6g}, "
            f"slackness {self.slackness:.2g}, {self.kinks} kinks"
        )


def kkt(
    network: TwoLayerReLU, X: ArrayLike, y: ArrayLike, *, tolerance: float = 1e-7, slack: float | None = None
) -> KktCertificate:
    """Return how near the network is to a KKT point of the margin problem on these points.

    The multipliers minimize |theta - sum_i l_i y_i g_i| over l >= 0. Where a point lies on a neuron's kink the
    derivative s_ij is any number in [0, 1] (Clarke), the same for weight and bias: z_ij = l_i s_ij with
    0 <= z_ij <= l_i makes the problem convex, and it is solved jointly. Without kinks it is non-negative least squares.
    Without ``slack`` multipliers are not forced to 0 off the margin: the slackness says how far they are 0 there. Where
    there are more points than parameters the multipliers of least residual are many, and some lie off the margin of a
    network that is at a KKT point: ``slack`` asks for those that also satisfy complementary slackness.

    Parameters
    ----------
    X, y
        The points it was trained on, and their labels: any two values, the larger one is +1.
    tolerance
        |w_j . x_i + b_j| <= tolerance |(w_j, b_j)| |(x_i, 1)| is a kink. A network trained by gradients comes near its
        kinks slowly: report it with the larger tolerance that was used.
    slack
        Only points of margin within ``slack`` times the least margin above it may have a multiplier; None: all may.

    References
    ----------
    Paper 004, Equations (2) to (5); Lyu and Li (2020), Definition 4.2; Clarke (1975).
    """
    rows = check_points(X)
    signs = signs_of(y, rows=len(rows))
    if not 0 <= tolerance < 1:
        raise InvalidInput(f"must be at least 0 and below 1, got {tolerance}", field="tolerance")
    if slack is not None and not 0 <= slack < np.inf:
        raise InvalidInput(f"must be at least 0, in margins, got {slack}", field="slack")
    if network.squared_norm == 0:
        raise InvalidInput("the network is zero: it has no direction to certify")
    margins = signs * network(rows)
    least = margins.min()
    near = np.flatnonzero(margins <= (np.inf if slack is None else least + slack * abs(least)))
    problem = stationarity_of(network, rows[near], signs[near], tolerance=tolerance)
    unknowns = solve(problem)
    multipliers = np.zeros(len(rows))
    multipliers[near] = unknowns[: len(near)]
    return KktCertificate(
        residual=problem.residual(unknowns),
        multipliers=multipliers,
        margins=margins,
        kinks=len(problem.kink_points),
        tolerance=tolerance,
    )
