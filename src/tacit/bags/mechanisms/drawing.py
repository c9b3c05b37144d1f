"""Random bags: rows drawn at random, their labels as proportions or as the paper's Bernoulli draw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.bags.losses import SemilinearLoss
from tacit.bags.mechanisms.assignment import assign_rows, check_assignment
from tacit.bags.mechanisms.engine import check_labels
from tacit.bags.mechanisms.measure import GridStatistic, public_grid
from tacit.bags.mechanisms.noise import CalibratedNoise, TotalsNoise, TotalsQuery, noise_of_budget
from tacit.bags.partition import BagTotals, RandomBags
from tacit.data import read_rows
from tacit.data.queries import is_ordered
from tacit.data.view import TableView
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, NoGuarantee, Unit
from tacit.privacy.noise import is_seeded
from tacit.privacy.rounding import check_count, check_delta

if TYPE_CHECKING:
    import ibis

    from tacit.bags.mechanisms.random import RandomMechanism
    from tacit.bags.plan import Plan

__all__ = ["PreparedDraw", "RandomDraw", "draw_labels", "joined_queries", "noisy_means"]

_EXACT = NoGuarantee(reason="exact labels of random bags, and enough of them determine every row's label")
_PUBLIC = "the number of rows, and which rows are in which bag, are public and drawn without looking at labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDraw:
    """How random bags are drawn."""

    size: int
    bags: int
    joins: int | None
    bernoulli: bool
    measure: GridStatistic
    noise: TotalsNoise | None
    rows_per_person: int

    def __post_init__(self) -> None:
        if self.noise is not None and self.joins is None:
            raise InvalidInput("must be given with noise: it limits how many bags one label can move", field="joins")
        lower, upper = self.measure.loss.bounds
        if self.bernoulli and not (np.all(lower >= 0) and np.all(upper <= 1)):
            raise InvalidInput(
                "must be left out for this loss: a Bernoulli draw needs T(y) in [0, 1]", field="bernoulli"
            )

    @classmethod
    def of_plan(cls, plan: Plan, mechanism: RandomMechanism, loss: SemilinearLoss) -> RandomDraw:
        """Return how a plan's bags are drawn."""
        noise = None if plan.epsilon is None else noise_of_budget(plan.epsilon, delta=plan.delta)
        return cls(
            size=mechanism.size,
            bags=mechanism.bags,
            joins=mechanism.joins,
            bernoulli=mechanism.draw == "bernoulli",
            measure=GridStatistic(loss=loss, grid=None if noise is None else public_grid(loss)),
            noise=noise,
            rows_per_person=plan.rows_per_person,
        )

    def calibrate(self) -> CalibratedNoise | None:
        """Return the noise of the sums, and its guarantee; None if labels are exact."""
        if self.noise is None or self.joins is None:
            return None
        return self.noise.calibrate(
            joined_queries(self.measure, check_count(self.joins, name="joins")), unit=Unit.LABEL
        )

    def guarantee(self) -> AnyGuarantee:
        """Return the guarantee for all rows of one person; none for exact labels."""
        calibrated = self.calibrate()
        if calibrated is None:
            return _EXACT
        return replace(calibrated.for_person(self.rows_per_person), assumptions=(_PUBLIC,))

    def describe(self) -> dict[str, Any]:
        """Return the noise, in public terms."""
        calibrated = self.calibrate()
        if self.noise is None or calibrated is None:
            return {"name": "exact_random_bags"}
        return {"name": self.noise.name, "scales": [str(calibrated.samplers[0].scale)], "step": self.measure.step}

    def check_rows(self, rows: int) -> None:
        """Raise if so many rows cannot fill the bags."""
        check_assignment(rows, size=self.size, bags=self.bags, joins=self.joins)

    def prepare(self, rows: TableView | ibis.Table, label: str) -> PreparedDraw:
        """Read the labels of rows; raise if they, or the number of rows, do not serve."""
        if not is_ordered(rows):
            raise InvalidInput("must have a row order for random bags; give a file or a frame", field="table")
        count = check_labels(rows, label=label, measure=self.measure)
        self.check_rows(count)
        guarantee = self.guarantee()
        if isinstance(guarantee, Guarantee):
            self.measure.check_rows(self.size)
            check_delta(guarantee.delta, rows=count)  # how many rows there are is public
        values = self.measure.of_column(read_rows(rows, columns=[label])[label])
        return PreparedDraw(how=self, label=label, values=values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedDraw:
    """The T(y) of rows that were read and checked, from which random bags are drawn."""

    how: RandomDraw
    label: str
    values: NDArray[np.float64]

    def draw(self, rng: np.random.Generator) -> BagTotals:
        """Draw the bags, then the noise of their sums, then their labels."""
        how, rows = self.how, len(self.values)
        calibrated = how.calibrate()
        chosen = assign_rows(rows, size=how.size, bags=how.bags, joins=how.joins, rng=rng)
        sums = self.values[chosen].sum(axis=1)
        means, variance = noisy_means(sums, how.measure, calibrated, size=how.size, rng=rng)
        labels = draw_labels(means, rng=rng) if how.bernoulli else means
        return BagTotals(
            random=RandomBags(rows=chosen, labels=labels, joins=how.joins, bernoulli=how.bernoulli, variance=variance),
            loss=how.measure.loss,
            guarantee=how.guarantee(),
            seeded=is_seeded(rng),
            label=self.label,
            rows=rows,
            mechanism=how.describe(),
        )


def noisy_means(
    sums: NDArray[np.float64],
    measure: GridStatistic,
    calibrated: CalibratedNoise | None,
    *,
    size: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], float]:
    """Return the means of bags from their sums in steps, with noise, and the variance of that noise."""
    unit = measure.step / size
    if calibrated is None:
        return sums * unit, 0.0
    sampler = calibrated.samplers[0]
    steps = np.rint(sums).astype(np.int64) + sampler.draw(sums.shape, rng=rng)
    return steps.astype(np.float64) * unit, sampler.variance * unit**2


def draw_labels(means: NDArray[np.float64], *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return 0 or 1 for each mean, 1 with the mean, clipped to [0, 1], as its probability."""
    return (rng.random(means.shape) < np.clip(means, 0.0, 1.0)).astype(np.float64)


def joined_queries(measure: GridStatistic, joins: int) -> list[TotalsQuery]:
    """Return what one label moves in random bags: the sums of ``joins`` bags."""
    return [TotalsQuery(moves=tuple(case * joins for case in measure.label_moves))]
