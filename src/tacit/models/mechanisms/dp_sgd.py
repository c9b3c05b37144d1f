"""Train a two-layer ReLU network by DP-SGD."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.models.mechanisms.base import MOST_NEURONS, TrainingMechanism
from tacit.models.trained import Settled, TrainedModel
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.settings import about, count
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from tacit.models.points import TrainingPoints
    from tacit.models.training.module_training import MakeOptimizer, ModuleTraining
    from tacit.models.training.noisy_steps import RowLoss
    from tacit.privacy.guarantee import AnyGuarantee
    from tacit.privacy.loss import SampledGaussianLoss
    from tacit.privacy.plan import Plan

__all__ = ["DpSgd"]

_MOST = 1e30  # float32 holds its products with the noise
_MOST_EPOCHS = 1e6
_BATCH = 256


def _positive(help: str, *, most: float = _MOST) -> dict[str, object]:
    return dict(about(help, rule=f"> 0 and at most {most:g}", holds=lambda value: 0 < value <= most))


@dataclass(frozen=True, kw_only=True)
class DpSgd(TrainingMechanism):
    """A two-layer ReLU network trained by clipped and noisy gradient steps on Poisson samples of the rows.

    Unit: one record, its label included; neighbors have one record replaced. Not protected: the number of rows, the
    settings, and how long training took. :func:`tacit.models.releases.dp_sgd.train_dp_sgd` trains any torch module.
    """

    name: ClassVar[str] = "dp_sgd"
    private_features: ClassVar[bool] = True
    phrase: ClassVar[str] = "a network trained by DP-SGD"

    width: int = field(default=32, metadata=count("How many hidden neurons.", most=MOST_NEURONS))
    clip: float = field(default=1.0, metadata=_positive("The largest norm of one record's gradient."))
    epochs: float = field(
        default=10.0, metadata=_positive("How often a record is drawn, in expectation.", most=_MOST_EPOCHS)
    )
    batch_size: int | None = field(
        default=None, metadata=count("The expected number of records per step. Default: 256, at most a tenth of all.")
    )
    learning_rate: float = field(default=0.05, metadata=_positive("The learning rate of SGD with momentum 0.9."))

    def check(self, plan: Plan) -> None:
        if plan.epsilon is None:
            raise InvalidInput("must be given for dp_sgd; plain trains without noise", field="epsilon")
        if plan.delta == 0:
            raise InvalidInput(
                "must be in (0, 1) for dp_sgd, whose noise is Gaussian; use less than 1/rows", field="delta"
            )
        if plan.unit not in (None, Unit.RECORD):
            raise InvalidInput(f"must be record for dp_sgd, got {plan.unit}", field="unit")

    def settle(self, plan: Plan, *, rows: int, classes: int) -> Settled:
        """Return the least noise for which all steps together cost at most (epsilon, delta)."""
        from tacit.models.training.accounting import plan_run
        from tacit.privacy.extras import load_extra

        load_extra("torch")
        load_extra("opacus")
        batch_size = self._batch_size(rows)
        assert plan.epsilon is not None
        run = plan_run(rows, epsilon=plan.epsilon, delta=plan.delta, epochs=self.epochs, batch_size=batch_size)
        return {"noise": run.noise, "rate": run.rate, "steps": run.steps, "batch_size": batch_size}

    def guarantee(self, plan: Plan, settled: Settled) -> AnyGuarantee:
        """Return the plan's guarantee with the loss of all steps; less noise or fewer steps are rejected."""
        from tacit.models.training.accounting import ASSUMPTIONS, sampling
        from tacit.privacy.guarantee import Guarantee

        rows, batch_size = settled["rows"], settled["batch_size"]
        planned = sampling(rows, epochs=self.epochs, batch_size=batch_size)
        if batch_size != self._batch_size(rows) or (settled["rate"], settled["steps"]) != planned:
            raise InvalidRelease(f"the header states other steps than its plan takes on {rows} rows")
        loss = self.noisy_steps(settled)
        assert plan.epsilon is not None
        return Guarantee(unit=Unit.RECORD, epsilon=plan.epsilon, delta=plan.delta, loss=loss, assumptions=ASSUMPTIONS)

    def noisy_steps(self, settled: Settled) -> SampledGaussianLoss:
        """Return the loss of all steps."""
        from tacit.privacy.loss import SampledGaussianLoss

        return SampledGaussianLoss(noise=settled["noise"], rate=settled["rate"], steps=settled["steps"])

    def _batch_size(self, rows: int) -> int:
        return max(1, min(_BATCH, rows // 10)) if self.batch_size is None else self.batch_size

    def train(
        self, plan: Plan, settled: Settled, points: TrainingPoints, *, rng: np.random.Generator, progress: Progress
    ) -> TrainedModel:
        """Train the network: one output for two classes, else one for each."""
        import torch

        outputs = 1 if len(points.classes) == 2 else len(points.classes)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            module = torch.nn.Sequential(
                torch.nn.Linear(points.rows.shape[1], self.width),
                torch.nn.ReLU(),
                torch.nn.Linear(self.width, outputs, bias=False),
            )
        training = self.prepare(module, settled, points.rows, points.codes)
        state = training.fit(rng=rng, progress=progress).state_dict()
        return TrainedModel(state={name: value.cpu().numpy() for name, value in state.items()})

    def prepare(
        self,
        module: torch.nn.Module,
        settled: Settled,
        X: NDArray[Any],
        y: NDArray[Any],
        *,
        make_optimizer: MakeOptimizer | None = None,
        loss: RowLoss | None = None,
    ) -> ModuleTraining:
        """Return the training of a module, checked before anything is charged."""
        from tacit.models.training.module_training import ModuleTraining

        return ModuleTraining.prepare(
            module,
            X,
            y,
            run=self.noisy_steps(settled),
            clip=self.clip,
            batch_size=settled["batch_size"],
            learning_rate=self.learning_rate,
            make_optimizer=make_optimizer,
            loss=loss,
        )

    def notes(self, settled: Settled) -> list[str]:
        return [f"{settled['steps']} steps, noise {settled['noise']:.4g} times the clipping norm."]
