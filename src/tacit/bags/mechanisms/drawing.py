"""Random bags: rows drawn at random, their labels as proportions or as the paper's Bernoulli draw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit.bags.losses import SemilinearLoss
from tacit.bags.mechanisms.assignment import assign_rows
from tacit.bags.mechanisms.engine import DuckDBEngine, check_labels
from tacit.bags.mechanisms.measure import GridStatistic, public_grid
from tacit.bags.mechanisms.noise import CalibratedNoise, Query, TotalsNoise
from tacit.bags.partition import BagTotals, RandomBags
from tacit.data import read_rows
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import NoGuarantee, Unit
from tacit.privacy.noise import Grid, is_seeded
from tacit.privacy.payment import Payment
from tacit.privacy.rounding import check_count, check_delta

__all__ = ["BagLabels", "BernoulliDraw", "Proportions", "draw", "joined_queries"]

_EXACT = NoGuarantee(reason="exact labels of random bags: enough of them tell every row's label")
_PUBLIC = "the number of rows, and which rows are in which bag, are public and drawn without looking at labels"


@runtime_checkable
class BagLabels(Protocol):
    """What the label of a bag is, given the mean of its rows' T(y)."""

    @property
    def bernoulli(self) -> bool:
        """Whether labels are drawn."""

    def label(self, means: NDArray[np.float64], *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the labels of bags."""


@dataclass(frozen=True, slots=True)
class Proportions:
    """The mean itself."""

    @property
    def bernoulli(self) -> bool:
        """False."""
        return False

    def label(self, means: NDArray[np.float64], *, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: ARG002
        """Return the means as they are."""
        return means


@dataclass(frozen=True, slots=True)
class BernoulliDraw:
    """0 or 1 in each entry, 1 with the mean as its chance; for labels in [0, 1].

    After noise the mean is clipped to [0, 1] first: the draw is then biased towards 1/2.

    References
    ----------
    Chen et al. (2023), Section 4.
    """

    @property
    def bernoulli(self) -> bool:
        """True."""
        return True

    def label(self, means: NDArray[np.float64], *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return a draw for each mean."""
        return (rng.random(means.shape) < np.clip(means, 0.0, 1.0)).astype(np.float64)


def draw(
    table: object,
    *,
    size: int,
    bags: int,
    label: str,
    loss: SemilinearLoss,
    joins: int | None = None,
    labels: BagLabels | None = None,
    noise: TotalsNoise | None = None,
    grid: Grid | None = None,
    rows_per_person: int = 1,
    payment: Payment | None = None,
    rng: np.random.Generator,
) -> BagTotals:
    """Return random bags of a table's rows with the mean of T(y) in each.

    Every bag has ``size`` different rows; a row may be in several bags, in at most ``joins`` where that is given.
    Under ``noise`` it must be given: a label then moves at most ``joins`` sums, and the noise is scaled to
    that. The label of a bag is its noised sum over ``size``.

    Unit: one row's label; which rows are in which bag is public. Not protected: anything about the features.

    Parameters
    ----------
    table
        What ``load_table`` takes, with an order of rows; only the label column is read.
    size, bags, joins
        Rows in a bag, bags, and the most bags that one row may be in.
    label, loss
        The private column, and the loss whose T(y) is averaged.
    labels
        :class:`Proportions` (default) or :class:`BernoulliDraw`, which after noise is post-processing.
    noise
        :class:`LaplaceNoise` or :class:`GaussianNoise`; None for exact labels, which carry no guarantee.
    grid
        As in :func:`curate`.
    rows_per_person, payment
        As in :func:`curate`.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release.

    References
    ----------
    Chen et al. (2023), Section 4. Proof: docs/proofs/bags.md.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.bags.losses import LogLoss
    >>> from tacit.bags.mechanisms.noise import LaplaceNoise
    >>> clicks = pa.table({"click": [1, 0, 1, 0, 1, 1]})
    >>> made = draw(clicks, size=2, bags=3, joins=1, label="click", loss=LogLoss(), noise=LaplaceNoise(epsilon=2.0),
    ...             rng=np.random.default_rng(0))
    >>> made.random.rows.shape, made.random.most_joins
    ((3, 2), 1)
    >>> print(made)
    3 bags of random bags by discrete_laplace: epsilon 2 for one label; seeded, so the noise hides nothing ...
    """
    kind = labels or Proportions()
    measure = GridStatistic(loss=loss, grid=public_grid(loss) if grid is None and noise is not None else grid)
    _check(kind, loss, joins, noise, payment)
    check_count(rows_per_person, name="rows_per_person")
    calibrated = (
        None if noise is None or joins is None else noise.calibrate(joined_queries(measure, joins), unit=Unit.LABEL)
    )
    with DuckDBEngine().open(table) as rows:
        if rows.get_backend().name != "duckdb":
            raise InvalidInput(
                "table must have an order of rows, which random bags are told by; give a file or a frame"
            )
        count = check_labels(rows, label=label, measure=measure)
        if calibrated is not None:
            measure.check_rows(size)
            check_delta(calibrated.guarantee.delta, rows=count)  # how many rows there are is public
        column = read_rows(rows, columns=[label])[label]
        chosen = assign_rows(count, size=size, bags=bags, joins=joins, rng=rng)
        promise: Any = _EXACT
        if calibrated is not None:
            assumed = replace(calibrated.guarantee, assumptions=(_PUBLIC,))
            promise = assumed.for_group(rows=rows_per_person)
        if payment is not None:
            payment.charge(promise, rows.select(label), purpose=f"random bags by {noise.name if noise else 'none'}")
    values = measure.of_column(column)
    sums = values[chosen].sum(axis=1)
    means, variance = _hide(sums, measure, calibrated, size=size, rng=rng)
    made = RandomBags(
        rows=chosen, labels=kind.label(means, rng=rng), joins=joins, bernoulli=kind.bernoulli, variance=variance
    )
    return BagTotals(
        random=made,
        loss=loss,
        guarantee=promise,
        seeded=is_seeded(rng),
        label=label,
        rows=count,
        mechanism=_describe(noise, calibrated, measure),
    )


def joined_queries(measure: GridStatistic, joins: int) -> list[Query]:
    """Return what one label moves in random bags: the sums of ``joins`` bags."""
    return [Query(moves=tuple(case * joins for case in measure.label_moves))]


def _check(
    kind: BagLabels, loss: SemilinearLoss, joins: int | None, noise: TotalsNoise | None, payment: Payment | None
) -> None:
    if noise is not None and joins is None:
        raise InvalidInput("joins must be given with noise: it caps how many bags one label may move")
    if noise is None and payment is not None:
        raise InvalidInput("payment must come with noise: exact labels have no guarantee that a ledger could charge")
    if joins is not None:
        check_count(joins, name="joins")
    lower, upper = loss.bounds
    if kind.bernoulli and not (np.all(lower >= 0) and np.all(upper <= 1)):
        raise InvalidInput("labels must be proportions for this loss: a Bernoulli draw needs T(y) in [0, 1]")


def _hide(
    sums: NDArray[np.float64],
    measure: GridStatistic,
    calibrated: CalibratedNoise | None,
    *,
    size: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], float]:
    unit = measure.step / size
    if calibrated is None:
        return sums * unit, 0.0
    sampler = calibrated.samplers[0]
    steps = np.rint(sums).astype(np.int64) + sampler.draw(sums.shape, rng=rng)
    return steps.astype(np.float64) * unit, sampler.variance * unit**2


def _describe(noise: TotalsNoise | None, calibrated: CalibratedNoise | None, measure: GridStatistic) -> dict[str, Any]:
    if noise is None or calibrated is None:
        return {"name": "exact_random_bags"}
    return {"name": noise.name, "scales": [str(calibrated.samplers[0].scale)], "step": measure.step}
