"""Train a scikit-learn classifier on randomized labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.models.mechanisms.plain import EstimatorTraining
from tacit.models.trained import Settled, TrainedModel
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    import numpy as np

    from tacit.models.points import TrainingPoints
    from tacit.privacy.guarantee import AnyGuarantee
    from tacit.privacy.plan import Plan

__all__ = ["FEATURES", "LabelPrivateTraining"]

FEATURES = "features are not protected: membership and reconstruction of rows are as without it"
"""What the guarantee of a label-private model assumes."""


@dataclass(frozen=True, kw_only=True)
class LabelPrivateTraining(EstimatorTraining):
    """A scikit-learn classifier trained after randomized response on the labels.

    Unit: one label; neighbors differ in one row's label, all features fixed. Everything after the randomized labels
    is post-processing. Not protected: the features, and whether a row was in the table at all.
    """

    name: ClassVar[str] = "label_private"
    phrase: ClassVar[str] = "{estimator} trained on randomized labels"
    apart: ClassVar[bool] = True

    def check(self, plan: Plan) -> None:
        if plan.epsilon is None:
            raise InvalidInput("must be given for label_private; plain trains without noise", field="epsilon")
        if plan.delta:
            raise InvalidInput("must be 0 for label_private, whose guarantee needs none", field="delta")
        if plan.unit not in (None, Unit.LABEL):
            raise InvalidInput(f"must be label for label_private, got {plan.unit}", field="unit")

    def guarantee(self, plan: Plan, settled: Settled) -> AnyGuarantee:
        from tacit.privacy.guarantee import Guarantee

        assert plan.epsilon is not None
        return Guarantee(unit=Unit.LABEL, epsilon=plan.epsilon, assumptions=(FEATURES,))

    def train(
        self, plan: Plan, settled: Settled, points: TrainingPoints, *, rng: np.random.Generator, progress: Progress
    ) -> TrainedModel:
        from tacit.models.training.estimators import fit_estimator
        from tacit.privacy.noise import randomize_codes

        assert plan.epsilon is not None
        classes = len(points.classes)
        codes = randomize_codes(points.codes, epsilon=plan.epsilon, classes=classes, rng=rng)
        return fit_estimator(self.estimator, points.rows, codes, classes=classes, rng=rng)
