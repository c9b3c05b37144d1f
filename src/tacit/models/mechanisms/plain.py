"""Train a scikit-learn classifier without protection, to measure against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tacit.models.mechanisms.base import TrainingMechanism
from tacit.models.trained import EstimatorName, Settled, TrainedModel
from tacit.privacy.edge import Progress
from tacit.privacy.settings import about

if TYPE_CHECKING:
    import numpy as np

    from tacit.models.points import TrainingPoints
    from tacit.privacy.plan import Plan

__all__ = ["EstimatorTraining", "PlainTraining"]

_ESTIMATORS: dict[EstimatorName, str] = {
    "logistic": "a logistic regression",
    "mlp": "a neural network",
    "trees": "boosted trees",
    "forest": "a random forest",
}


@dataclass(frozen=True, kw_only=True)
class EstimatorTraining(TrainingMechanism):
    """A scikit-learn classifier of a given name."""

    phrase: ClassVar[str] = "{estimator}"

    estimator: EstimatorName = field(
        default="logistic",
        metadata=about(
            "The classifier: logistic and mlp are written as numbers in any format, trees and forest as a pickle."
        ),
    )

    def in_words(self) -> str:
        """Return what readers of a report call it."""
        return self.phrase.format(estimator=_ESTIMATORS[self.estimator])

    @property
    def ending(self) -> str:
        """The ending of the file: a pickle where there is no other format."""
        return super().ending if self.estimator in ("logistic", "mlp") else ".joblib"


@dataclass(frozen=True, kw_only=True)
class PlainTraining(EstimatorTraining):
    """A scikit-learn classifier trained on the rows as they are. Unit: none. Nothing is protected."""

    name: ClassVar[str] = "plain"
    reason: ClassVar[str] = "training without noise may memorize every row"

    def train(
        self, plan: Plan, settled: Settled, points: TrainingPoints, *, rng: np.random.Generator, progress: Progress
    ) -> TrainedModel:
        from tacit.models.training.estimators import fit_estimator

        return fit_estimator(self.estimator, points.rows, points.codes, classes=len(points.classes), rng=rng)
