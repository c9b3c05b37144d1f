"""Training points from a network of one feature, each with its multiplier and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak import Leak, clopper_pearson, difference_interval
from tacit.models.attacks.univariate.candidates import CandidatePoints, build_candidates
from tacit.models.attacks.univariate.function import find_margin, merge_neurons, to_piecewise_linear
from tacit.models.attacks.univariate.level import find_levels
from tacit.models.attacks.univariate.stationarity import explain_weights
from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["UnivariateReconstruction", "reconstruct_univariate", "reconstruction_leak"]

_LIMIT = 1e-5  # the largest relative stationarity residual at which a result is trusted
_WITHIN = 1e-6  # relative: a point this near a training point is one
_NEEDED = 0.5  # without the point, the residual at least doubles
_FLOOR = 1e-9  # residuals below are rounding
_KINK = 1e-5  # a free derivative explains much: where a result may be trusted, only at the breakpoint itself
_TOLERANCES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
_FEW = 40
_COARSE = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # for trained networks, whose neurons have not quite met


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnivariateReconstruction:
    """What the weights of a network reveal about its training points, and when to believe it.

    Parameters
    ----------
    candidates
        The set of Algorithm 1: a quarter of it are training points.
    points, labels, multipliers, confidence
        The points on the margin that the weights ask for, with the label, l of the KKT conditions, and
        1 - (residual / residual of the best explanation without this point): 1 if no set of points on the margin
        without it satisfies the KKT conditions, near 0 if another does as well.
    other_margins
        If m was not given: further levels at which other points explain the weights as well.
    ties
        Further points on the margin that the weights do not ask for.
    flats
        Intervals on which the network is constant on the margin: any points in it with the same total of l and of l x
        satisfy the same conditions, so none inside it can be told.
    tolerance
        What counted as equal; above 1e-4 nothing is trusted, for off the margin other points fit.
    """

    candidates: CandidatePoints
    points: Floats
    labels: NDArray[np.int64]
    multipliers: Floats
    confidence: Floats
    margin: float
    other_margins: Floats
    residual: float
    ties: int
    flats: Floats
    tolerance: float

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the points may not be the training points, each in a sentence; empty if there is no reason."""
        found = []
        if self.residual > _LIMIT:
            found.append(f"the residual is above {_LIMIT:g}, so the network is not near a KKT point of these points")
        if self.tolerance > _TOLERANCES[-1]:
            found.append(f"points as far as {self.tolerance:g} from the margin were taken to be on it")
        if len(self.other_margins):
            found.append(
                f"other points at {len(self.other_margins)} other margin(s) explain the weights too: give the margin"
            )
        if len(self.flats):
            found.append(
                f"the network is constant on the margin in {len(self.flats)} interval(s), where other points fit"
            )
        if len(self.confidence) and self.confidence.min() < 0.99:
            found.append("some points could be left out at little cost")
        return tuple(found)

    @property
    def trusted(self) -> bool:
        """Whether points were found and nothing speaks against them."""
        return bool(len(self.points)) and not self.doubts

    def to_json(self) -> dict[str, Any]:
        """Return the reconstruction as plain JSON."""
        return {
            "points": self.points.tolist(),
            "labels": self.labels.tolist(),
            "multipliers": self.multipliers.tolist(),
            "confidence": self.confidence.tolist(),
            "margin": self.margin,
            "other_margins": self.other_margins.tolist(),
            "residual": self.residual,
            "ties": self.ties,
            "flats": [[float(end) if np.isfinite(end) else None for end in flat] for flat in self.flats],
            "candidates": self.candidates.points.tolist(),
            "three_breakpoints": self.candidates.enough,
            "trusted": self.trusted,
            "doubts": list(self.doubts),
        }

    def __str__(self) -> str:
        verdict = "Trusted: each is needed to explain the weights" if self.trusted else "Not to be trusted: "
        if not self.trusted:
            verdict += "; ".join(self.doubts) if self.doubts else "there is nothing on the margin"
        few = "" if self.candidates.enough else " Fewer than three breakpoints: Theorem 3.4 says nothing."
        return (
            f"{len(self.points)} training points found at margin {self.margin:.6g} (stationarity residual "
            f"{self.residual:.2g}, {self.ties} further points on the margin). {verdict}. Points off the margin leave "
            f"no trace in the weights.{few}"
        )


