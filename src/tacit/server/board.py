"""A competition in memory, with its labels: what scores a submission."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics import Metric, UnreleasedScore
from tacit.server.host_files import FeatureRows, PrivateLabels
from tacit.server.rules import Rules
from tacit.server.uncertainty import ScoreNoise

__all__ = ["CompetitionBoard", "columns_of", "from_stored", "stored"]

_ID = "id"
_DOCUMENT_BYTES, _CELL_BYTES, _ID_BYTES = 4096, 40, 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompetitionBoard:
    """What is needed to score; made once and kept while the server runs.

    ``noise`` and ``final_noise`` say how far released scores may be from the exact ones.
    A submission as JSON is read whole, so it has at most ``document_bytes``, which are ample for its rows.
    """

    id: int
    rules: Rules
    metric: Metric
    features: FeatureRows = field(repr=False)
    labels: PrivateLabels = field(repr=False)
    index: Mapping[str, int] = field(init=False, repr=False)
    matrix: NDArray[np.float64] = field(init=False, repr=False)
    document_bytes: int = field(init=False, repr=False)
    noise: ScoreNoise = field(init=False, repr=False)
    final_noise: ScoreNoise = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {name: row for row, name in enumerate(self.features.ids)})
        object.__setattr__(self, "matrix", self.features.matrix())
        live = int(self.labels.public_rows.sum())
        final = len(self.index) - live
        for name, policy, rows in (("noise", self.rules.policy, live), ("final_noise", self.rules.final_policy, final)):
            object.__setattr__(self, name, ScoreNoise(metric=self.metric, policy=policy, rows=max(1, rows)))
        cells = len(self.index) * self.metric.columns
        ids = sum(map(len, self.index))
        object.__setattr__(self, "document_bytes", _DOCUMENT_BYTES + _CELL_BYTES * cells + _ID_BYTES * ids)

    def __repr__(self) -> str:
        return f"CompetitionBoard({self.id}, {len(self.index)} rows)"

    @property
    def columns(self) -> tuple[str, ...]:
        """The header of a submission."""
        return columns_of(self.metric)

    def check(self, predictions: ArrayLike) -> NDArray[np.float64]:
        """Return predictions as the metric reads them, or raise; labels have no part in it."""
        return self.metric.check(predictions, rows=len(self.index))

    def digest(self, predictions: NDArray[np.float64]) -> str:
        """Return what makes two submissions the same: the SHA-256 of the predictions as the metric reads them.

        File names, column order, number formats and white space do not count; a prediction that differs in its last
        bit does, and is scored and charged again.
        """
        head = f"{self.metric.name} {predictions.shape}\n".encode()
        return hashlib.sha256(head + np.ascontiguousarray(predictions, dtype="<f8").tobytes()).hexdigest()

    def order(self, ids: Sequence[str], predictions: ArrayLike) -> NDArray[np.float64]:
        """Return predictions that came with ids in the order of the rows."""
        rows = [self.index.get(name, -1) for name in ids]
        given = np.asarray(predictions, dtype=np.float64)
        if len(rows) != len(given) or sorted(rows) != list(range(len(self.index))):
            raise InvalidInput(
                f"must be the features' {len(self.index)} ids, each once, one for each prediction", field="ids"
            )
        ordered = np.empty_like(given)
        ordered[rows] = given
        return ordered

    def measure(self, predictions: NDArray[np.float64], *, final: bool = False) -> UnreleasedScore:
        """Return the exact score, hidden, on the public rows, or for the final ranking on the private ones."""
        rows = ~self.labels.public_rows if final else self.labels.public_rows
        return self.metric.measure(self.labels.codes[rows], predictions[rows])


def columns_of(metric: Metric) -> tuple[str, ...]:
    """Return the header of a submission: ``id`` and one column, or one for each class."""
    return (_ID, "prediction") if metric.columns == 1 else (_ID, *(f"class_{k}" for k in range(metric.columns)))


def stored(predictions: NDArray[np.float64]) -> bytes:
    """Return predictions as they are stored: 64-bit floats, little-endian, row after row."""
    return predictions.astype("<f8").tobytes()


def from_stored(content: bytes, *, rows: int) -> NDArray[np.float64]:
    """Read back what :func:`stored` wrote."""
    values = np.frombuffer(content, dtype="<f8").astype(np.float64)
    return values if len(values) == rows else values.reshape(rows, -1)
