"""The base of every way of training a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.models.trained import Settled, TrainedModel
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import Choice

if TYPE_CHECKING:
    import numpy as np

    from tacit.models.points import TrainingPoints
    from tacit.privacy.guarantee import AnyGuarantee
    from tacit.privacy.loss import SampledGaussianLoss
    from tacit.privacy.plan import Plan

__all__ = ["MOST_NEURONS", "TrainingMechanism"]

MOST_NEURONS = 100_000
"""The most hidden neurons of a plan: weights of each column of the rows for all of them must fit memory."""


@dataclass(frozen=True, kw_only=True)
class TrainingMechanism(Choice):
    """A way of training, by default without a guarantee."""

    apart: ClassVar[bool] = False
    """Whether noise hides each row by itself, so that the losses of a person's rows compose."""
    two_classes: ClassVar[bool] = False
    """Whether it trains one output, whose sign is the class."""
    private_features: ClassVar[bool] = False
    """Whether the guarantee is for features too: then nothing may be computed from them to encode them."""
    usual_attack: ClassVar[str] = "loss"
    """The attack that fits what it trains."""
    references: ClassVar[int] = 8
    """How many models an audit trains the same way to compare with; 0 where one takes minutes: it goes by the loss."""
    reason: ClassVar[str] = ""
    """Why there is no guarantee."""

    @property
    def ending(self) -> str:
        """The ending of the file that holds the model."""
        return ".safetensors"

    def check(self, plan: Plan) -> None:
        """Raise if this training cannot keep what the plan asks for."""
        if plan.epsilon is not None:
            raise InvalidInput(f"must be none: {self.name} adds no noise, so it has no guarantee", field="epsilon")
        if plan.unit is not None:
            raise InvalidInput(f"must not be given: {self.name} has no guarantee", field="unit")

    def settle(self, plan: Plan, *, rows: int, classes: int) -> Settled:
        """Return what the number of rows and of classes decides, before anything is drawn; raise if it cannot be."""
        return {}

    def guarantee(self, plan: Plan, settled: Settled) -> AnyGuarantee:
        """Return what holds for a model trained like that."""
        from tacit.privacy.guarantee import NoGuarantee

        return NoGuarantee(reason=self.reason)

    def noisy_steps(self, settled: Settled) -> SampledGaussianLoss | None:
        """Return the loss of noisy steps on samples of the rows, if that is how it trains."""
        return None

    def train(
        self, plan: Plan, settled: Settled, points: TrainingPoints, *, rng: np.random.Generator, progress: Progress
    ) -> TrainedModel:
        """Train a model on points."""
        raise NotImplementedError

    def notes(self, settled: Settled) -> list[str]:
        """Return what the owner should read about the training, one line each."""
        return []
