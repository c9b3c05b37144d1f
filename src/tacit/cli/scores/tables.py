"""A file of labels that are kept and files of predictions, from tables to what a metric reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import ibis
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tacit.data.classes import Classes
    from tacit.privacy.guarantee import Promise
    from tacit.privacy.ledger import Ledger, Receipt
    from tacit.scores.metrics import Metric
    from tacit.scores.policies import Policy

__all__ = [
    "NOT_PROTECTED",
    "LabelColumn",
    "LabelFile",
    "MetricOption",
    "Truth",
    "read_predictions",
    "read_truth",
]

NOT_PROTECTED = "features, predictions and the number of rows"
"""What no score hides, whatever its noise."""

LabelFile = Annotated[
    Path, typer.Option(help="A table with the labels, which are kept; its column id, if there is one, names the rows.")
]
LabelColumn = Annotated[str | None, typer.Option(help="The private column there. Default: the only one besides id.")]
MetricOption = Annotated[
    str,
    typer.Option(
        metavar="NAME[:KEY=NUMBER,...]",
        help="log_loss (floor), brier, accuracy, auc or f1 (class_floor), rmse or mae (lower, upper).",
    ),
]

_ID = "id"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """The labels as a metric reads them, and as the ledger knows them."""

    path: Path
    column: ibis.Table
    metric: Metric
    labels: NDArray[Any]
    classes: Classes | None
    ids: pa.Array | None

    def promise(self, policy: Policy, *, rows_per_person: int) -> Promise:
        """Return what the policy promises for a score, with what these labels add to its assumptions, for a person."""
        from tacit.privacy.guarantee import Guarantee
        from tacit.privacy.rounding import check_count

        rows, promise = check_count(rows_per_person, name="--rows-per-person"), policy.guarantee()
        if not isinstance(promise, Guarantee):
            return promise
        added = () if self.classes is None or self.classes.declared else ("which classes occur is public",)
        return replace(promise, assumptions=(*promise.assumptions, *added)).for_group(rows=rows)

    def charge(self, promise: Promise, *, ledger: Ledger | None, dataset: str | None, purpose: str) -> Receipt | None:
        """Charge a promise about these labels where there is a ledger, and something is promised."""
        from tacit.privacy.guarantee import Guarantee
        from tacit.privacy.payment import Payment

        if ledger is None or not isinstance(promise, Guarantee):
            return None
        return Payment(ledger=ledger, dataset=dataset).charge(promise, self.column, purpose=purpose)


def read_truth(path: Path, *, label: str | None, metric: Mapping[str, Any], classes: Sequence[str]) -> Truth:
    """Read labels; the metric is completed by their number of classes."""
    from tacit.data import label_column, load_table, read_rows

    table = load_table(path)
    name = _private_column(table.columns, label, path)
    ids = [_ID] if _ID in table.columns and name != _ID else []
    rows = read_rows(table, columns=[name, *ids])
    values = label_column(rows, name, least_classes=1)
    whole, coding = _complete(metric, values, classes)
    return Truth(
        path=path,
        column=table.select(name),
        metric=whole,
        labels=_in_range(values, whole) if coding is None else coding.encode(values),
        classes=coding,
        ids=_ids(rows, path) if ids else None,
    )


def read_predictions(path: Path, *, truth: Truth) -> NDArray[np.float64]:
    """Read predictions in the order of the labels: matched by id where both tables have ids, else row by row."""
    from tacit.data import load_table, read_rows
    from tacit.privacy.errors import InvalidInput

    rows = read_rows(load_table(path))
    names = [name for name in rows.column_names if name != _ID]
    most = 1 if truth.classes is None else len(truth.classes)
    if len(names) not in (1, most):
        each = f", or one for each of {most} classes" if most > 1 else ""
        got = ", ".join(names) or "none"
        raise InvalidInput(f"{path.name} must have one column of predictions besides id{each}, got {got}")
    if rows.num_rows != len(truth.labels):
        raise InvalidInput(
            f"{path.name} must have one row for each of the {len(truth.labels)} labels, got {rows.num_rows}"
        )
    ordered = _ordered(rows, path, truth)
    try:
        return truth.metric.check(_values(ordered, names, truth), rows=len(truth.labels))
    except InvalidInput as error:
        raise InvalidInput(f"{path.name}: {error}") from None


def _private_column(columns: Sequence[str], label: str | None, path: Path) -> str:
    from tacit.data.names import check_present
    from tacit.privacy.errors import InvalidInput

    others = [name for name in columns if name != _ID]
    if label is None and len(others) != 1:
        raise InvalidInput(f"--label must name the private column: {path.name} has the columns {', '.join(columns)}")
    return check_present(others[0] if label is None else label, columns, argument="--label")


def _complete(
    document: Mapping[str, Any], values: NDArray[Any], declared: Sequence[str]
) -> tuple[Metric, Classes | None]:
    """Return the metric for these labels, and their classes where they are no numbers to it."""
    from tacit.data.classes import Classes
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.metrics import metric_from_json

    metric = metric_from_json(document)
    if not metric.classes:
        if declared:
            raise InvalidInput(f"--classes must stand with a metric of classes, got {metric.name}")
        if values.dtype.kind not in "fiub":
            raise InvalidInput(f"--label must name a column of numbers for {metric.name}, got words")
        return metric, None
    if not declared and len(set(values.tolist())) < 2:
        raise InvalidInput("--classes must list the classes where all labels are the same, such as no,yes")
    classes = Classes.of(values, declared=list(declared) or None)
    if document.get("classes", len(classes)) != len(classes):
        raise InvalidInput(
            f"--metric must have classes={len(classes)}, as many as the labels, got {metric.classes}; list classes "
            "that do not occur with --classes"
        )
    return metric_from_json({**document, "classes": len(classes)}), classes


def _in_range(values: NDArray[Any], metric: Metric) -> NDArray[Any]:
    from tacit.privacy.errors import InvalidInput

    try:
        return metric.check_labels(values)
    except InvalidInput as error:
        raise InvalidInput(f"{error}; give the public range, as in --metric {metric.name}:lower=0,upper=30") from None


def _values(rows: pa.Table, names: list[str], truth: Truth) -> NDArray[np.float64]:
    import numpy as np

    from tacit.data.matrix import numeric_matrix
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.metrics import F1, Accuracy

    if truth.classes is None or not isinstance(truth.metric, Accuracy | F1):
        listed = [] if truth.classes is None else [str(value) for value in truth.classes.values]
        by_name = listed if len(names) > 1 and set(listed) == set(names) else names  # columns named by their classes
        return numeric_matrix(rows, columns=by_name)
    try:
        codes = truth.classes.encode(rows[names[0]])
    except InvalidInput:
        codes = np.array([-1])
    if len(names) > 1 or codes.min() < 0:
        values = ", ".join(str(value) for value in truth.classes.values)
        raise InvalidInput(f"predictions must be one of the classes {values} in each row for {truth.metric.name}")
    return codes.astype(np.float64)


def _ids(rows: pa.Table, path: Path) -> pa.Array:
    import pyarrow as pa

    from tacit.privacy.errors import InvalidInput

    ids = rows[_ID].cast(pa.string()).combine_chunks()
    if ids.null_count or len(ids.unique()) < len(ids):
        raise InvalidInput(f"{path.name} must have a different id in each row; remove the column id or repair it")
    return ids


def _ordered(rows: pa.Table, path: Path, truth: Truth) -> pa.Table:
    import pyarrow.compute as pc

    from tacit.privacy.errors import InvalidInput

    named = _ID in rows.column_names
    if named != (truth.ids is not None):
        with_ids, without = (path, truth.path) if named else (truth.path, path)
        raise InvalidInput(f"{with_ids.name} has a column id and {without.name} has none: both need it, or neither")
    if truth.ids is None:
        return rows
    places = pc.index_in(truth.ids, value_set=_ids(rows, path))
    if places.null_count:
        missing = truth.ids.filter(places.is_null())[0].as_py()
        raise InvalidInput(f"{path.name} must have a row with the id {missing!r} of {truth.path.name}, got none")
    return rows.take(places)
