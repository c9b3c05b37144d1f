"""The first reading of private labels: every label is checked and counted, and nothing is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.copies import copies_of
from tacit.data.persons import check_person, draw_seed, limit_rows
from tacit.labels.mechanisms import LabelMechanism
from tacit.labels.mechanisms.values import Coding
from tacit.labels.plan import ALL, Plan
from tacit.labels.releases.arrays import settle, try_out
from tacit.labels.releases.label_counts import Counts, LabelCounts, count_labels

if TYPE_CHECKING:
    from tacit.data.encoder import Encoder
    from tacit.labels.releases.spark import LabelSource

__all__ = ["ChosenRows", "LabelSurvey"]

_SAMPLED = 20_000
"""The rows of which it is checked whether a released column copies the label."""


class ChosenRows(NamedTuple):
    """Which rows are released, and the public seed that chose them."""

    seed: int
    mask: NDArray[np.bool_]


class LabelSurvey:
    """What the first reading finds: the classes, how many labels each has, and how features become numbers.

    While the labels are counted here, the ledger recognizes the rows, so a table is read once for both.
    """

    def __init__(self, source: LabelSource, plan: Plan, columns: Sequence[str]) -> None:
        self.source, self.plan, self.columns = source, plan, list(columns)
        self.rows = 0
        self.follows_order = False
        self.copies: dict[str, str] = {}
        self.coding: Coding
        self._counts: Counts | None = None
        self._people: list[pa.RecordBatch] = []
        self._features: list[pa.RecordBatch] = []
        self.encoder: Encoder | None = None

    def complete(self) -> None:
        """Read the table, unless it was read to its end before."""
        if self._counts is None:
            self.source.count(self)

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield every column that the plan reads, counting the labels on the way; raise if one cannot be released."""
        plan, counts, self._people, self._features = self.plan, LabelCounts(self.plan), [], []
        person = [] if plan.person is None or plan.person in self.columns else [plan.person]
        sample: list[pa.RecordBatch] = []
        for batch in self.source.read([*self.columns, *person, plan.label]):
            if self.columns and sum(part.num_rows for part in sample) < _SAMPLED:
                sample.append(batch)
            plan.mechanism.check_rows(batch, epsilon=plan.epsilon or 0.0)
            counts.add(batch.column(plan.label))
            if plan.person is not None:
                check_person(batch.column(plan.person))
                self._people.append(batch.select([plan.person, plan.label]))
            if plan.mechanism.needs_features:
                self._features.append(batch.select(self.columns))
            yield batch
        self.take(counts)
        if sample:
            self.copies = copies_of(pa.Table.from_batches(sample).slice(0, _SAMPLED), plan.label, self.columns)
        if self._features:
            self.encoder, self._features = self._fitted(pa.Table.from_batches(self._features)), []

    def _fitted(self, rows: pa.Table) -> Encoder:
        """How the features become numbers between stages; made before the charge, which an error would waste."""
        from tacit.data.encoder import Encoder

        names = [name for name in rows.column_names if name != self.plan.person]
        encoder = Encoder.fitted(rows, names, chosen=self.plan.features != ALL)
        encoder.check(rows.column_names)
        return encoder

    def take(self, found: LabelCounts) -> None:
        """Settle the classes by what was counted, and check that labels can be released."""
        self.coding, counts = found.result()
        try_out(self.plan, self.coding)
        self.rows, self._counts = found.rows, counts
        self.follows_order = self.source.ordered and not self.plan.shuffle and found.order.follows(counts[:-1])

    def choose(self, rng: np.random.Generator) -> ChosenRows | None:
        """Return which rows are released if a person may have more than the plan uses; None: all."""
        self.complete()
        if self.plan.person is None:
            return None
        seed, whose = draw_seed(rng), pa.Table.from_batches(self._people).column(0)
        mask = np.zeros(self.rows, dtype=bool)
        mask[limit_rows(whose, rows=self.plan.rows_per_person, seed=seed)] = True
        return ChosenRows(seed, mask)

    def settle(self, chosen: ChosenRows | None, rng: np.random.Generator) -> LabelMechanism:
        """Return the mechanism; an estimated prior is drawn here, from the chosen rows alone."""
        counts = self._counts
        if chosen is not None:
            labels = pa.Table.from_batches(self._people).column(1)
            counts = count_labels(self.coding, labels.filter(pa.array(chosen.mask)))
        return settle(self.plan, self.coding, counts=np.asarray(counts)[:-1], rng=rng)

    @property
    def left_out(self) -> int | None:
        """How many rows of persons with too many are left out; None if the plan names no person."""
        if self.plan.person is None or not self._people:
            return None
        rows = np.asarray(pc.value_counts(pa.Table.from_batches(self._people).column(0)).field("counts"))
        return int(np.maximum(rows - self.plan.rows_per_person, 0).sum())
