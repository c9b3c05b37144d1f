"""From the columns of a table to the numbers that a model takes, by public rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data import label_column, load_table, numeric_matrix, read_rows
from tacit.data.classes import Classes
from tacit.data.names import check_present
from tacit.models.plan import EVERY_COLUMN, Plan
from tacit.models.points import Matrix, Points
from tacit.privacy.errors import InvalidInput

__all__ = ["RowEncoder", "feature_names", "read_labelled", "read_points"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEncoder:
    """From columns to a matrix: numbers as they are, or a public range mapped to [-1, 1].

    Examples
    --------
    >>> encoder = RowEncoder(features=("age",), ranges={"*": (0.0, 100.0)})
    >>> encoder.encode(pa.table({"age": [0, 75]})).tolist()
    [[-1.0], [0.5]]
    """

    features: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]

    def encode(self, rows: pa.Table) -> Matrix:
        """Return the features of rows that have a finite number in each; raise for others."""
        matrix = numeric_matrix(rows, columns=self.features)
        broken = (~np.isfinite(matrix)).sum(axis=0)
        if broken.any():
            worst = int(broken.argmax())
            raise InvalidInput(
                f"column {self.features[worst]!r} must have a finite number in every row, {broken[worst]} have none: "
                "fill them in, drop those rows, or leave the column out of features"
            )
        return self.scale(matrix)

    def scale(self, matrix: Matrix) -> Matrix:
        """Return a matrix of these features with every range mapped to [-1, 1]."""
        bounds = [self.ranges.get(name, self.ranges.get(EVERY_COLUMN, (-1.0, 1.0))) for name in self.features]
        low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
        return np.asarray((matrix - (low + high) / 2) / ((high - low) / 2))

    def to_json(self) -> dict[str, Any]:
        """Return the rules for a header."""
        return {
            "features": list(self.features),
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RowEncoder:
        """Read back what :meth:`to_json` returned."""
        ranges = {str(name): (float(low), float(high)) for name, (low, high) in document["ranges"].items()}
        return cls(features=tuple(map(str, document["features"])), ranges=ranges)


def read_points(table: ibis.Table, plan: Plan) -> tuple[Points, RowEncoder]:
    """Read the rows that a plan trains on."""
    check_present(plan.label, table.columns, argument="label")
    encoder = RowEncoder(features=feature_names(table.columns, plan.features, label=plan.label), ranges=plan.ranges)
    rows = read_rows(table, columns=[*encoder.features, plan.label])
    labels = label_column(rows, plan.label, least_classes=1)
    known = Classes.of(labels, declared=None if plan.classes is None else list(plan.classes))
    codes = known.encode(labels)
    if plan.mechanism.two_classes and len(known) != 2:
        raise InvalidInput(
            f"must name a column of two values for {plan.mechanism.name}, {plan.label!r} has {len(known)}",
            field="label",
        )
    typed = pa.array(known.values).cast(pa.array(labels).type).to_pylist()
    return Points(rows=encoder.encode(rows), codes=codes, classes=tuple(typed)), encoder


def feature_names(columns: Sequence[str], chosen: Sequence[str], *, label: str | None) -> tuple[str, ...]:
    """Return the columns that a model takes: those chosen, or all but the label."""
    for name in chosen:
        check_present(name, columns, argument="features")
    names = tuple(chosen) or tuple(name for name in columns if name != label)
    if not names:
        raise InvalidInput("must name a column besides the label, there is none", field="features")
    return names


def read_labelled(
    source: object, *, features: Sequence[str], label: str | None
) -> tuple[pa.Table, NDArray[Any] | None]:
    """Read the features of an outsider's rows, and their labels where the table has them."""
    table = load_table(source)
    names = feature_names(table.columns, features, label=label)
    if label is None or label not in table.columns:
        return read_rows(table, columns=names), None
    rows = read_rows(table, columns=[*names, label])
    return rows.select(names), label_column(rows, label, least_classes=1)
