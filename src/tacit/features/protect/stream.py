"""From a table of any size to a release of features: checked, charged, selected, noised, written whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data import load_table
from tacit.features.protect.box import Box
from tacit.features.protect.moments import ClassMoments
from tacit.features.protect.plan import FeaturePlan
from tacit.features.protect.rows import ClassTotals, NoisedRows
from tacit.features.protect.survey import FeatureTable, Progress, Survey
from tacit.privacy.endings import check_ending
from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import check_writable
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, Receipt
from tacit.privacy.noise import is_seeded
from tacit.privacy.payment import Payment
from tacit.privacy.release import Release, open_release_writer
from tacit.privacy.rounding import check_delta

__all__ = ["LABEL", "ProtectedFeatures", "protect_features"]

LABEL = "label"
"""The name of the released label column, whatever the private one is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedFeatures:
    """What was written, and what it cost.

    Examples
    --------
    >>> from tacit.privacy import Unit
    >>> print(ProtectedFeatures(path=Path("out.parquet"), rows=10, features=("a", "b"),
    ...                         guarantee=Guarantee(unit=Unit.RECORD, epsilon=1.0), mechanism={"name": "noised_rows"},
    ...                         seeded=False))
    2 features of 10 rows by noised_rows in out.parquet: epsilon 1 for one record
    """

    path: Path
    rows: int
    features: tuple[str, ...]
    guarantee: Guarantee
    mechanism: Mapping[str, Any]
    seeded: bool
    receipt: Receipt | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON.

        Examples
        --------
        >>> from tacit.privacy import Unit
        >>> ProtectedFeatures(path=Path("out.parquet"), rows=10, features=("a",), seeded=False,
        ...                   guarantee=Guarantee(unit=Unit.RECORD, epsilon=1.0), mechanism={}).to_json()["rows"]
        10
        """
        return {
            "path": str(self.path),
            "rows": self.rows,
            "features": list(self.features),
            "guarantee": self.guarantee.to_json(),
            "mechanism": dict(self.mechanism),
            "seeded": self.seeded,
            "charge": self.receipt and self.receipt.id,
        }

    def __str__(self) -> str:
        count = f"{len(self.features)} feature{'' if len(self.features) == 1 else 's'}"
        warning = "; seeded, so the noise hides nothing from who knows the seed" if self.seeded else ""
        return f"{count} of {self.rows:,} rows by {self.mechanism['name']} in {self.path}: {self.guarantee}{warning}"


def protect_features(
    table: object,
    out: str | Path,
    *,
    label: str,
    plan: FeaturePlan,
    features: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    rng: np.random.Generator,
    force: bool = False,
    progress: Progress | None = None,
) -> ProtectedFeatures:
    """Write a release of a table's features: Parquet for noised rows, JSON for class totals.

    The table is read once to check it and to add up class totals, and once more, the selected columns only, to
    release rows. A ledger is charged after the checks and before any noise is drawn.

    Unit: one record, label included. Not protected: see :class:`FeaturePlan`.

    Parameters
    ----------
    table
        What ``load_table`` takes.
    out
        The file to write; it appears whole, after everything else succeeded.
    label
        The private label column.
    plan
        What leaves, and under which noise.
    features
        Numeric columns to select from; default: all but the label.
    classes
        The public class list; None declares the classes that occur public.
    ledger, dataset
        Who pays. The ledger recognises the table; ``dataset`` names what to charge for a table it does not know, such
        as some columns or rows of a known one.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release.
    force
        Write over an existing file; never over ``table`` itself.
    progress
        Called with rows done and rows in all, over both readings.

    Examples
    --------
    >>> import tempfile
    >>> from tacit.features.protect.box import Box
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> rows = pa.table({"a": rng.normal(size=500) / 4 + y / 2, "b": rng.normal(size=500) / 4, "y": y})
    >>> plan = FeaturePlan(box=Box.symmetric(1.0), release=ClassTotals(epsilon=1.0, delta=1e-5))
    >>> made = protect_features(rows, Path(tempfile.mkdtemp()) / "totals.json", label="y", plan=plan, rng=rng)
    >>> made.features
    ('a', 'b')
    """
    path = Path(out)
    check_writable(path, force=force, source=table)
    check_ending(path, written="JSON" if isinstance(plan.release, ClassTotals) else "Parquet")
    source = FeatureTable.of(load_table(table), label=label, features=features, classes=classes)
    plan.check(features=len(source.features), classes=len(source.classes))
    _check_names(source, plan)
    promise = plan.guarantee(features=len(source.features), classes=len(source.classes))
    found = source.survey(box=plan.box, progress=progress and (lambda done, total: progress(done, 2 * total)))
    check_delta(plan.release.delta, rows=found.rows)
    receipt = None
    if ledger is not None:
        paying = Payment(ledger=ledger, dataset=dataset)
        receipt = paying.charge(promise, source.table, purpose=f"features by {plan.release.name}: {path.name}")
    places = _select(plan, found.moments, rng=rng)
    making = _Making(
        path=path, force=force, source=source, plan=plan, places=places, promise=promise, rng=rng, seeded=is_seeded(rng)
    )
    making.write(found, progress=progress)
    return ProtectedFeatures(
        path=path,
        rows=found.rows,
        features=making.names,
        guarantee=promise,
        mechanism=making.header,
        seeded=making.seeded,
        receipt=receipt,
    )


def _check_names(source: FeatureTable, plan: FeaturePlan) -> None:
    """Raise if a file could not hold the names."""
    if isinstance(plan.release, NoisedRows) and LABEL in source.features:
        raise InvalidInput(f"features must not name a column {LABEL!r}, as the released labels are called; rename it")


def _select(plan: FeaturePlan, moments: ClassMoments, *, rng: np.random.Generator) -> NDArray[np.int64]:
    if plan.selection is None or plan.class_rows is None:
        return np.arange(moments.sums.shape[1])
    sizes = plan.class_rows.sizes(moments.counts, rng=rng)
    return plan.selection.select(moments, class_rows=sizes, rng=rng)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Making:
    """A release that is paid for and whose features are chosen."""

    path: Path
    force: bool
    source: FeatureTable
    plan: FeaturePlan
    places: NDArray[np.int64]
    promise: Guarantee
    rng: np.random.Generator
    seeded: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.source.features[j] for j in self.places)

    @property
    def box(self) -> Box:
        return self.plan.box.take(self.places)

    @property
    def header(self) -> dict[str, Any]:
        """What a learner and an attacker need to know, all of it public."""
        sides = {"lower": self.box.lower, "upper": self.box.upper}
        public = {
            **self.plan.to_json(),
            "features": list(self.names),
            "classes": list(self.source.classes.values),
            **{name: np.broadcast_to(np.asarray(side), len(self.places)).tolist() for name, side in sides.items()},
            "noise": self.plan.release.public_noise(self.box, features=len(self.places)),
        }
        if self.plan.labels is not None:
            bound = self.plan.labels.bind(len(self.source.classes))
            public["labels"] = {"name": bound.name, "transition": bound.transition().tolist()}
        return public

    def write(self, found: Survey, *, progress: Progress | None) -> None:
        release = self.plan.release
        if isinstance(release, ClassTotals):
            self._write_totals(release, found.moments)
        else:
            self._write_rows(release, found.rows, progress)

    def _write_totals(self, release: ClassTotals, moments: ClassMoments) -> None:
        totals = release.protect(moments.take(self.places), rng=self.rng)
        value = {name: getattr(totals, name).tolist() for name in ("counts", "sums", "squares")}
        Release(
            value=value, guarantee=self.promise, surface="features", mechanism=self.header, seeded=self.seeded
        ).write(self.path, force=self.force)

    def _write_rows(self, release: NoisedRows, rows: int, progress: Progress | None) -> None:
        kind = pa.array(self.source.classes.values).type
        schema = pa.schema([*((name, pa.float64()) for name in self.names), (LABEL, kind)])
        done = 0
        with open_release_writer(
            self.path,
            schema=schema,
            guarantee=self.promise,
            surface="features",
            mechanism=self.header,
            seeded=self.seeded,
            force=self.force,
        ) as out:
            for table in self._tables(release, schema):
                out.write(table)
                done += table.num_rows
                if progress:
                    progress(rows + done, 2 * rows)

    def _tables(self, release: NoisedRows, schema: pa.Schema) -> Iterator[pa.Table]:
        """Return noised batches in order; one is drawn while the one before is written and the next is read."""
        drawing: Future[pa.Table] | None = None
        with ThreadPoolExecutor(1) as pool:
            for values, codes in self.source.read(self.names):
                steps = self.box.snap(values)
                drawn = drawing and drawing.result()
                drawing = pool.submit(self._noised, release, steps, codes, schema)
                if drawn is not None:
                    yield drawn
            if drawing is not None:
                yield drawing.result()

    def _noised(
        self, release: NoisedRows, steps: NDArray[np.int64], codes: NDArray[np.int64], schema: pa.Schema
    ) -> pa.Table:
        noised = self.box.values(release.protect(steps, rng=self.rng))
        labels = self._labels(codes).cast(schema.field(LABEL).type)
        return pa.Table.from_arrays([*map(pa.array, noised.T), labels], schema=schema)

    def _labels(self, codes: NDArray[np.int64]) -> pa.Array:
        assert self.plan.labels is not None  # a plan of rows has a mechanism for labels
        mechanism = self.plan.labels.bind(len(self.source.classes))
        return self.source.classes.decode(mechanism.randomize(codes, rng=self.rng))
