"""Curated bags: rows grouped by their features, label totals exact or under a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ibis
import numpy as np

from tacit.bags.losses import SemilinearLoss
from tacit.bags.mechanisms.engine import DuckDBEngine, Engine, check_labels, group_rows
from tacit.bags.mechanisms.measure import GridStatistic, public_grid
from tacit.bags.mechanisms.noise import TotalsNoise
from tacit.bags.mechanisms.sizes import KeepAll, SizeRule
from tacit.bags.mechanisms.totals import Curation
from tacit.bags.partition import BagTotals, Feature, as_features
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import NoGuarantee, Unit
from tacit.privacy.noise import Grid, is_seeded
from tacit.privacy.payment import Payment
from tacit.privacy.rounding import check_count, check_delta

__all__ = ["curate"]

Progress = Callable[[int, int], None]

_EXACT = NoGuarantee(reason="exact totals of bags: a bag of one row is that row's label")


def curate(
    table: object,
    *,
    by: Sequence[str | Feature | Sequence[str | Feature]],
    label: str,
    loss: SemilinearLoss,
    edges: Mapping[str, Sequence[float]] | None = None,
    noise: TotalsNoise | None = None,
    unit: Unit = Unit.LABEL,
    grid: Grid | None = None,
    sizes: SizeRule | None = None,
    rows_per_person: int = 1,
    payment: Payment | None = None,
    engine: Engine | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> BagTotals:
    """Return the label totals of bags: one partition of the rows for each feature set.

    For every feature set and every combination v of its values that occurs, the bag of rows with these values has
    count #{i: x_i = v} and total sum_{x_i = v} T(y_i). Under ``noise`` each total gets discrete noise
    before it leaves; everything else is post-processing.

    Unit ``LABEL``: neighbours differ in one row's label; it moves one total in each partition. Features, keys and
    counts are public by declaration. Unit ``RECORD``: neighbours differ in one whole row; keys come from declared
    values and edges, counts are noised from half of each partition's budget, and only the number of rows is public.
    Not protected: anything about groups larger than ``rows_per_person``, and how long it takes.

    Parameters
    ----------
    table
        What ``load_table`` takes (a path, a frame, an Ibis table of any backend), or what the engine takes.
    by
        The feature sets, such as ``[("C1", "C2"), ("C7",)]``.
    label
        The private column, numbers or truth values.
    loss
        Whose T(y) is added up.
    edges
        Where numeric columns are cut, by column: half-open buckets [a, b).
    noise
        :class:`LaplaceNoise` or :class:`GaussianNoise`; None for exact totals, which carry no guarantee.
    unit
        What one change changes, under noise.
    grid
        The public step that T(y) is rounded to, a power of two; default: 1 for classes, else 1/1000 of the range
        under noise, and no rounding without.
    sizes
        :class:`DropSmall` or :class:`MergeSmall`; default: every bag is kept.
    rows_per_person
        How many rows one person holds at most: the guarantee is then stated for all of them.
    payment
        The ledger to charge, before any noise is drawn.
    engine
        :class:`DuckDBEngine` (default) or :class:`SparkEngine`.
    rng
        Needed with noise: :func:`tacit.privacy.noise.system_rng` for a real release.
    progress
        Called with the partitions done and the partitions in all.

    Raises
    ------
    InvalidInput
        Before anything is charged.
    BudgetExceeded
        The ledger refuses; nothing is drawn.

    References
    ----------
    Chen et al. (2023), Algorithms 1 and 2. Proof: docs/proofs/bags.md.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.bags.losses import LogLoss
    >>> from tacit.bags.mechanisms.noise import LaplaceNoise
    >>> clicks = pa.table({"city": ["a", "b", "a", "a"], "age": [17, 30, 40, 20], "click": [1, 0, 1, 0]})
    >>> exact = curate(clicks, by=["city", ("city", "age")], edges={"age": [18]}, label="click", loss=LogLoss())
    >>> exact.partitions[0].keys["city"].to_pylist(), exact.partitions[0].totals.ravel().tolist()
    (['a', 'b'], [2.0, 0.0])
    >>> print(curate(clicks, by=["city"], label="click", loss=LogLoss(), noise=LaplaceNoise(epsilon=1.0),
    ...              rng=np.random.default_rng(0)))
    2 bags of 1 partition by discrete_laplace: epsilon 1 for one label; seeded, so the noise hides nothing ...
    """
    sets = _feature_sets(by, edges)
    step = public_grid(loss) if grid is None and noise is not None else grid
    curation = Curation(
        measure=GridStatistic(loss=loss, grid=step),
        noise=noise,
        unit=unit,
        sizes=sizes or KeepAll(),
        partitions=len(sets),
    )
    _check_noise(noise, rng, payment)
    check_count(rows_per_person, name="rows_per_person")
    calibrated = curation.calibrate()
    promise = None if calibrated is None else curation.promise(calibrated, rows_per_person)
    with (engine or DuckDBEngine()).open(table) as rows:
        _check_columns(rows, sets, label)
        count = check_labels(rows, label=label, measure=curation.measure)
        if calibrated is not None:
            curation.measure.check_rows(count)
            check_delta(calibrated.guarantee.delta, rows=count)  # how many rows there are is public
        grouped = []
        for done, features in enumerate(sets):
            grouped.append(group_rows(rows, features=features, label=label, measure=curation.measure))
            if grouped[-1].counts.sum() != count:
                raise InvalidInput(f"the table changed while it was read: it had {count} rows and then another number")
            if progress is not None:
                progress(done + 1, len(sets))
        head: dict[str, Any] = {"loss": loss, "label": label, "rows": count, "mechanism": curation.describe(calibrated)}
        if calibrated is None or promise is None or rng is None:
            parts = tuple(curation.exact(one) for one in grouped)
            return BagTotals(partitions=parts, guarantee=_EXACT, seeded=False, **head)
        ready = [curation.prepare(one) for one in grouped]
        if payment is not None:
            payment.charge(promise, _private_column(rows, label), purpose=f"bags by {curation.describe(None)['name']}")
    parts = tuple(curation.hide(one, calibrated, at=p, rng=rng) for p, one in enumerate(ready))
    return BagTotals(partitions=parts, guarantee=promise, seeded=is_seeded(rng), **head)


def _feature_sets(
    by: Sequence[str | Feature | Sequence[str | Feature]], edges: Mapping[str, Sequence[float]] | None
) -> tuple[tuple[Feature, ...], ...]:
    given = [by] if isinstance(by, str | Feature) else by
    sets = tuple(as_features(one, edges=edges) for one in given)
    if not sets:
        raise InvalidInput("by must name at least one feature set, got none")
    named = [frozenset(feature.name for feature in one) for one in sets]
    if len(set(named)) < len(named):
        raise InvalidInput("by must name different feature sets, got one of them twice: it would be paid for twice")
    unknown = set(edges or ()) - set().union(*named)
    if unknown:
        raise InvalidInput(f"edges must be for columns in by, got {', '.join(sorted(unknown))}")
    return sets


def _check_noise(noise: TotalsNoise | None, rng: np.random.Generator | None, payment: Payment | None) -> None:
    if noise is not None and rng is None:
        raise InvalidInput("rng must be given with noise; take tacit.privacy.noise.system_rng() for a real release")
    if noise is None and payment is not None:
        raise InvalidInput("payment must come with noise: exact totals have no guarantee that a ledger could charge")


def _check_columns(rows: ibis.Table, sets: Sequence[tuple[Feature, ...]], label: str) -> None:
    for feature in (feature for features in sets for feature in features):
        check_present(feature.name, rows.columns, argument="by")
        if feature.name == label:
            raise InvalidInput(f"by must not name the label column {label!r}: its values would leave as keys")
        feature.expression(rows)  # raises if it cannot be a key


def _private_column(rows: ibis.Table, label: str) -> ibis.Table | None:
    # another database keeps no order of rows, so its labels cannot be recognised
    return rows.select(label) if rows.get_backend().name == "duckdb" else None
