"""The loss of real Gaussian noise, once or in steps on sampled rows, from dp-accounting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tacit.privacy.distribution import INTERVAL, LossDistribution
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss.base import DistributionPrice
from tacit.privacy.loss.group import group_distribution
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = ["GaussianLoss", "SampledGaussianLoss", "sampled_step"]

Relation = Literal["ADD_OR_REMOVE_ONE", "REPLACE_ONE"]

_HIDES_NOTHING = 1 / 32  # the usual loss is then above 500, and arrays of all losses would take minutes and gigabytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianLoss(DistributionPrice):
    """Real Gaussian noise; under a Guarantee only with the assumption that its arithmetic is exact.

    Examples
    --------
    >>> round(GaussianLoss(scale=3.730632, sensitivity=1.0).distribution().epsilon_at(1e-5), 3)
    1.0
    """

    kind: ClassVar[str] = "gaussian"
    scale: float
    sensitivity: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_epsilon(self.scale, name="scale"))
        object.__setattr__(self, "sensitivity", check_epsilon(self.sensitivity, name="sensitivity"))

    def for_group(self, rows: int) -> GaussianLoss:
        """As many times the sensitivity."""
        return replace(self, sensitivity=rows * self.sensitivity)

    def distribution(self) -> LossDistribution:
        """dp-accounting's, by connecting the dots; if the noise hides nothing, everything is revealed."""
        if self.scale / self.sensitivity < _HIDES_NOTHING:
            return _told(1.0)
        from dp_accounting.pld import privacy_loss_distribution  # a second of import that few commands need

        built = privacy_loss_distribution.from_gaussian_mechanism(
            self.scale, sensitivity=self.sensitivity, value_discretization_interval=INTERVAL
        )
        return _directions(built)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGaussianLoss(DistributionPrice):
    """Steps of real Gaussian noise on Poisson samples of the rows, under replace-one adjacency: the loss of DP-SGD.

    Under a Guarantee only with the assumption that its arithmetic is exact.

    References
    ----------
    Zhu, Dong and Wang (2022), Theorem 10. That the pair of a step dominates is proved in docs/models_protect.md.

    Examples
    --------
    >>> round(SampledGaussianLoss(noise=1.0, rate=0.01, steps=1000).epsilon_at(1e-5), 2)
    2.84
    """

    kind: ClassVar[str] = "sampled_gaussian"
    noise: float
    rate: float
    steps: int
    rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", check_epsilon(self.noise, name="noise"))
        object.__setattr__(self, "rate", check_epsilon(self.rate, name="rate"))
        if self.rate > 1:
            raise InvalidInput(f"must be in (0, 1], got {self.rate!r}", field="rate")
        object.__setattr__(self, "steps", check_count(self.steps, name="steps"))
        object.__setattr__(self, "rows", check_count(self.rows, name="rows"))

    def for_group(self, rows: int) -> SampledGaussianLoss:
        """Each step for the group: ``rows`` replacements, one after the other."""
        return replace(self, rows=rows * self.rows)

    def distribution(self) -> LossDistribution:
        """The steps', by repeated squaring."""
        (step,) = sampled_step(self.noise, rate=self.rate, relation="REPLACE_ONE")  # its own mirror image
        return group_distribution(step, rows=self.rows).power(self.steps)


def sampled_step(noise: float, *, rate: float, relation: Relation) -> list[LossDistribution]:
    """Return dp-accounting's loss of one step, by connecting the dots: one, or both directions where they differ.

    If the noise hides nothing, a row that is drawn is revealed.

    Examples
    --------
    >>> len(sampled_step(1.0, rate=0.1, relation="REPLACE_ONE"))
    1
    >>> len(sampled_step(1.0, rate=0.1, relation="ADD_OR_REMOVE_ONE"))
    2
    """
    if noise < _HIDES_NOTHING:
        return [_told(rate)] * (1 if relation == "REPLACE_ONE" else 2)
    import dp_accounting  # a second of import that few commands need
    from dp_accounting.pld import privacy_loss_distribution

    built = privacy_loss_distribution.from_gaussian_mechanism(
        noise,
        sampling_prob=rate,
        value_discretization_interval=INTERVAL,
        neighboring_relation=dp_accounting.NeighboringRelation[relation],
    )
    return _directions(built)


def _directions(built: Any) -> list[LossDistribution]:  # noqa: ANN401
    """The arrays of dp-accounting's distribution, which has no public accessor in 0.6."""
    parts = [built._pmf_remove] if built._symmetric else [built._pmf_remove, built._pmf_add]
    dense = [part.to_dense_pmf() for part in parts]
    return [LossDistribution(d._lower_loss, np.asarray(d._probs, float), d._infinity_mass).trimmed() for d in dense]


def _told(chance: float) -> LossDistribution:
    """Reveal everything with this probability, else nothing: an upper bound for any mechanism that samples so."""
    return LossDistribution(0, np.array([1 - chance]), chance)
