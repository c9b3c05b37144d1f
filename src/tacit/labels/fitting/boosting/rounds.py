"""How large trees may be, and how many: as held-out released labels choose, at no cost of privacy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.trees import BoostingLibrary, TreeJudge
from tacit.labels.fitting.likelihood import NoSignalWarning

__all__ = ["BoostedRows", "GrownTrees", "grow_trees"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_PARTS = 5
_SURE = 100.0  # log-likelihood gained on held-out rows, from which the other parts need not judge too,
_ENOUGH = 10_000  # if the rows are so many
_MANY = 40_000  # rows above which sizes are compared on a part, and the trees that were judged are kept
_COMPARED = 30_000
_CHANCE = 3.0  # log-likelihood that features without information may gain on held-out rows
_SHARES = np.linspace(0, 1, 11)  # of the smaller trees, in the mean of two sizes
_SCALES = np.array([0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0, 2.5, 3.2])  # of the scores
_LOG_SPREAD = 0.2  # of the scale about 1, before any label: the held-out labels have chosen the rounds too
_LEAST_SHARE = 0.1  # that is worth its trees
_PATIENCE, _PATH = 15, 3.0  # rounds without gain: so many, or so that rounds times rate are this much


@dataclass(frozen=True, slots=True, eq=False)
class BoostedRows:
    """Features, and the likelihood of what was released about each row."""

    X: Any
    objective: ReleasedObjective

    def take(self, rows: Rows) -> BoostedRows:
        """Return some rows."""
        return BoostedRows(_safe_indexing(self.X, rows), self.objective.take(rows))


@dataclass(frozen=True, slots=True)
class GrownTrees:
    """Trees of one size or two, and the weight of each one's scores."""

    library: BoostingLibrary
    fits: tuple[tuple[float, Any], ...]

    def scores(self, X: Any) -> Array:  # noqa: ANN401
        """Return the scores of rows."""
        return np.asarray(sum(share * self.library.scores(fitted, X) for share, fitted in self.fits))


