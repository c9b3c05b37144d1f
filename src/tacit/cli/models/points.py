"""Rows with one of two labels, from a file to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LabelledPoints", "not_shared", "read_features", "read_points"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledPoints:
    """A table's features as a matrix, its labels as -1 and +1, and what these stand for."""

    table: ibis.Table
    rows: NDArray[np.float64]
    signs: NDArray[np.float64]
    features: tuple[str, ...]
    classes: tuple[Any, ...]
    declared: bool

    def header(self, *, label: str) -> dict[str, Any]:
        """Return what a model file says of the table it was trained on: names, never values of a feature."""
        return {
            "label": label,
            "features": list(self.features),
            "classes": [str(value) for value in self.classes],
        }


def read_points(path: Path, *, label: str, features: Sequence[str], classes: Sequence[str] = ()) -> LabelledPoints:
    """Read a table whose label column has two values; the second, in sorted or declared order, is +1."""
    import numpy as np

    from tacit.data import load_table, read_rows
    from tacit.data.classes import Classes
    from tacit.data.matrix import numeric_matrix
    from tacit.data.names import check_present
    from tacit.data.rows import label_column
    from tacit.privacy.errors import InvalidInput

    table = load_table(path)
    check_present(label, table.columns, argument="--label")
    names = _features(table.columns, features, label)
    rows = read_rows(table, columns=[*names, label])
    labels = label_column(rows, label, least_classes=1)
    coding = Classes.of(labels, declared=list(classes) or None) if classes or len(set(labels.tolist())) > 1 else None
    if coding is None or len(coding) != 2:
        found = 1 if coding is None else len(coding)
        raise InvalidInput(f"--label must name a column of two values, {label!r} has {found}; a margin has two sides")
    matrix = numeric_matrix(rows, columns=names)
    broken = (~np.isfinite(matrix)).sum(axis=0)
    if broken.any():
        worst = int(broken.argmax())
        raise InvalidInput(
            f"column {names[worst]!r} must have a finite number in every row, {broken[worst]} have none: fill them in, "
            "drop those rows, or leave the column out of --features"
        )
    return LabelledPoints(
        table=table,
        rows=matrix,
        signs=np.where(coding.encode(labels) == 1, 1.0, -1.0),
        features=tuple(names),
        classes=tuple(coding.values),
        declared=coding.declared,
    )


def read_features(
    path: Path, *, features: Sequence[str] | None, label: str | None
) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """Read features, all columns but the label where none are named, and the labels where there are some."""
    from tacit.data import load_table, read_rows
    from tacit.data.matrix import numeric_matrix
    from tacit.data.names import check_present
    from tacit.data.rows import label_column

    table = load_table(path)
    names = [name for name in table.columns if name != label] if features is None else list(features)
    for name in names:
        check_present(name, table.columns, argument=f"the table {path.name}")
    extra = [label] if label is not None and label in table.columns else []
    rows = read_rows(table, columns=[*names, *extra])
    labels = label_column(rows, extra[0], least_classes=1) if extra else None
    return numeric_matrix(rows, columns=names), labels


def not_shared(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows outside have no equal inside; all of them where none is left, for the attack to refuse."""
    import numpy as np

    known = {row.tobytes() for row in inside + 0.0}  # + 0.0 makes -0.0 equal 0.0
    kept = np.array([row.tobytes() not in known for row in outside + 0.0], dtype=bool)
    return kept if kept.any() else ~kept


def _features(columns: Sequence[str], chosen: Sequence[str], label: str) -> list[str]:
    from tacit.data.names import check_present
    from tacit.privacy.errors import InvalidInput

    names = list(chosen) or [name for name in columns if name != label]
    for name in names:
        check_present(name, columns, argument="--features")
    if label in names or not names:
        raise InvalidInput(
            f"--features must name columns besides the label {label!r}, got {', '.join(names) or 'none'}"
        )
    return names
