"""How large trees may be, and how many: as held-out released labels choose, at no cost of privacy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.likelihood import NoSignalWarning
from tacit.labels.learners.boosting.objective import ReleasedObjective
from tacit.labels.learners.boosting.trees import BoostingLibrary, TreeJudge

__all__ = ["BoostedRows", "grow_trees"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_PARTS = 5
_SURE = 100.0  # log-likelihood gained on held-out rows, from which the other parts need not judge too,
_ENOUGH = 10_000  # if the rows are so many
_MANY = 40_000  # rows above which sizes are compared on a part, and the trees that were judged are kept
_COMPARED = 30_000
_CHANCE = 3.0  # log-likelihood that features without information may gain on held-out rows
_PATIENCE, _PATH = 15, 3.0  # rounds without gain: so many, or so that rounds times rate are this much


@dataclass(frozen=True, slots=True, eq=False)
class BoostedRows:
    """Features, and the likelihood of what was released about each row."""

    X: Any
    objective: ReleasedObjective

    def take(self, rows: Rows) -> BoostedRows:
        """Return some rows."""
        return BoostedRows(_safe_indexing(self.X, rows), self.objective.take(rows))


def grow_trees(
    library: BoostingLibrary,
    estimator: Any,  # noqa: ANN401
    rows: BoostedRows,
    *,
    judge: BoostedRows | None = None,
    options: Mapping[str, Any],
    rng: np.random.Generator,
) -> Any:  # noqa: ANN401
    """Return the library's fitted trees, of the size and number under which held-out released labels are likeliest.

    Two sizes are tried: the estimator's own, and four leaves with more information in each, which is better under much
    noise and is kept unless the other one gains more than chance.
    ``judge`` are rows to choose by instead.
    """
    model = library.prepared(estimator, rows.objective)
    few = library.with_few_leaves(model, rows.objective)
    sizes = [model] if few is None else [few, model]
    trial, order = _SizeTrial(library, options), rng.permutation(rows.objective.rows)
    if len(order) < 2 * _PARTS:
        return library.grow(model, rows.X, rows.objective, rounds=library.rounds(model), held=None, options=options)
    if judge is None and len(order) > _MANY:
        best = trial.compare(sizes, rows.take(order[:_COMPARED]), None, rng.permutation(_COMPARED)).model
        held, kept = np.split(order, [len(order) // 10])
        judged = trial.run(best, iter([(rows.take(np.sort(kept)), rows.take(held))]))
        if judged.gain >= _SURE:
            return judged.last
        sizes = [best]
    judged = trial.compare(sizes, rows, judge, order)
    judged.warn_without_signal()
    return library.grow(judged.model, rows.X, rows.objective, rounds=judged.rounds, held=None, options=options)


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
    last: Any
    parts: int
    least_rounds: int

    @property
    def rounds(self) -> int:
        """The best number of rounds; fewer than those that take one whole step would be chance."""
        return max(self.least_rounds, int(np.argmin(self.losses)))

    @property
    def loss(self) -> float:
        return float(self.losses.min())

    @property
    def gain(self) -> float:
        """The log-likelihood of the held-out labels above that of the shares alone."""
        return float(self.losses[0] - self.losses.min())

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

    def compare(self, sizes: list[Any], rows: BoostedRows, judge: BoostedRows | None, order: Rows) -> _JudgedTrees:
        """Return the size with the least loss; all are judged by the same rows, and by more where these gain little."""
        ran = [self.run(size, _parts(rows, judge, order)) for size in sizes[:1]]
        ran += [self.run(size, islice(_parts(rows, judge, order), ran[0].parts)) for size in sizes[1:]]
        few, *more = ran
        return more[0] if more and more[0].loss < few.loss - _CHANCE else few

    def run(self, model: Any, parts: Iterator[tuple[BoostedRows, BoostedRows]]) -> _JudgedTrees:  # noqa: ANN401
        """Grow trees on each part until they gain enough; of those that ended early the last loss counts."""
        total, last, number = np.zeros(1), None, 0
        rounds, rate = self.library.rounds(model), self.library.rate(model)
        patience, least = max(_PATIENCE, round(_PATH / rate)), min(rounds, max(1, round(1 / rate)))
        for kept, judges in parts:
            number += 1
            held = TreeJudge(judges.X, judges.objective, patience)
            last = self.library.grow(model, kept.X, kept.objective, rounds=rounds, held=held, options=self.options)
            total = _add(total, np.array(held.losses))
            sure = total[0] - total.min() >= _SURE and kept.objective.rows + judges.objective.rows >= _ENOUGH
            if sure or self.library.costly:
                break
        return _JudgedTrees(model, total, last, number, least)


def _add(total: Array, losses: Array) -> Array:
    longest = max(len(total), len(losses))
    first, second = (np.append(one, np.full(longest - len(one), one[-1])) for one in (total, losses))
    return np.asarray(first + second)
