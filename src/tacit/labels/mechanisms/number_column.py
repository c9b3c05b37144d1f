"""Numbers to numbers, by a mechanism with finitely many outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.classes import MISSING
from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
from tacit.labels.mechanisms.column import LABEL, Codes, LabelColumn
from tacit.labels.mechanisms.evidence import Channel, Evidence, evidence_of_channel
from tacit.labels.mechanisms.optimal import OptimalUnbiased
from tacit.labels.mechanisms.values import Values
from tacit.privacy.errors import InvalidInput

__all__ = ["NumberColumn", "listed_values"]


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumn(LabelColumn):
    """Values to outputs; ``mechanism`` draws, and is None where a release is read."""

    coding: Values
    prior: NDArray[np.float64]
    outputs: NDArray[np.float64]
    transition: NDArray[np.float64]
    described: Mapping[str, Any] = field(default_factory=dict)
    mechanism: RandomizedResponseOnBins | OptimalUnbiased | None = None

    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        """Draw numbers."""
        if self.mechanism is None:
            raise InvalidInput("a release that was read cannot draw again")
        return pa.array(self.mechanism.randomize(self.coding.values[codes], rng=rng))

    def describe(self) -> dict[str, Any]:
        """Return values, prior and outputs, and what else the mechanism is rebuilt from."""
        lists = {"values": self.coding.values, "prior": self.prior, "outputs": self.outputs}
        return {**{name: numbers.tolist() for name, numbers in lists.items()}, **self.described}

    def evidence(self, rows: pa.Table) -> Evidence:
        """Return the likelihood of each released number."""
        channel = Channel(outputs=_places(rows[LABEL], self.outputs.tolist()), transition=self.transition)
        return evidence_of_channel(channel, tuple(self.coding.values.tolist()), np.atleast_2d(self.prior))


def listed_values(settled: Mapping[str, Any]) -> Values:
    """Return the values of a release."""
    return Values(values=np.asarray(settled["values"]))


def _places(column: pa.ChunkedArray, outputs: Sequence[float]) -> Codes:
    """The place of each number among the outputs; ``MISSING`` for a null."""
    codes = pc.index_in(column, value_set=pa.array(outputs, pa.float64()))
    unknown = column.filter(pc.and_(codes.is_null(), column.is_valid()))
    if len(unknown):
        raise InvalidInput(
            f"must be among the mechanism's outputs {list(outputs)!r}, got {unknown[0].as_py()!r}", field="labels"
        )
    return np.asarray(codes.fill_null(MISSING), dtype=np.int64)