def reconstruct_univariate(network: TwoLayerReLU, *, margin: float | None = None) -> UnivariateReconstruction:
    """Reconstruct the training points on the margin from the weights of a network of one feature.

    All points with |Phi(x)| = m are candidates; sparse non-negative least squares on
    theta = sum_i l_i y_i grad Phi(x_i) shows which of them the weights require. A point is reported if the residual
    without it is at least twice as large.

    What counts as equal (directions of neurons, breakpoints, values on the margin, each relative) is settled by trial:
    the least of 1e-8, ..., 3e-2 that leaves 40 neurons if the margin is not given; else of 1e-8, ..., 1e-4 the one
    whose result is trusted and has the fewest points, else of all, up to 3e-2, the one of least residual.

    Parameters
    ----------
    margin
        m; without it, the level whose points explain the weights best is taken.

    References
    ----------
    Paper 004, Theorems 3.1 to 3.4 and Assumption 2.1; that far-off sets may satisfy the same conditions:
    arXiv 2509.21296.
    """
    if margin is None:
        return _reconstruct(network, margin=None, tolerance=_least_tolerance(network))
    tried = [_reconstruct(network, margin=margin, tolerance=each) for each in _TOLERANCES]
    trusted = [found for found in tried if found.trusted]
    if trusted:
        return min(trusted, key=lambda found: len(found.points))
    tried += [_reconstruct(network, margin=margin, tolerance=each) for each in _COARSE]
    return min(tried, key=lambda found: (not len(found.points), found.residual))


def _least_tolerance(network: TwoLayerReLU) -> float:
    """Return the least tolerance that leaves few enough neurons to search for a margin."""
    few = (each for each in _TOLERANCES + _COARSE if merge_neurons(network, tolerance=each).width <= _FEW)
    return next(few, _COARSE[-1])


def _reconstruct(network: TwoLayerReLU, *, margin: float | None, tolerance: float) -> UnivariateReconstruction:
    merged = merge_neurons(network, tolerance=tolerance)
    function = to_piecewise_linear(merged, tolerance=tolerance)
    levels = find_levels(merged, function, tolerance=tolerance) if margin is None else np.array([float(margin)])
    level = float(levels[0])
    on = find_margin(function, margin=level, tolerance=tolerance)
    every = explain_weights(merged, on.points, on.labels, kink=tolerance)
    needed = 1 - (every.residual + _FLOOR) / (every.without + _FLOOR) >= _NEEDED
    points, labels = on.points[needed], on.labels[needed]
    # merging leaves fewer equations: what counts is how well all neurons are explained
    fine = merge_neurons(network, tolerance=min(tolerance, _TOLERANCES[0]))
    kink = tolerance if tolerance > _TOLERANCES[-1] else min(tolerance, _KINK)
    last = explain_weights(fine, points, labels, kink=kink)
    return UnivariateReconstruction(
        candidates=build_candidates(function, margin=level, tolerance=tolerance),
        points=points,
        labels=labels,
        multipliers=last.multipliers,
        confidence=1 - np.minimum((last.residual + _FLOOR) / (every.without[needed] + _FLOOR), 1.0),
        margin=level,
        other_margins=levels[1:],
        residual=last.residual,
        ties=int((~needed).sum()),
        flats=on.flats,
        tolerance=tolerance,
    )


def reconstruction_leak(
    found: UnivariateReconstruction,
    x: ArrayLike,
    y: ArrayLike,
    *,
    fresh: ArrayLike,
    level: float = 0.95,
) -> Leak:
    """Measure a reconstruction against the truth: how many of its points are training points, label included.

    A point counts if a training point of its label is at most 1e-6 (1 + |x|) away. A guesser without the network
    names ``fresh`` points of the same distribution.
    """
    if not len(found.points):
        raise InvalidInput("must have a point, got none: there is no rate of right points", field="found")
    points, labels, others = (np.asarray(values, dtype=np.float64).ravel() for values in (x, y, fresh))
    if points.shape != labels.shape or not len(others):
        raise InvalidInput("x and y must have one length, and fresh at least one point")
    near = np.abs(found.points[:, None] - points) <= _WITHIN * (1 + np.abs(points))
    right = np.any(near & (found.labels[:, None] == labels), axis=1)
    lucky = np.any(np.abs(others[:, None] - points) <= _WITHIN * (1 + np.abs(points)), axis=1)
    counts, chance = (int(right.sum()), len(found.points)), (int(lucky.sum()), len(others))
    return Leak(
        right=counts[0],
        trials=counts[1],
        baseline=chance[0] / chance[1],
        baseline_right=chance[0],
        baseline_trials=chance[1],
        interval=clopper_pearson(*counts, level=level),
        advantage_interval=difference_interval(counts, chance, level=level),
        method="Clopper-Pearson; the advantage with half of the error for each of the two rates",
        rate_of="reconstructed points are training points",
        baseline_of="of fresh points",
    )
