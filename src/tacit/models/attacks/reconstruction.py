"""Training points from a network's weights in any dimension, and how near to the true ones they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from tacit.leak import FixedThreshold, Leak, leak_from_scores
from tacit.models.margin.labels import check_points
from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra
from tacit.privacy.rounding import check_count

__all__ = ["PointSimilarity", "ReconstructedPoints", "measure_similarity", "reconstruct_points"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReconstructedPoints:
    """Points, labels and multipliers under which the network is nearly stationary, the best of several starts.

    A small residual does not make them the training points: other sets, far from them, can satisfy the same equations
    (arXiv 2509.21296; docs/models_margin.md shows one). Starts that end with like residuals at unlike points
    are a sign of that: see ``spread``.

    Parameters
    ----------
    residual
        |theta - sum_i l_i y_i grad Phi(x_i)|/|theta|, the ReLU's derivative relaxed.
    residuals
        Of every start.
    margin_error
        Root mean square of y Phi(x)/m - 1, weighted by the multipliers.
    spread
        Mean distance from the points of this start to the nearest ones of the other starts, weighted by the
        multipliers, in norms of a point: near 0 where the starts agree, NaN for one start.
    """

    points: Floats
    labels: Floats
    multipliers: Floats
    residual: float
    margin_error: float
    residuals: Floats
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointSimilarity:
    """How near a reconstruction comes to training points, and to fresh points: the baseline of chance.

    Distances are from each point to the nearest reconstructed one, in norms of the point; cosines are the largest.
    """

    distances: Floats
    cosines: Floats
    fresh_distances: Floats
    fresh_cosines: Floats

    def leak(self, *, close: float = 0.5, level: float = 0.95) -> Leak:
        """Measure how much more often training points than fresh ones have a reconstructed point within ``close``.

        Points of one network are not independent runs: no epsilon is proved.
        """
        if not close > 0:
            raise InvalidInput(f"must be > 0, in norms of a point, got {close}", field="close")
        cut = FixedThreshold(-close)
        leak = leak_from_scores(-self.distances, -self.fresh_distances, threshold=cut, level=level)
        return replace(leak, bound=None).of_this_release()


def reconstruct_points(
    network: TwoLayerReLU,
    *,
    points: int,
    rng: np.random.Generator,
    scale: float = 1.0,
    radius: float | None = None,
    margin_weight: float = 0.1,
    starts: int = 4,
    steps: int = 2000,
    report: Callable[[int], None] | None = None,
) -> ReconstructedPoints:
    """Search for training points by making the network stationary in points and multipliers.

    Minimizes |theta - sum_i l_i y_i grad Phi(x_i)|^2/|theta|^2, as Haim et al. do, the ReLU's derivative relaxed to a
    sigmoid that sharpens; l = t^2 keeps multipliers non-negative. Beyond them, training points with a multiplier lie
    at the margin m = |theta|^2/(2 sum l), which the weights alone determine: ``margin_weight`` weighs that.

    Parameters
    ----------
    points
        How many points to look for with each label; more than there are does little harm.
    scale
        Typical size of a coordinate: 1 for standardized features.
    radius
        The norm of every point where it is known: a prior.
    starts, steps
        Random starts, run side by side, and steps of each; ``report`` is called with the number of each step.

    References
    ----------
    Haim et al. (2022), Section 4 and Appendix; arXiv 2509.21296 on sets that satisfy the same equations; paper 004,
    Equations (2) to (5).
    """
    for name, value in (("points", points), ("starts", starts), ("steps", steps)):
        check_count(value, name=name)
    _check_search(network, scale=scale, radius=radius, margin_weight=margin_weight)
    load_extra("torch")
    from tacit.models.attacks.stationary_search import StationarySearch

    signs = np.repeat([1.0, -1.0], points)
    search = StationarySearch(network, signs, scale=scale, radius=radius, margin_weight=margin_weight)
    found = search.run(starts=starts, steps=steps, rng=rng, report=report)
    best = int(np.argmin(found.residuals**2 + margin_weight * found.margin_errors**2))
    order = np.argsort(-found.multipliers[best])
    return ReconstructedPoints(
        points=found.points[best][order],
        labels=signs[order],
        multipliers=found.multipliers[best][order],
        residual=float(found.residuals[best]),
        margin_error=float(found.margin_errors[best]),
        residuals=found.residuals,
        spread=_spread(found.points, found.multipliers[best], best),
    )


def measure_similarity(found: ArrayLike, training: ArrayLike, *, fresh: ArrayLike) -> PointSimilarity:
    """Compare reconstructed points with training points, and with fresh points that nobody trained on."""
    candidates, inside, outside = (check_points(rows) for rows in (found, training, fresh))
    widths = {rows.shape[1] for rows in (candidates, inside, outside)}
    if len(widths) > 1:
        raise InvalidInput(f"found, training and fresh must have the same columns, got {sorted(widths)}")
    distances, cosines = _nearest(inside, candidates)
    fresh_distances, fresh_cosines = _nearest(outside, candidates)
    return PointSimilarity(
        distances=distances, cosines=cosines, fresh_distances=fresh_distances, fresh_cosines=fresh_cosines
    )


def _check_search(network: TwoLayerReLU, *, scale: float, radius: float | None, margin_weight: float) -> None:
    for name, size in (("scale", scale), ("radius", radius)):
        if size is not None and not 0 < size < np.inf:
            raise InvalidInput(f"{name} must be > 0 and finite, got {size}")
    if not margin_weight >= 0:
        raise InvalidInput(f"must be >= 0, got {margin_weight}", field="margin_weight")
    if network.squared_norm == 0:
        raise InvalidInput("the network is zero: its weights reveal nothing")


def _nearest(points: Floats, candidates: Floats) -> tuple[Floats, Floats]:
    sizes, others = np.linalg.norm(points, axis=1), np.linalg.norm(candidates, axis=1)
    products = points @ candidates.T
    squares = np.maximum(sizes[:, None] ** 2 + others**2 - 2 * products, 0)
    tiny = np.finfo(np.float64).tiny
    sizes = np.maximum(sizes, tiny)
    return np.sqrt(squares.min(axis=1)) / sizes, (products / np.maximum(others, tiny)).max(axis=1) / sizes


def _spread(points: Floats, multipliers: Floats, best: int) -> float:
    if len(points) < 2:
        return float("nan")
    away = [_nearest(points[best], other)[0] for k, other in enumerate(points) if k != best]
    return float(np.average(np.mean(away, axis=0), weights=multipliers))
