"""A trained model as it leaves: numbers or a pickle, with its plan and its guarantee."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from tacit.data import Encoder
from tacit.data.classes import CUTS_PUBLIC, LISTED
from tacit.data.learned import LearnedModel
from tacit.data.persons import ROWS_PUBLIC
from tacit.models.network import TwoLayerReLU
from tacit.models.plan import Plan
from tacit.models.releases.members import (
    EstimatorMember,
    ModelMember,
    OnnxMember,
    SafetensorsMember,
    TorchMember,
)
from tacit.models.trained import Settled, TrainedModel
from tacit.privacy import releases
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, NoGuarantee, Unit
from tacit.privacy.plan import Plan as AnyPlan
from tacit.privacy.releases import ReleaseHeader, ReleaseMember

__all__ = ["Release", "guarantee_of"]

ELSEWHERE = NoGuarantee(reason="the file does not state how the model was trained")
"""What is known of a model that was made elsewhere."""

_TYPES = "the names, types, ranges and categories of the columns, and which of them have a gap column, are public"
_PERSONS = "which rows belong to one person is public"


def guarantee_of(plan: Plan, settled: Settled) -> AnyGuarantee:
    """Return what holds for a model that was trained by a plan, for one row or for all rows of one person."""
    kept = plan.mechanism.guarantee(plan, settled)
    if not isinstance(kept, Guarantee):
        return kept
    records = kept.unit is Unit.RECORD
    persons = [] if plan.person is None else [ROWS_PUBLIC if records else _PERSONS]
    classes = [LISTED if plan.classes or plan.cuts else "which classes occur, and that every row has one, is public"]
    cuts = [CUTS_PUBLIC] if plan.cuts else []
    assumed = (*kept.assumptions, *([_TYPES] if records else []), *persons, *classes, *cuts)
    return replace(kept, assumptions=assumed).for_group(rows=plan.rows_per_person, apart=plan.mechanism.apart)


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(releases.Release):
    """A model and its guarantee; a model that was made elsewhere has no plan, and an explicit "no guarantee".

    The checksum of a file finds damage and careless edits. It is not a signature: believe a guarantee as far as you
    trust where the file came from.
    """

    plan_type: ClassVar[type[AnyPlan]] = Plan
    member_types: ClassVar[tuple[type[ReleaseMember], ...]] = (
        SafetensorsMember,
        TorchMember,
        OnnxMember,
        EstimatorMember,
    )

    label_column: str | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, trust: bool = False, label: str | None = None) -> Self:
        """Read a model file and check what tacit wrote in it; ``trust`` opens a pickle, which runs the code in it.

        ``label`` names the column of true labels in tables that the model is compared with; default: the plan's.
        """
        release = replace(super().read(path), label_column=label)
        return release.opened() if trust else release

    @classmethod
    def of_trained(cls, trained: TrainedModel, *, header: ReleaseHeader) -> Self:
        """Return what training made as a release."""
        member: ModelMember
        if trained.state is None:
            member = EstimatorMember.of_estimator(trained.estimator)
        else:
            member = SafetensorsMember(trained.state)
        return cls(header=header, members={"model": member})

    @property
    def member(self) -> ModelMember:
        """The one member."""
        (member,) = self.members.values()
        assert isinstance(member, ModelMember)
        return member

    @property
    def label(self) -> str | None:
        """The column of true labels in tables that the model is compared with, where one is known."""
        named = self.settled.get("label") if self.plan is None else self.plan.label
        return self.label_column or named

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """What the outputs represent; None if the file does not say."""
        known = self.settled.get("classes")
        return self.member.labels if known is None else tuple(known)

    @property
    def encoder(self) -> Encoder | None:
        """How columns become numbers; None if the file does not say."""
        return None if self.header.encoder is None else Encoder.from_json(self.header.encoder)

    @property
    def network(self) -> TwoLayerReLU:
        """The homogeneous two-layer ReLU network that the model is, or an error that says why it is none."""
        return self.member.layers.network

    @property
    def is_network(self) -> bool:
        """Whether theory is about this model: a black box of another kind may well look like it."""
        try:
            _ = self.network
        except InvalidInput:
            return False
        return True

    def opened(self) -> Self:
        """Return the release with its pickle opened, if it is one: the caller trusts it, and its guarantee."""
        self.member.open()
        model = self.table_model
        return self if model is None else replace(self, header=replace(self.header, guarantee=model.guarantee_))

    @property
    def table_model(self) -> LearnedModel | None:
        """The model that a learn command wrote, which takes rows of a table unchanged; None of any other."""
        return self.member.table_model

    def check(self) -> AnyGuarantee:
        """Return what the plan's mechanism keeps; nothing is known of a model that was made elsewhere."""
        plan = self.plan
        return guarantee_of(plan, self.settled) if isinstance(plan, Plan) else ELSEWHERE

    def notes(self) -> list[str]:
        """Return what the owner should read about the training."""
        if not isinstance(self.plan, Plan):
            return []
        return [*self.plan.mechanism.notes(self.settled), *(self.encoder.notes() if self.encoder else [])]

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the kind of file that the ending of ``path`` names, completely or not at all."""
        member = self.member.as_kind(self.kind_of(path))
        super(Release, replace(self, members={"model": member})).write(path, force=force)

    @classmethod
    def kind_of(cls, path: str | os.PathLike[str]) -> type[ModelMember]:
        """Return the kind of model file that a path's ending names."""
        ending = Path(path).suffix.lower()
        kinds = [kind for kind in cls.member_types if issubclass(kind, ModelMember)]
        for kind in kinds:
            if ending in kind.endings:
                return kind
        known = ", ".join(one for kind in kinds for one in kind.endings)
        raise InvalidRelease(f"{path} must end in {known}: no other kind of model file is read or written")

    @classmethod
    def _member_type(cls, source: Path) -> type[ReleaseMember]:
        return cls.kind_of(source)

    @classmethod
    def _header_of_stranger(cls, source: Path) -> ReleaseHeader:  # noqa: ARG003
        return ReleaseHeader(surface=Plan.surface, plan=None, guarantee=ELSEWHERE, seeded=False)
