"""A plan with its epsilon divided: what each part of a release costs, and the guarantee of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import Encoder
from tacit.data.classes import CUTS_PUBLIC, LISTED
from tacit.data.persons import ROWS_PUBLIC
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.budget import BudgetSplit, split_budget
from tacit.features.mechanisms.moments import ClassMoments
from tacit.features.mechanisms.scores import SCORES
from tacit.features.mechanisms.selected import BoundMechanism
from tacit.features.mechanisms.selection import NoisyClassRows, PrivateSelection
from tacit.features.plan import Plan
from tacit.privacy.composition import compose
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, NoGuarantee, Unit
from tacit.privacy.loss import PrivacyLoss
from tacit.privacy.rounding import exact, round_up

__all__ = ["BoundPlan", "box_of"]

_PUBLIC = (
    "the number of rows, the names, types, ranges and categories of the features, which of them have a gap column, "
    "and the class list are public"
)


@dataclass(frozen=True, kw_only=True)
class BoundPlan:
    """A plan for a table of so many classes, with its epsilon divided; without noise all parts are infinite."""

    plan: Plan
    classes: int
    split: BudgetSplit

    @classmethod
    def of(cls, plan: Plan, *, features: int, classes: int, rows: int) -> BoundPlan:
        """Divide a plan's epsilon for a table, or raise if the plan does not fit it; nothing is drawn."""
        _check_counts(plan, features=features, classes=classes)
        split = BudgetSplit.without_noise()
        if plan.epsilon is not None:
            split = split_budget(
                plan.epsilon,
                delta=plan.delta,
                features=features,
                keep=plan.select or features,
                rows=rows,
                classes=classes,
                releases_labels=plan.mechanism.releases_labels,
                label_epsilon=plan.label_epsilon,
                selection_epsilon=plan.selection_epsilon,
                public_class_rows=plan.class_rows is not None,
            )
        bound = cls(plan=plan, classes=classes, split=split)
        if bound.selection is not None:
            bound.selection.check()
        return bound

    @property
    def mechanism(self) -> BoundMechanism:
        """The mechanism with its part of epsilon."""
        return self.plan.mechanism.bind(
            epsilon=self.split.release, delta=self.plan.delta, label_epsilon=self.split.labels
        )

    @property
    def selection(self) -> PrivateSelection | None:
        """How columns are chosen; None if all are released."""
        if self.plan.select is None or not self.split.selection:
            return None
        return PrivateSelection(epsilon=self.split.selection, keep=self.plan.select, score=SCORES[self.plan.score])

    def select(self, moments: ClassMoments, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the places of the columns that are released."""
        if self.selection is None:
            return np.arange(moments.sums.shape[1])
        if self.plan.class_rows is not None:
            sizes = np.array(self.plan.class_rows, dtype=np.int64)
        else:
            sizes = NoisyClassRows(epsilon=self.split.class_rows).draw(moments.counts, rng=rng)
        return self.selection.select(moments, class_rows=sizes, rng=rng)

    def guarantee(self, *, features: int) -> AnyGuarantee:
        """Return the guarantee of all that is released together, where this many features are."""
        if self.plan.epsilon is None:
            return NoGuarantee(reason="epsilon is none, so features and labels are released without noise")
        k = self.plan.rows_per_person
        parts = [
            one.for_group(rows=k, apart=self.mechanism.apart) for one in self.mechanism.guarantees(features=features)
        ]
        if self.selection is not None:
            sizes = [] if self.plan.class_rows is not None else [NoisyClassRows(epsilon=self.split.class_rows)]
            parts += [
                one.for_group(rows=k) for one in (*(one.guarantee() for one in sizes), self.selection.guarantee())
            ]
        whole = _sum(parts, delta=self.plan.delta) if k == 1 else compose(parts, delta=self.plan.delta)
        return replace(whole, assumptions=self._assumptions()).for_unit(self.plan.unit or Unit.RECORD)

    def _assumptions(self) -> tuple[str, ...]:
        sizes = self.plan.class_rows
        public = [f"the class sizes {', '.join(map(str, sizes))} are public"] if sizes else []
        cuts = [CUTS_PUBLIC] if self.plan.cuts else []
        return (_PUBLIC, LISTED, *cuts, *public, *([ROWS_PUBLIC] if self.plan.person is not None else []))

    def describe(self, features: Sequence[str], classes: Sequence[Any], *, box: FeatureRanges) -> dict[str, Any]:
        """Return what the plan left open, as plain JSON: all that a learner and an attacker need to know."""
        parts = {name: None if math.isinf(part) else part for name, part in asdict(self.split).items()}
        noise = self.mechanism.describe(box)
        return {"features": list(features), "classes": list(classes), "epsilon": parts, "noise": noise}

    @classmethod
    def from_description(cls, plan: Plan, settled: dict[str, Any], *, features: int) -> BoundPlan:
        """Return the plan that :meth:`describe` described, for a table of so many features."""
        parts = {name: math.inf if part is None else float(part) for name, part in settled["epsilon"].items()}
        split = BudgetSplit(**parts)
        if plan.select not in (None, features):  # nothing is free that looks at the rows
            if split.selection <= 0:
                raise InvalidRelease("the header has no epsilon for the selection of features")
            if split.class_rows <= 0 and plan.class_rows is None:
                raise InvalidRelease("the header has no epsilon for the class sizes")
        return cls(plan=plan, classes=len(settled["classes"]), split=split)


def box_of(encoder: Encoder, features: Sequence[str]) -> FeatureRanges:
    """Return the ranges of some encoded columns."""
    known = {column.name: column for column in encoder.encoded}
    columns = [known[name] for name in features]
    return FeatureRanges(lower=tuple(column.low for column in columns), upper=tuple(column.high for column in columns))


def _check_counts(plan: Plan, *, features: int, classes: int) -> None:
    if plan.select is not None and plan.select > features:
        raise InvalidInput(f"must be at most the number of features, {features}, got {plan.select}", field="select")
    for name in ("selection_epsilon", "class_rows"):
        if plan.select == features and getattr(plan, name) is not None:
            raise InvalidInput(f"has no use with select {features}: all features are released", field=name)
    if plan.class_rows is not None and len(plan.class_rows) != classes:
        raise InvalidInput(
            f"must be one number for each of {classes} classes, got {len(plan.class_rows)}", field="class_rows"
        )


def _sum(parts: list[Guarantee], *, delta: float) -> Guarantee:
    """The plain sum: epsilons and deltas add."""
    plain = Guarantee(
        unit=Unit.RECORD,
        epsilon=round_up(sum((exact(part.epsilon) for part in parts), Fraction(0))),
        delta=round_up(sum((exact(part.delta) for part in parts), Fraction(0))),
    )
    return replace(plain, loss=_loss(parts, plain, delta=delta))


def _loss(parts: list[Guarantee], plain: Guarantee, *, delta: float) -> PrivacyLoss | None:
    """What a ledger composes, where it states no more than the plain sum."""
    try:
        together = compose(parts, delta=delta) if len(parts) > 1 else parts[0]
    except InvalidInput:  # an epsilon of thousands, whose losses leave no room under delta
        return None
    return together.loss if together.epsilon <= plain.epsilon else None
