"""Train a two-layer ReLU network toward its margin, and stop before the margins tie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tacit.models.mechanisms.margin import MarginTraining
from tacit.models.trained import Settled, TrainedModel
from tacit.privacy.edge import Progress
from tacit.privacy.settings import positive, share

if TYPE_CHECKING:
    import numpy as np

    from tacit.models.points import TrainingPoints
    from tacit.privacy.plan import Plan

__all__ = ["EarlyStop"]


@dataclass(frozen=True, kw_only=True)
class EarlyStop(MarginTraining):
    """The last network whose margins do not tie. Unit: none. It weakens attacks at the margin, and no other."""

    name: ClassVar[str] = "early_stop"
    phrase: ClassVar[str] = "a network stopped before its margins tie"
    reason: ClassVar[str] = (
        "training stopped before the margins tie: what the model reveals about a record is measured, not bounded"
    )

    within: float = field(default=0.1, metadata=positive("Margins tie within this share of the least margin."))
    share: float = field(default=0.25, metadata=share("Training stops when more than this share of the points tie."))

    def train(
        self, plan: Plan, settled: Settled, points: TrainingPoints, *, rng: np.random.Generator, progress: Progress
    ) -> TrainedModel:
        from tacit.models.training.early_stop import TieRule, margin_snapshots, stop_before_ties

        snapshots = margin_snapshots(
            points.rows,
            points.signs,
            width=self.width,
            steps=self.steps,
            initial_scale=self.initial_scale,
            rng=rng,
        )
        rule = TieRule(within=self.within, share=self.share)
        found = stop_before_ties(snapshots, points.rows, points.signs, rule=rule)
        return TrainedModel(state=found.model.state, facts={"tied": found.tied, "stopped": found.stopped})

    def notes(self, settled: Settled) -> list[str]:
        end = "Stopped before more tied" if settled["stopped"] else "All steps were taken"
        return [f"{settled['tied']:.0%} of the points are near the least margin. {end}."]