def grow_trees(
    library: BoostingLibrary,
    estimator: Any,  # noqa: ANN401
    rows: BoostedRows,
    *,
    judge: BoostedRows | None = None,
    options: Mapping[str, Any],
    rng: np.random.Generator,
) -> GrownTrees:
    """Return the library's fitted trees, of the size and number under which held-out released labels are likeliest.

    Two sizes are tried: the estimator's own, and four leaves, which under much noise are better. What is kept is their
    mean with the share of each under which held-out labels are likeliest (stacking), or one where the other has little,
    scaled as these labels say: trees that end early are not sure enough, trees of too few labels are too sure.
    ``judge`` are rows to choose by instead.

    References
    ----------
    Wolpert (1992), Stacked Generalization.
    """
    model = library.prepared(estimator, rows.objective)
    few = library.with_few_leaves(model)
    sizes = [model] if few is None else [few, model]
    trial, order = _SizeTrial(library, options), rng.permutation(rows.objective.rows)
    if len(order) < 2 * _PARTS:
        grown = library.grow(model, rows.X, rows.objective, rounds=library.rounds(model), held=None, options=options)
        return GrownTrees(library, ((1.0, grown),))
    if judge is None and len(order) > _MANY:
        mixed = trial.mixed(sizes, rows.take(order[:_COMPARED]), None, rng.permutation(_COMPARED))
        sizes = [judged.model for _, judged in mixed]
        held, kept = np.split(order, [len(order) // 10])
        parts = rows.take(np.sort(kept)), rows.take(held)
        ran = [trial.run(size, iter([parts])) for size in sizes]
        if max(judged.gain for judged in ran) >= _SURE:
            return GrownTrees(library, tuple((share, judged.last) for share, judged in _mixed(ran)))
    mixed = trial.mixed(sizes, rows, judge, order)
    max((judged for _, judged in mixed), key=lambda judged: judged.gain).warn_without_signal()
    return GrownTrees(library, tuple((share, trial.grow(judged, rows)) for share, judged in mixed))


def _parts(rows: BoostedRows, judge: BoostedRows | None, order: Rows) -> Iterator[tuple[BoostedRows, BoostedRows]]:
    """Yield rows to grow on and rows to judge by."""
    if judge is not None:
        yield rows, judge
        return
    parts = np.array_split(order, _PARTS)
    for number in range(_PARTS):
        kept = np.sort(np.concatenate(parts[:number] + parts[number + 1 :]))
        yield rows.take(kept), rows.take(parts[number])


@dataclass(frozen=True, slots=True)
class _JudgedTrees:
    """Trees of one size, and the loss of held-out rows after each round."""

    model: Any
    losses: Array
    held: Sequence[TreeJudge]
    last: Any
    least_rounds: int

    @property
    def rounds(self) -> int:
        """The best number of rounds; fewer than those that take one whole step would be chance."""
        return max(self.least_rounds, int(np.argmin(self.losses)))

    @property
    def gain(self) -> float:
        """The log-likelihood of the held-out labels above that of the shares alone."""
        return float(self.losses[0] - self.losses.min())

    def loss_beside(self, other: _JudgedTrees, share: float) -> float:
        """The loss of the held-out rows when these trees have this share of the scores."""
        both = zip(self.held, other.held, strict=True)
        return sum(one.objective.loss(share * one.best_scores + (1 - share) * two.best_scores) for one, two in both)

    def warn_without_signal(self) -> None:
        if self.gain < _CHANCE:
            warnings.warn(
                "the released labels do not show that the features say anything about the label; more rows or a larger "
                "epsilon may help",
                NoSignalWarning,
                stacklevel=6,
            )


@dataclass(frozen=True, slots=True)
class _SizeTrial:
    library: BoostingLibrary
    options: Mapping[str, Any]

    def mixed(
        self, sizes: list[Any], rows: BoostedRows, judge: BoostedRows | None, order: Rows
    ) -> list[tuple[float, _JudgedTrees]]:
        """Return sizes with their shares, judged by the same rows; by more where the first gains little."""
        ran = [self.run(size, _parts(rows, judge, order)) for size in sizes[:1]]
        ran += [self.run(size, islice(_parts(rows, judge, order), len(ran[0].held))) for size in sizes[1:]]
        return _mixed(ran)

    def grow(self, judged: _JudgedTrees, rows: BoostedRows) -> Any:  # noqa: ANN401
        """Grow the trees of one size on all rows."""
        X, objective = rows.X, rows.objective
        return self.library.grow(judged.model, X, objective, rounds=judged.rounds, held=None, options=self.options)

    def run(self, model: Any, parts: Iterator[tuple[BoostedRows, BoostedRows]]) -> _JudgedTrees:  # noqa: ANN401
        """Grow trees on each part until they gain enough; of those that ended early the last loss counts."""
        total, last, held = np.zeros(1), None, []
        rounds, rate = self.library.rounds(model), self.library.rate(model)
        patience, least = max(_PATIENCE, round(_PATH / rate)), min(rounds, max(1, round(1 / rate)))
        for kept, judges in parts:
            held.append(TreeJudge(judges.X, judges.objective, patience))
            last = self.library.grow(model, kept.X, kept.objective, rounds=rounds, held=held[-1], options=self.options)
            total = _add(total, np.array(held[-1].losses))
            sure = total[0] - total.min() >= _SURE and kept.objective.rows + judges.objective.rows >= _ENOUGH
            if sure or self.library.costly:
                break
        return _JudgedTrees(model, total, held, last, least)


def _mixed(ran: list[_JudgedTrees]) -> list[tuple[float, _JudgedTrees]]:
    """The sizes with the weight of each one's scores, a mean of what makes the held-out labels likely."""
    shares = _shares(ran)
    parts = [sum(share * judged.held[n].best_scores for share, judged in shares) for n in range(len(ran[0].held))]
    held = [(judge.objective, part) for judge, part in zip(ran[0].held, parts, strict=True)]
    losses = [sum(objective.loss(scale * part) for objective, part in held) for scale in _SCALES]
    scale = float(softmax(-np.array(losses) - np.log(_SCALES) ** 2 / (2 * _LOG_SPREAD**2)) @ _SCALES)
    return [(scale * share, judged) for share, judged in shares]


def _shares(ran: list[_JudgedTrees]) -> list[tuple[float, _JudgedTrees]]:
    """The sizes with their shares: the mean of all shares, each counted by how likely it makes the held-out labels."""
    if len(ran) == 1:
        return [(1.0, ran[0])]
    few, own = ran
    losses = [few.loss_beside(own, share) for share in _SHARES]
    share = float(softmax(-np.array(losses)) @ _SHARES)
    if share < _LEAST_SHARE:
        return [(1.0, own)]
    return [(1.0, few)] if share > 1 - _LEAST_SHARE else [(share, few), (1 - share, own)]


def _add(total: Array, losses: Array) -> Array:
    longest = max(len(total), len(losses))
    first, second = (np.append(one, np.full(longest - len(one), one[-1])) for one in (total, losses))
    return np.asarray(first + second)
