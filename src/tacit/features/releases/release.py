"""A release of features: noisy rows or noisy class totals, with the noise that its plan states."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data import Encoder
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.noisy_totals import ReleasedTotals
from tacit.features.plan import Plan
from tacit.features.releases.bound_plan import BoundPlan, box_of
from tacit.privacy import releases
from tacit.privacy.errors import InvalidRelease
from tacit.privacy.guarantee import AnyGuarantee
from tacit.privacy.noise import response_matrix
from tacit.privacy.plan import Plan as AnyPlan
from tacit.privacy.releases import DocumentMember, TableMember
from tacit.privacy.rounding import format_up

__all__ = ["Release"]

_PARTS = {"class_rows": "class sizes", "selection": "selection", "release": "features", "labels": "labels"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(releases.Release):
    """What an outsider sees of a table's features."""

    plan_type: ClassVar[type[AnyPlan]] = Plan

    @cached_property
    def plan(self) -> Plan:
        """The plan."""
        if self.header.plan is None:
            raise InvalidRelease("a release of features must have its plan")
        return Plan.from_json(self.header.plan)

    @cached_property
    def bound(self) -> BoundPlan:
        """The plan with its epsilon divided."""
        return BoundPlan.from_description(self.plan, dict(self.settled), features=len(self.encoder.names))

    @cached_property
    def encoder(self) -> Encoder:
        """How the columns of the table became features."""
        return Encoder.from_json(self.header.encoder)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the released features, as encoded."""
        return tuple(self.settled["features"])

    @property
    def classes(self) -> tuple[Any, ...]:
        """The class list."""
        return tuple(self.settled["classes"])

    @property
    def box(self) -> FeatureRanges:
        """The public ranges of the released features."""
        return box_of(self.encoder, self.features)

    @property
    def rows(self) -> pa.Table | None:
        """The released rows: a column per feature, and the label; None of totals."""
        member = self.members.get("rows")
        return member.table if isinstance(member, TableMember) else None

    @property
    def totals(self) -> ReleasedTotals | None:
        """The released class totals; None of rows."""
        member = self.members.get("totals")
        if not isinstance(member, DocumentMember):
            return None
        return ReleasedTotals(**{name: np.asarray(value, dtype=np.float64) for name, value in member.value.items()})

    @property
    def transition(self) -> NDArray[np.float64]:
        """Row y: the probability of each released label of a row when its label is y."""
        labels = self.bound.split.labels
        if math.isinf(labels):
            return np.eye(len(self.classes))
        return response_matrix(epsilon=labels, classes=len(self.classes))

    def check(self) -> AnyGuarantee:
        """Return what the noise keeps, or raise if it is not the plan's."""
        if self.members.keys() not in ({"rows"}, {"totals"}):
            raise InvalidRelease("a release of features must have rows or totals")
        if unknown := set(self.features) - set(self.encoder.names):
            raise InvalidRelease(f"the header has no rule for the feature {min(unknown)!r}")
        if self.bound.describe(self.features, self.classes, box=self.box) != dict(self.settled):
            raise InvalidRelease("the header states other noise than its division of epsilon gives")
        if len(self.features) != (self.plan.select or len(self.encoder.names)):
            raise InvalidRelease("the header has another number of features than its plan selects")
        return self.bound.guarantee(features=len(self.features))

    def notes(self) -> list[str]:
        """Return the released features, and how epsilon is divided."""
        lines = [f"Features: {', '.join(self.features)}.", *self.encoder.notes()]
        if self.plan.epsilon is None:
            return lines
        spent = {said: self.settled["epsilon"][part] for part, said in _PARTS.items()}
        divided = ", ".join(f"{said} {format_up(part)}" for said, part in spent.items() if part)
        return [*lines, f"Epsilon: {divided}."]
