"""Stop training before the margins tie: it takes the plainest sign of membership away, and guarantees nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["StoppedEarly", "TieRule", "margin_snapshots", "stop_before_ties"]

Model = TypeVar("Model", bound=Callable[[NDArray[np.float64]], ArrayLike])


@dataclass(frozen=True, slots=True, kw_only=True)
class TieRule:
    """Margins tie when more than ``share`` of the points are within a factor 1 + ``within`` of the least.

    At a KKT point every support point has the least margin exactly, which is what membership attacks look for.

    References
    ----------
    Paper 004, Theorem 2.1 (training ends at such a point) and Corollaries 4.3 to 4.5 (what that reveals).
    """

    within: float = 0.1
    share: float = 0.25

    def __post_init__(self) -> None:
        if not (math.isfinite(self.within) and self.within > 0):
            raise InvalidInput(f"must be > 0, got {self.within!r}", field="within")
        if not 0 < self.share < 1:
            raise InvalidInput(f"must be in (0, 1), got {self.share!r}", field="share")

    def tied(self, margins: ArrayLike) -> float:
        """Return the share of points near the least margin; 0 while a point is on the wrong side."""
        values = np.asarray(margins, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise InvalidInput(f"must be one finite number per point, got shape {values.shape}", field="margins")
        least = values.min()
        return float((values <= (1 + self.within) * least).mean()) if least > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoppedEarly(Generic[Model]):
    """The last model whose margins did not tie, its place among the snapshots, and the share of points that are near.

    ``stopped`` says whether the next snapshot tied; else the snapshots ended.
    """

    model: Model
    place: int
    tied: float
    stopped: bool


def stop_before_ties(
    snapshots: Iterable[Model], X: ArrayLike, y: ArrayLike, *, rule: TieRule | None = None
) -> StoppedEarly[Model]:
    """Follow a training loop and return its last model whose margins do not tie yet.

    Unit: none. There is no guarantee, for any unit: the model still depends on every record without noise, and where
    it stops depends on them too. It weakens attacks at the margin; a loss threshold may see as much as before. Not
    protected: everything, measure it with :mod:`tacit.models.attacks`.

    Parameters
    ----------
    snapshots
        Models in the order of training, each a function from rows to one output per row; only two are held at a time,
        so a generator that trains as it is asked will do (:func:`margin_snapshots`).
    X, y
        The training points and their labels, -1 and +1.
    rule
        When margins tie; default: more than a quarter of the points within 10% of the least margin.

    Examples
    --------
    >>> X, y = np.array([[-3.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    >>> def network(power):  # outputs sign(x)|x|^power: they tie as the power falls
    ...     return lambda rows: np.sign(rows[:, 0]) * np.abs(rows[:, 0]) ** power
    >>> found = stop_before_ties(map(network, [1.0, 0.5, 0.1]), X, y, rule=TieRule(within=0.1, share=0.5))
    >>> found.place, found.tied, found.stopped
    (1, 0.5, True)
    """
    rule = rule or TieRule()
    rows, signs = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if signs.shape != (len(rows),) or not np.isin(signs, (-1.0, 1.0)).all():
        raise InvalidInput("must have -1 or +1 for each row of X", field="y")
    best: StoppedEarly[Model] | None = None
    for place, model in enumerate(snapshots):
        tied = rule.tied(signs * np.asarray(model(rows), dtype=np.float64).reshape(len(rows)))
        if tied > rule.share:
            if best is None:
                raise InvalidInput(
                    f"must begin before the margins tie, got {tied:.0%} tied in the first", field="snapshots"
                )
            return StoppedEarly(model=best.model, place=best.place, tied=best.tied, stopped=True)
        best = StoppedEarly(model=model, place=place, tied=tied, stopped=False)
    if best is None:
        raise InvalidInput("must have a model, got none", field="snapshots")
    return best


def margin_snapshots(
    X: ArrayLike,
    y: ArrayLike,
    *,
    width: int,
    rng: np.random.Generator,
    steps: int = 2000,
    every: int = 20,
    initial_scale: float = 1e-3,
) -> Iterator[TwoLayerReLU]:
    """Train a network as :func:`tacit.models.margin.fit.fit_margin` does, and yield it after each ``every`` steps.

    Momentum starts again at each snapshot, so the path is a little slower.
    """
    from tacit.models.margin.labels import check_points, signs_of
    from tacit.models.margin.train import initial_network, train

    rows = check_points(X)
    signs = signs_of(y, rows=len(rows))
    chunk, left = check_count(every, name="every"), check_count(steps, name="steps")
    network = initial_network(width=width, dimension=rows.shape[1], scale=initial_scale, rng=rng)
    while left > 0:
        network, _ = train(rows, signs, network, steps=min(chunk, left))
        left -= chunk
        yield network
