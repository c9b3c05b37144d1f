"""Train a two-layer ReLU network to its margin, and certify how near it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tacit.models.mechanisms.base import MOST_NEURONS, TrainingMechanism
from tacit.models.trained import Settled, TrainedModel
from tacit.privacy.edge import Progress
from tacit.privacy.settings import about, count, positive

if TYPE_CHECKING:
    import numpy as np

    from tacit.models.margin.certificate import KktCertificate
    from tacit.models.points import TrainingPoints
    from tacit.privacy.plan import Plan

__all__ = ["MarginMechanism", "MarginTraining"]


@dataclass(frozen=True, kw_only=True)
class MarginTraining(TrainingMechanism):
    """Gradient steps on a two-layer ReLU network from a small start."""

    two_classes: ClassVar[bool] = True
    usual_attack: ClassVar[str] = "margin"
    references: ClassVar[int] = 0

    width: int = field(default=1000, metadata=count("How many hidden neurons.", most=MOST_NEURONS))
    steps: int = field(default=2000, metadata=count("Gradient steps.", most=10**7))
    initial_scale: float = field(
        default=1e-3,
        metadata=positive("Norm of the first network: larger ones separate more points, less near the theory."),
    )


@dataclass(frozen=True, kw_only=True)
class MarginMechanism(MarginTraining):
    """A network near a KKT point of the margin problem. Unit: none. Its weights reveal the rows."""

    name: ClassVar[str] = "margin"
    phrase: ClassVar[str] = "a network near its margin"
    reason: ClassVar[str] = "trained to the margin, so its weights reveal the rows"

    network: Literal["trained", "polished", "exact"] = field(
        default="trained",
        metadata=about(
            "Which network. trained: by gradients. polished: a KKT point from its activation patterns, which may be a "
            "smaller network. exact: the network of least norm; one feature only."
        ),
    )

    def train(
        self, plan: Plan, settled: Settled, points: TrainingPoints, *, rng: np.random.Generator, progress: Progress
    ) -> TrainedModel:
        from tacit.models.margin.certificate import kkt
        from tacit.models.margin.fit import fit_margin
        from tacit.models.margin.univariate import fit_least_norm

        if self.network == "exact":
            network = fit_least_norm(points.rows, points.signs).network
            certificate = kkt(network, points.rows, points.signs, slack=1e-6)
            return TrainedModel(state=network.state, facts={"exact": summarize(certificate)})
        fit = fit_margin(
            points.rows,
            points.signs,
            width=self.width,
            steps=self.steps,
            initial_scale=self.initial_scale,
            rng=rng,
            report=lambda step: progress(step, self.steps),
        )
        facts = {
            "trained": summarize(fit.certificate),
            "polished": fit.polished_certificate and summarize(fit.polished_certificate),
            "shortfall": fit.shortfall,
        }
        return TrainedModel(state=(fit.best if self.network == "polished" else fit.network).state, facts=facts)

    def notes(self, settled: Settled) -> list[str]:
        found = [f"{kind.capitalize()}: {settled[kind]['words']}." for kind in _KINDS if settled.get(kind)]
        return [*found, *([f"Stopped short: {settled['shortfall']}."] if settled.get("shortfall") else [])]


_KINDS = ("exact", "trained", "polished")


def summarize(certificate: KktCertificate) -> dict[str, Any]:
    """Return a certificate in words and numbers, without the multipliers, which name single rows."""
    return {
        "words": str(certificate),
        "residual": certificate.residual,
        "margin": certificate.margin,
        "feasible": bool(certificate.feasible),
        "kinks": certificate.kinks,
        "tolerance": certificate.tolerance,
    }
