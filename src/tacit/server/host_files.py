"""A host's two files: features that everybody can read, and labels that nobody can."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics import Metric
from tacit.server.limits import ServerLimits
from tacit.server.prediction_file import quote
from tacit.server.rules import CompetitionPlan

__all__ = ["FeatureRows", "PrivateLabels", "encode_labels", "read_labels"]

_ID = "id"
_CATEGORIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRows:
    r"""The public rows: their ids, in the order that predictions without ids follow, and their columns."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, content: bytes, *, limits: ServerLimits) -> FeatureRows:
        r"""Read a CSV file with a header; a column ``id`` names the rows, else they are 0, 1, 2, ..."""
        header, rows = _table(content, name="features", limits=limits)
        if _ID in header:
            at = header.index(_ID)
            ids = tuple(row[at].strip() for row in rows)
            rows = [row[:at] + row[at + 1 :] for row in rows]
            header = header[:at] + header[at + 1 :]
        else:
            ids = tuple(map(str, range(len(rows))))
        _check_ids(ids, name="features")
        return cls(ids=ids, names=tuple(header), cells=tuple(map(tuple, rows)))

    def to_csv(self) -> bytes:
        """Return the file that teams get, the column ``id`` first."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow([_ID, *self.names])
        writer.writerows([name, *cells] for name, cells in zip(self.ids, self.cells, strict=True))
        return text.getvalue().encode()

    def matrix(self) -> NDArray[np.float64]:
        """Return the columns as numbers: missing ones as the mean, text as one 0/1 column for each of its values."""
        if not self.names:
            return np.zeros((len(self.ids), 0))
        return np.concatenate([_numbers(column) for column in zip(*self.cells, strict=True)], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateLabels:
    """Private labels as a metric reads them; printed, they say their number alone.

    Parameters
    ----------
    codes
        0..K-1 for the sorted classes, or the numbers themselves.
    """

    codes: NDArray[Any] = field(repr=False)
    public_rows: NDArray[np.bool_] = field(repr=False)

    def __repr__(self) -> str:
        return f"PrivateLabels({len(self.codes)} rows, hidden)"

    __str__ = __repr__

    def to_bytes(self) -> bytes:
        """Return what is encrypted and stored."""
        return json.dumps({"codes": self.codes.tolist(), "public": self.public_rows.tolist()}).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> PrivateLabels:
        """Read back what :meth:`to_bytes` wrote."""
        document = json.loads(content)
        return cls(codes=np.array(document["codes"]), public_rows=np.array(document["public"], dtype=bool))


def read_labels(content: bytes, *, ids: Sequence[str], label: str, limits: ServerLimits) -> list[str]:
    """Read the labels of a CSV file into the order of ``ids``; its column is ``label``, or the only one besides ``id``.

    Messages name a line or an id and never a label.
    """
    header, rows = _table(content, name="labels", limits=limits)
    if len(rows) != len(ids):
        raise InvalidInput(
            f"must have one row for each of the {len(ids)} rows of features, got {len(rows)}", field="labels"
        )
    others = [name for name in header if name != _ID]
    if label not in others and len(others) != 1:
        raise InvalidInput(
            f"must have the column {quote(label)}, or one column besides id, got {len(others)}", field="labels"
        )
    at = header.index(label if label in others else others[0])
    found = [row[at].strip() for row in rows]
    if _ID not in header:
        return found
    named_by = [row[header.index(_ID)].strip() for row in rows]
    _check_ids(named_by, name="labels")
    named = dict(zip(named_by, found, strict=True))
    missing = next((name for name in ids if name not in named), None)
    if missing is not None:
        raise InvalidInput(f"labels: the id {quote(missing)} of the features is missing")
    return [named[name] for name in ids]


def encode_labels(labels: Sequence[str], plan: CompetitionPlan) -> tuple[Metric, NDArray[Any]]:
    """Return the plan's metric for these labels, and what it reads: 0..K-1 for the classes in order, or numbers.

    Classes that the plan does not list are those that occur, sorted.
    """
    if not plan.metric.classes:
        return plan.metric, plan.metric.check_labels(_label_numbers(labels))
    names = plan.classes or tuple(sorted(set(labels), key=_sort_key))
    if not set(labels) <= set(names) or "" in names:
        raise InvalidInput("must be of the classes that are listed, and none empty", field="labels")
    if len(names) < 2:
        raise InvalidInput("must list the classes where all labels are the same, such as no,yes", field="classes")
    metric = plan.metric.for_classes(len(names))
    code = {name: number for number, name in enumerate(names)}
    return metric, metric.check_labels(np.array([code[label] for label in labels]))


def _table(content: bytes, *, name: str, limits: ServerLimits) -> tuple[list[str], list[list[str]]]:
    try:
        text = content.decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} must be a CSV file in UTF-8") from None
    except csv.Error:
        raise InvalidInput(
            f"{name} must be a CSV file; its quotation marks do not match or a cell is too long"
        ) from None
    if len(rows) < 2:
        raise InvalidInput(f"{name} must have a header and at least one row")
    header = [cell.strip() for cell in rows.pop(0)]
    if len(rows) > limits.rows or len(header) > limits.columns:
        raise InvalidInput(f"{name} must have at most {limits.rows} rows and {limits.columns} columns")
    if len(set(header)) < len(header):
        raise InvalidInput(f"{name} must have different column names")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header) or max(map(len, row)) > limits.cell:
            raise InvalidInput(
                f"{name}: row {number} must have {len(header)} cells of at most {limits.cell} characters"
            )
    return header, rows


def _check_ids(ids: Sequence[str], *, name: str) -> None:
    seen: set[str] = set()
    for found in ids:
        if not found or not found.isprintable() or "," in found or '"' in found:
            raise InvalidInput(f"{name}: an id must be printable text without commas and quotes, got {quote(found)}")
        if found in seen:
            raise InvalidInput(f"{name}: the id {quote(found)} appears twice")
        seen.add(found)


def _sort_key(label: str) -> tuple[int, float, str]:
    """Order classes as numbers where they are numbers: 2 before 10."""
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)


def _label_numbers(labels: Sequence[str]) -> NDArray[np.float64]:
    try:
        return np.array([float(label) for label in labels])
    except ValueError:
        raise InvalidInput("must be numbers for this metric, and one is not", field="labels") from None


def _numbers(column: Sequence[str]) -> NDArray[np.float64]:
    try:
        values = np.array([float(cell) if cell.strip() else np.nan for cell in column])
        if not np.isinf(values).any():
            known = values[~np.isnan(values)]
            return np.where(np.isnan(values), known.mean() if known.size else 0.0, values)[:, None]
    except ValueError:
        pass
    names, codes = np.unique(np.array(column), return_inverse=True)
    if len(names) > _CATEGORIES:  # a name or a free text: one column is enough to distinguish rows
        return codes.astype(np.float64)[:, None]
    return np.eye(len(names))[codes]
