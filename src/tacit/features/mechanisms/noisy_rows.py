"""Every row under noise, its label under randomized response."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.features.mechanisms.box import STEPS, FeatureRanges
from tacit.features.mechanisms.noise import NoNoise, check_gaussian
from tacit.features.mechanisms.selected import SelectedColumns
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import CoordinateNoise, randomize_codes
from tacit.privacy.releases import ReleaseMember, TableMember

__all__ = ["NoisyRows"]

Steps = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyRows:
    """Every row with discrete Gaussian noise on each selected feature: (epsilon, delta) for one record.

    A record moves m coordinates of its own row by at most the box's width, so that each value carries noise of about
    2 sqrt(m) s half widths, s the scale for sensitivity 1. Nothing else is read of the rows.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the features; an infinite epsilon adds no noise.
    label_epsilon
        The guarantee of the labels; infinite: they are released unchanged.

    References
    ----------
    Proof: docs/proofs/coordinate_noise.md.

    Examples
    --------
    >>> rows = NoisyRows(epsilon=6.0, delta=1e-5, label_epsilon=1.0)
    >>> round(rows.deviation(features=25), 2)
    7.64
    """

    epsilon: float
    delta: float
    label_epsilon: float

    apart: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_gaussian(self.epsilon, self.delta)

    def noise(self, *, features: int) -> CoordinateNoise | NoNoise:
        """Return the noise for this many features."""
        return NoNoise() if math.isinf(self.epsilon) else _noise(self.epsilon, self.delta, features)

    def deviation(self, *, features: int) -> float:
        """Return the noise's standard deviation, in half widths of the box."""
        return float(self.noise(features=features).scale) / STEPS

    def guarantees(self, *, features: int) -> list[Guarantee]:
        """Return what features and labels cost."""
        loss = _noise(self.epsilon, self.delta, features).loss()
        rows = Guarantee(unit=Unit.RECORD, epsilon=self.epsilon, delta=self.delta, loss=loss)
        return [rows, Guarantee(unit=Unit.RECORD, epsilon=self.label_epsilon)]

    def describe(self, box: FeatureRanges) -> list[float]:
        """Return the noise's standard deviation on each feature, in its own units."""
        return [float(half) * self.deviation(features=box.features) for half in box.half]

    def add_noise(self, steps: Steps, *, rng: np.random.Generator) -> Steps:
        """Return the rows with noise, in steps."""
        return steps + self.noise(features=steps.shape[1]).draw(steps.shape, rng=rng)

    def corner_scores(self, side: int, *, features: int, records: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the sum of each released row, of records in the box's corner ``side`` (1 or -1).

        Each row gets its own noise, so every record is a run of its own.
        """
        corner = np.full((records, features), side * STEPS, dtype=np.int64)
        return np.asarray(self.add_noise(corner, rng=rng).sum(axis=1) / STEPS)

    def draw(self, selected: SelectedColumns, *, rng: np.random.Generator) -> dict[str, ReleaseMember]:
        """Return the rows, which are drawn batch by batch as they are written."""
        kind = pa.array(selected.classes.values).type
        schema = pa.schema([*((name, pa.float64()) for name in selected.names), (selected.label, kind)])
        return {"rows": TableMember(self._batches(selected, schema, rng), schema=schema)}

    def _batches(
        self, selected: SelectedColumns, schema: pa.Schema, rng: np.random.Generator
    ) -> Iterator[pa.RecordBatch]:
        """One batch is drawn while the one before is written and the next one is read."""
        drawing: Future[pa.RecordBatch] | None = None
        with ThreadPoolExecutor(1) as pool:
            for values, codes in selected.read():
                drawn = drawing and drawing.result()
                drawing = pool.submit(self._batch, selected, values, codes, schema, rng)
                if drawn is not None:
                    yield drawn
            if drawing is not None:
                yield drawing.result()

    def _batch(
        self,
        selected: SelectedColumns,
        values: NDArray[np.float64],
        codes: Steps,
        schema: pa.Schema,
        rng: np.random.Generator,
    ) -> pa.RecordBatch:
        noisy = selected.box.values(self.add_noise(selected.box.snap(values), rng=rng))
        if not math.isinf(self.label_epsilon):
            codes = randomize_codes(codes, epsilon=self.label_epsilon, classes=len(selected.classes), rng=rng)
        labels = selected.classes.decode(codes).cast(schema.field(selected.label).type)
        return pa.RecordBatch.from_arrays([*map(pa.array, noisy.T), labels], schema=schema)


@lru_cache(maxsize=64)
def _noise(epsilon: float, delta: float, features: int) -> CoordinateNoise:
    return CoordinateNoise.for_privacy(epsilon, delta=delta, sensitivity=2 * STEPS, coordinates=features)
