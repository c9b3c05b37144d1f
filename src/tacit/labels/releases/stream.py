"""From a table of any size to a file with randomized labels: checked, charged, streamed, and made only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.data import load_table
from tacit.data.names import check_present
from tacit.labels.mechanisms.column import Coding, Mechanism, check_missing
from tacit.labels.mechanisms.estimate import EstimatedPrior
from tacit.labels.releases.labels import MissingLabels
from tacit.labels.releases.payment import Payment
from tacit.labels.releases.source import LABEL, Source, TableSource
from tacit.labels.releases.survey import survey_labels
from tacit.privacy.endings import check_ending
from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import check_writable
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Receipt
from tacit.privacy.noise import is_seeded
from tacit.privacy.release import ReleaseWriter, open_release_writer
from tacit.privacy.rounding import check_count

__all__ = ["ProtectedTable", "protect_table"]

Progress = Callable[[int, int], None]
Writer = Callable[..., AbstractContextManager[ReleaseWriter]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedTable:
    """What was written, and what it cost.

    Parameters
    ----------
    path, rows, missing
        The file, its rows, and how many of them have no label.
    guarantee
        The promise that the file carries: for one label, or for one person of several rows.
    per_label
        The promise for one label.
    mechanism, seeded
        As in the file's header.
    receipt
        The charge; None without a ledger, and where nothing was charged because the release was made before.
    repeated
        Whether the labels are those of an earlier release.

    Examples
    --------
    >>> from tacit.privacy import Unit
    >>> one = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    >>> print(ProtectedTable(path=Path("out.parquet"), rows=10, missing=0, guarantee=one.for_group(rows=2),
    ...                      per_label=one, mechanism={"name": "randomized_response"}, seeded=False))
    10 labels by randomized_response in out.parquet: epsilon 1 for one label, epsilon 2 for 2 labels of one person
    """

    path: Path
    rows: int
    missing: int
    guarantee: Guarantee
    per_label: Guarantee
    mechanism: Mapping[str, Any]
    seeded: bool
    receipt: Receipt | None = None
    repeated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON.

        Examples
        --------
        >>> from tacit.privacy import Unit
        >>> one = Guarantee(unit=Unit.LABEL, epsilon=1.0)
        >>> ProtectedTable(path=Path("out.parquet"), rows=10, missing=0, guarantee=one, per_label=one,
        ...                mechanism={"name": "randomized_response"}, seeded=False).to_json()["rows"]
        10
        """
        return {
            "path": str(self.path),
            "rows": self.rows,
            "missing": self.missing,
            "guarantee": self.guarantee.to_json(),
            "per_label": self.per_label.to_json(),
            "mechanism": dict(self.mechanism),
            "seeded": self.seeded,
            "charge": self.receipt and self.receipt.id,
            "repeated": self.repeated,
        }

    def __str__(self) -> str:
        promise = str(self.per_label) if self.guarantee.rows == 1 else f"{self.per_label}, {self.guarantee}"
        return f"{self.rows:,} labels by {self.mechanism['name']} in {self.path}: {promise}"


