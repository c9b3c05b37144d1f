"""Curated and random bags as the paper makes them: for any loss and noise, without a plan or a ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tacit.bags.losses import SemilinearLoss
from tacit.bags.mechanisms.curated import check_feature_sets
from tacit.bags.mechanisms.drawing import RandomDraw
from tacit.bags.mechanisms.engine import open_rows
from tacit.bags.mechanisms.measure import GridStatistic, public_grid
from tacit.bags.mechanisms.noise import TotalsNoise
from tacit.bags.mechanisms.prepared_partitions import group_partitions
from tacit.bags.mechanisms.sizes import SizeRule
from tacit.bags.mechanisms.totals_rule import TotalsRule
from tacit.bags.partition import BagTotals, KeyColumn, as_features
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Unit
from tacit.privacy.noise import NoiseGrid
from tacit.privacy.rounding import check_count

__all__ = ["curate", "draw"]


def curate(
    table: object,
    *,
    by: Sequence[str | KeyColumn | Sequence[str | KeyColumn]],
    label: str,
    loss: SemilinearLoss,
    edges: Mapping[str, Sequence[float]] | None = None,
    noise: TotalsNoise | None = None,
    unit: Unit = Unit.LABEL,
    grid: NoiseGrid | None = None,
    sizes: SizeRule | None = None,
    rows_per_person: int = 1,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> BagTotals:
    """Return the label totals of bags: one partition of the rows for each feature set. No ledger is charged.

    For every feature set and every combination v of its values that occurs, the bag of rows with these values has
    count #{i: x_i = v} and total sum_{x_i = v} T(y_i). Under ``noise`` each total gets discrete noise
    before it leaves; everything else is post-processing.

    Unit ``LABEL``: neighbors differ in one row's label; it moves one total in each partition. Features, keys and
    counts are public by declaration. Unit ``RECORD``: neighbors differ in one whole row; keys come from declared
    values and edges, counts get noise from half of each partition's budget, and only the number of rows is public.
    Not protected: anything about groups larger than ``rows_per_person``, and how long it takes.

    Parameters
    ----------
    table
        What ``open_table`` takes (a path, a frame, an Ibis table of any backend), or a Spark frame.
    by
        The feature sets, such as ``[("C1", "C2"), ("C7",)]``.
    label
        The private column, numbers or truth values.
    loss
        Whose T(y) is added up.
    edges
        Where numeric columns are cut, by column: half-open buckets [a, b).
    noise
        :class:`LaplaceTotalsNoise` or :class:`GaussianTotalsNoise`; None for exact totals, which carry no guarantee.
    unit
        What one change changes, under noise.
    grid
        The public step that T(y) is rounded to, a power of two; default: 1 for classes, else 1/1000 of the range
        under noise, and no rounding without.
    sizes
        The least size of bags; default: every bag is kept.
    rows_per_person
        How many rows one person holds at most: the guarantee is then stated for all of them.
    rng
        Needed with noise: :func:`tacit.privacy.noise.system_rng` for a real release.
    progress
        Called with the partitions done and the partitions in all.

    Raises
    ------
    InvalidInput
        Before anything is drawn.

    References
    ----------
    Chen et al. (2023), Algorithms 1 and 2. Proof: docs/proofs/bags.md.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.bags.losses import LogisticLoss
    >>> from tacit.bags.mechanisms.noise import LaplaceTotalsNoise
    >>> clicks = pa.table({"city": ["a", "b", "a", "a"], "age": [17, 30, 40, 20], "click": [1, 0, 1, 0]})
    >>> exact = curate(clicks, by=["city", ("city", "age")], edges={"age": [18]}, label="click", loss=LogisticLoss())
    >>> exact.partitions[0].keys["city"].to_pylist(), exact.partitions[0].totals.ravel().tolist()
    (['a', 'b'], [2.0, 0.0])
    >>> print(curate(clicks, by=["city"], label="click", loss=LogisticLoss(), noise=LaplaceTotalsNoise(epsilon=1.0),
    ...              rng=np.random.default_rng(0)))
    2 bags of 1 partition by discrete_laplace: epsilon 1 for one label; seeded, so the noise hides nothing ...
    """
    sets = tuple(as_features(one, edges=edges) for one in ([by] if isinstance(by, str | KeyColumn) else by))
    check_feature_sets([[one.name for one in features] for features in sets], label=label, edges=edges or ())
    rule = TotalsRule(
        measure=GridStatistic(loss=loss, grid=public_grid(loss) if grid is None and noise is not None else grid),
        noise=noise,
        unit=unit,
        sizes=sizes or SizeRule(),
        partitions=len(sets),
    )
    if noise is not None and rng is None:
        raise InvalidInput(
            "must be given with noise; take tacit.privacy.noise.system_rng() for a real release", field="rng"
        )
    check_count(rows_per_person, name="rows_per_person")
    guarantee = rule.guarantee(rows_per_person)
    with open_rows(table) as rows:
        count, grouped = group_partitions(rows, sets, label, rule, guarantee, progress)
    return rule.release(grouped, guarantee=guarantee, label=label, rows=count, rng=rng)


def draw(
    table: object,
    *,
    size: int,
    bags: int,
    label: str,
    loss: SemilinearLoss,
    joins: int | None = None,
    bernoulli: bool = False,
    noise: TotalsNoise | None = None,
    grid: NoiseGrid | None = None,
    rows_per_person: int = 1,
    rng: np.random.Generator,
) -> BagTotals:
    """Return random bags of a table's rows with the mean of T(y) in each. No ledger is charged.

    Every bag has ``size`` different rows; a row may be in several bags, in at most ``joins`` where that is given.
    Under ``noise`` it must be given: a label then moves at most ``joins`` sums, and the noise is scaled to
    that. The label of a bag is its noisy sum over ``size``.

    Unit: one row's label; which rows are in which bag is public. Not protected: anything about the features.

    Parameters
    ----------
    table
        What ``open_table`` takes, with an order of rows; only the label column is read.
    size, bags, joins
        Rows in a bag, bags, and the most bags that one row may be in.
    label, loss
        The private column, and the loss whose T(y) is averaged.
    bernoulli
        Release the paper's draws: 0 or 1 in each entry, 1 with the mean as its probability. After noise the mean is
        clipped to [0, 1] first, which is post-processing; the draw is then biased toward 1/2.
    noise
        :class:`LaplaceTotalsNoise` or :class:`GaussianTotalsNoise`; None for exact labels, which carry no guarantee.
    grid
        As in :func:`curate`.
    rows_per_person
        As in :func:`curate`.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release.

    References
    ----------
    Chen et al. (2023), Section 4. Proof: docs/proofs/bags.md.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.bags.losses import LogisticLoss
    >>> from tacit.bags.mechanisms.noise import LaplaceTotalsNoise
    >>> clicks = pa.table({"click": [1, 0, 1, 0, 1, 1]})
    >>> made = draw(clicks, size=2, bags=3, joins=1, label="click", loss=LogisticLoss(),
    ...             noise=LaplaceTotalsNoise(epsilon=2.0), rng=np.random.default_rng(0))
    >>> made.random.rows.shape, made.random.most_joins
    ((3, 2), 1)
    >>> print(made)
    3 bags of random bags by discrete_laplace: epsilon 2 for one label; seeded, so the noise hides nothing ...
    """
    how = RandomDraw(
        size=size,
        bags=bags,
        joins=joins,
        bernoulli=bernoulli,
        measure=GridStatistic(loss=loss, grid=public_grid(loss) if grid is None and noise is not None else grid),
        noise=noise,
        rows_per_person=check_count(rows_per_person, name="rows_per_person"),
    )
    with open_rows(table) as rows:
        return how.prepare(rows, label).draw(rng)