def protect_table(
    table: object,
    out: str | Path,
    *,
    label: str,
    mechanism: Mechanism | EstimatedPrior,
    classes: Sequence[Any] | Coding | None = None,
    keep: Sequence[str] = (),
    missing: MissingLabels = MissingLabels.REFUSE,
    rows_per_person: int = 1,
    payment: Payment | None = None,
    rng: np.random.Generator,
    force: bool = False,
    progress: Progress | None = None,
) -> ProtectedTable:
    """Write a release file with the randomized labels of a table of any size, and the columns asked for.

    The labels are read once to check and count them, and once to randomize them in batches. The file holds
    the column ``label``, the kept columns, and no trace of the private column beyond what the mechanism lets out.

    Unit: one row's label. Not protected: the kept columns, the number of rows, and, where ``classes`` is None,
    which classes occur.

    Parameters
    ----------
    table
        What ``load_table`` takes (a path, a frame, an Ibis table), or a :class:`SparkSource`.
    out
        The Parquet file to write; it appears whole, after everything else succeeded.
    label
        The private column.
    mechanism
        Bound to the classes here. :class:`EstimatedPrior` spends part of its epsilon on the prior first.
    classes
        The public class list, or numbers to round to; None declares what occurs public.
    keep
        Public columns to put beside the labels; nothing else leaves. A table without an order of rows (Spark, a
        database) must keep one that labels can be matched by.
    missing
        Whether rows without a label are refused, or stay so and are declared public.
    rows_per_person
        How many rows one person holds at most: the guarantee is then stated for all of them.
    payment
        The ledger to charge, and the earlier releases: the same labels asked for again give the same release, and
        nothing is charged, unless ``again``.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release.
    force
        Replace an existing file.
    progress
        Called with the rows done and the rows in all.

    Raises
    ------
    InvalidInput
        Before anything is charged or written.
    BudgetExceeded
        The ledger refuses; nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> from tacit.privacy import read_release
    >>> out = Path(tempfile.mkdtemp()) / "visits.parquet"
    >>> visits = pa.table({"age": [31, 64, 50], "ill": ["no", "yes", "no"]})
    >>> made = protect_table(visits, out, label="ill", mechanism=RandomizedResponse(epsilon=1.0), keep=["age"],
    ...                      classes=["no", "yes"], rng=np.random.default_rng(0))
    >>> read_release(out).value.column_names, str(made.guarantee)
    (['age', 'label'], 'epsilon 1 for one label')
    """
    source = table if isinstance(table, Source) else TableSource(table=load_table(table))
    _check_columns(source, label, keep)
    if source.distributed and is_seeded(rng):
        raise InvalidInput("rng must be the operating system's where workers randomize: each draws its own entropy")
    survey = survey_labels(source, label=label, mechanism=mechanism, classes=classes)
    check_missing(survey.missing, missing)
    guarantee = survey.promise.for_group(rows=check_count(rows_per_person, name="rows_per_person"))
    check_writable(Path(out), force=force, source=table)
    check_ending(out, written="Parquet")
    order = None if payment is None else payment.order(source, label=label, request=survey.request(rng))
    earlier = None if order is None else order.find(rows=survey.rows)
    receipt = None
    header: dict[str, Any] = {"guarantee": guarantee}
    if earlier is None:
        receipt = None if order is None else order.charge(guarantee, purpose=f"labels by {mechanism.name}")
        column = survey.settle(rng)  # the first draw comes after the charge
        # the private column's name is public: who learns from the release must leave that column out
        header |= {"mechanism": {**survey.describe(column), "column": label}, "seeded": is_seeded(rng)}
        batches = source.release(label, keep=keep, column=column, missing=missing, rng=rng)
    else:
        header |= {"mechanism": {**earlier.mechanism, "column": label}, "seeded": earlier.seeded}
        batches = _beside(source, keep, labels=earlier.value[LABEL])
    _write(
        batches,
        out=partial(open_release_writer, out, surface="labels", force=force, **header),
        memo=None if order is None or receipt is None else order.memo_writer(receipt, **header),
        rows=survey.rows,
        progress=progress,
    )
    return ProtectedTable(
        path=Path(out),
        rows=survey.rows,
        missing=survey.missing,
        per_label=survey.promise,
        receipt=receipt,
        repeated=earlier is not None,
        **header,
    )


def _check_columns(source: Source, label: str, keep: Sequence[str]) -> None:
    check_present(label, source.columns, argument="label")
    for name in keep:
        check_present(name, source.columns, argument="keep")
    if not source.ordered and not keep:
        raise InvalidInput("keep must name a column to match labels to rows by: this table has no order of rows")
    if label in keep:
        raise InvalidInput(f"keep must not name the private column {label!r}: it would leave as it is")
    if LABEL in keep:
        raise InvalidInput(f"keep must not name a column {LABEL!r}, the name of the released labels; rename it first")
    if len(set(keep)) < len(keep):
        raise InvalidInput(f"keep must name different columns, got {', '.join(keep)}")


def _beside(source: Source, keep: Sequence[str], *, labels: pa.ChunkedArray) -> Iterator[pa.RecordBatch]:
    """The kept columns of the table with the labels of an earlier release, row by row."""
    if not keep:
        yield from pa.table({LABEL: labels}).to_batches()
        return
    start = 0
    for batch in source.read(keep):
        part = labels.slice(start, batch.num_rows).combine_chunks()
        yield pa.RecordBatch.from_arrays([*batch.columns, part], names=[*keep, LABEL])
        start += batch.num_rows


def _write(
    batches: Iterator[pa.RecordBatch],
    *,
    out: Writer,
    memo: Writer | None,
    rows: int,
    progress: Progress | None,
) -> None:
    """Write to the file asked for and, behind it, the labels alone to the memo, which is finished first."""
    first = next(batches)
    done = 0
    with ExitStack() as files:
        file = files.enter_context(out(schema=first.schema))
        kept = None if memo is None else files.enter_context(memo(schema=first.select([LABEL]).schema))
        for batch in chain([first], batches):
            file.write(batch)
            if kept is not None:
                kept.write(batch.select([LABEL]))
            done += batch.num_rows
            if progress is not None:
                progress(done, rows)
        if done != rows:
            raise InvalidInput(f"the table changed while it was read: it had {rows} rows and then {done}")
