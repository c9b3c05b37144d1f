"""What a mechanism may give away, as a frozen value; what it costs is worked out from it, never stored apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from tacit.privacy.distribution import INTERVAL, LossDistribution
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_delta, check_epsilon, exact, round_up

__all__ = [
    "ApproximateLoss",
    "ComposedLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "GaussianLoss",
    "PrivacyLoss",
    "PureLoss",
    "distribution_of",
    "loss_from_json",
    "loss_to_json",
]


_FINE = 1e-6  # losses closer than this are not told apart


@runtime_checkable
class PrivacyLoss(Protocol):
    """Anything with a name for files, its pure epsilon (infinite if none) and its loss distribution.

    Examples
    --------
    >>> isinstance(PureLoss(epsilon=1.0), PrivacyLoss)
    True
    """

    kind: ClassVar[str]

    def __hash__(self) -> int: ...

    @property
    def pure_epsilon(self) -> float:
        """The least epsilon at delta 0, or infinity."""

    def distribution(self) -> LossDistribution:
        """A distribution that dominates the mechanism's privacy loss."""

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon at ``delta``, rounded up; infinite where there is none."""


class _Priced:
    """The price of a loss that has no closed form of its own: its pure epsilon or its distribution's, the lesser."""

    __slots__ = ()

    def epsilon_at(self: PrivacyLoss, delta: float) -> float:
        """Return the least epsilon at ``delta``, rounded up; infinite where there is none.

        Examples
        --------
        >>> PureLoss(epsilon=1.0).epsilon_at(0.0)
        1.0
        """
        pure = self.pure_epsilon
        return pure if delta == 0 else min(pure, distribution_of(self).epsilon_at(delta))


@dataclass(frozen=True, slots=True, kw_only=True)
class PureLoss(_Priced):
    """The worst that an epsilon-DP mechanism can do: two outcomes with losses +epsilon and -epsilon.

    Examples
    --------
    >>> PureLoss(epsilon=1.0).pure_epsilon
    1.0
    """

    kind: ClassVar[str] = "pure"
    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon, zero=True)

    @property
    def pure_epsilon(self) -> float:
        """Epsilon itself."""
        return self.epsilon

    def distribution(self) -> LossDistribution:
        """Randomized response on one bit: it dominates every epsilon-DP mechanism.

        Examples
        --------
        >>> PureLoss(epsilon=1.0).distribution().delta_at(1.0)
        0.0
        """
        keep = 1 / (1 + math.exp(-self.epsilon))
        return LossDistribution.from_atoms([self.epsilon, -self.epsilon], [keep, 1 - keep])


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateLoss(_Priced):
    """The worst that an (epsilon, delta)-DP mechanism can do: with probability delta it tells all.

    Examples
    --------
    >>> ApproximateLoss(epsilon=1.0, delta=1e-5).pure_epsilon
    inf
    """

    kind: ClassVar[str] = "approximate"
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon, zero=True)
        check_delta(self.delta)

    @property
    def pure_epsilon(self) -> float:
        """Epsilon where delta is 0, else infinite."""
        return self.epsilon if self.delta == 0 else math.inf

    def distribution(self) -> LossDistribution:
        """Kairouz, Oh and Viswanath (2017): the dominating pair of (epsilon, delta).

        Examples
        --------
        >>> ApproximateLoss(epsilon=1.0, delta=1e-5).distribution().infinity
        1e-05
        """
        keep = (1 - self.delta) / (1 + math.exp(-self.epsilon))
        other = (1 - self.delta) / (1 + math.exp(self.epsilon))
        return LossDistribution.from_atoms([self.epsilon, -self.epsilon], [keep, other], infinity=self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceLoss(_Priced):
    """Integer noise with P(k) proportional to e^(-|k|/scale) on a query of integer sensitivity.

    Examples
    --------
    >>> DiscreteLaplaceLoss(scale=Fraction(2), sensitivity=1).pure_epsilon
    0.5
    """

    kind: ClassVar[str] = "discrete_laplace"
    scale: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        _check_noise(self.scale, self.sensitivity)

    @property
    def pure_epsilon(self) -> float:
        """Sensitivity / scale, rounded up."""
        return round_up(Fraction(self.sensitivity) / self.scale)

    def distribution(self) -> LossDistribution:
        """The outcomes 0..D between two outputs D apart; beyond them the loss is +-D/scale.

        Examples
        --------
        >>> round(DiscreteLaplaceLoss(scale=Fraction(2), sensitivity=1).distribution().delta_at(0.0), 6)
        0.244919
        """
        D, scale = self.sensitivity, float(self.scale)
        alpha = math.exp(-1 / scale)
        ends = np.append(np.arange(1, D, _block(2 / scale), dtype=np.float64), D)
        inner = (np.exp(-ends[:-1] / scale) - np.exp(-ends[1:] / scale)) / (1 + alpha)
        losses = np.concatenate([[D], D - 2 * ends[:-1], [-D]]) / scale
        masses = np.concatenate([[1 / (1 + alpha)], inner, [math.exp(-D / scale) / (1 + alpha)]])
        return LossDistribution.from_atoms(losses, masses)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianLoss(_Priced):
    """Integer noise with P(k) proportional to e^(-k^2 / 2 scale^2) on a query of integer sensitivity.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Theorem 7.

    Examples
    --------
    >>> DiscreteGaussianLoss(scale=Fraction(4), sensitivity=1).pure_epsilon
    inf
    """

    kind: ClassVar[str] = "discrete_gaussian"
    scale: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        _check_noise(self.scale, self.sensitivity)

    @property
    def pure_epsilon(self) -> float:
        """Infinite: the tails tell everything, with tiny probability."""
        return math.inf

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon of one use, exactly from the curve: the distribution's grid would add a little.

        Examples
        --------
        >>> DiscreteGaussianLoss(scale=Fraction(4), sensitivity=1).epsilon_at(3.05545465e-6)
        1.0
        """
        from tacit.privacy.noise.curve import discrete_gaussian_epsilon  # the noise package imports this module

        if delta == 0:
            return self.pure_epsilon
        return discrete_gaussian_epsilon(self.scale, delta=delta, sensitivity=self.sensitivity)

    def distribution(self) -> LossDistribution:
        """Losses (D^2 - 2kD) / 2 scale^2; the tail that is left out counts as infinite loss.

        Examples
        --------
        >>> round(DiscreteGaussianLoss(scale=Fraction(4), sensitivity=1).distribution().delta_at(1.0), 9)
        3.055e-06
        """
        D, scale = self.sensitivity, float(self.scale)
        reach = math.ceil(9.6 * scale) + 1  # P(|X| > 9.6 scale) < 1e-20
        block = _block(D / (scale * scale))
        k = np.arange(-reach, reach + 1, block, dtype=np.float64)
        # a block is taken as if all of it were at its first outcome, which has the largest loss; within it
        # the sum over outcomes is block times the value in the middle, to a few parts in 10^8
        mass = np.exp(-((k + (block - 1) / 2) ** 2) / (2 * scale * scale))
        mass /= mass.sum()
        return LossDistribution.from_atoms((D * D - 2 * k * D) / (2 * scale * scale), mass, infinity=1e-19)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianLoss(_Priced):
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
        check_epsilon(self.scale, name="scale")
        check_epsilon(self.sensitivity, name="sensitivity")

    @property
    def pure_epsilon(self) -> float:
        """Infinite."""
        return math.inf

    def distribution(self) -> LossDistribution:
        """dp-accounting's, by connecting the dots.

        Examples
        --------
        >>> round(GaussianLoss(scale=4.0, sensitivity=1.0).distribution().delta_at(1.0), 9)
        2.924e-06
        """
        from dp_accounting.pld import privacy_loss_distribution  # a second of import that few commands need

        built = privacy_loss_distribution.from_gaussian_mechanism(
            self.scale, sensitivity=self.sensitivity, value_discretization_interval=INTERVAL
        )
        dense = built._pmf_remove.to_dense_pmf()  # no public accessor in 0.6
        return LossDistribution(dense._lower_loss, np.asarray(dense._probs, float), dense._infinity_mass)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedLoss(_Priced):
    """Several losses on the same data, one after the other.

    Examples
    --------
    >>> ComposedLoss(parts=(PureLoss(epsilon=0.1), PureLoss(epsilon=0.2))).pure_epsilon
    0.3
    """

    kind: ClassVar[str] = "composed"
    parts: tuple[PrivacyLoss, ...]

    @property
    def pure_epsilon(self) -> float:
        """The exact sum, rounded up."""
        epsilons = [part.pure_epsilon for part in self.parts]
        return math.inf if math.inf in epsilons else round_up(sum(map(exact, epsilons), Fraction(0)))

    def distribution(self) -> LossDistribution:
        """Convolution of the parts; equal parts by repeated squaring.

        Examples
        --------
        >>> round(ComposedLoss(parts=(PureLoss(epsilon=1.0),) * 2).distribution().epsilon_at(1e-9), 6)
        2.0
        """
        result = LossDistribution(0, np.ones(1), 0.0)
        for part, count in Counter(self.parts).items():
            result = result.compose(distribution_of(part).power(count))
        return result


@lru_cache(maxsize=256)
def distribution_of(loss: PrivacyLoss) -> LossDistribution:
    """Return ``loss.distribution()``, kept for the next call.

    Examples
    --------
    >>> distribution_of(PureLoss(epsilon=1.0)) is distribution_of(PureLoss(epsilon=1.0))
    True
    """
    return loss.distribution()


def _check_noise(scale: Fraction, sensitivity: int) -> None:
    """A loss below nothing would give a budget back."""
    if not scale > 0:
        raise InvalidInput(f"scale must be > 0, got {scale}")
    check_count(sensitivity, name="sensitivity")


def _block(loss_a_step: float) -> int:
    """How many neighbouring outcomes to take together: their losses differ by at most _FINE."""
    return max(1, math.floor(_FINE / loss_a_step))


_KINDS: dict[str, type[Any]] = {
    cls.kind: cls for cls in (PureLoss, ApproximateLoss, DiscreteLaplaceLoss, DiscreteGaussianLoss, GaussianLoss)
}


def loss_to_json(loss: PrivacyLoss) -> dict[str, Any]:
    """Return a loss as plain JSON; fractions become strings.

    Examples
    --------
    >>> loss_to_json(PureLoss(epsilon=1.0))
    {'kind': 'pure', 'epsilon': 1.0}
    """
    if isinstance(loss, ComposedLoss):
        return {"kind": loss.kind, "parts": [loss_to_json(part) for part in loss.parts]}
    fields = asdict(loss)  # type: ignore[call-overload]
    plain = {name: str(v) if isinstance(v, Fraction) else v for name, v in fields.items()}
    return {"kind": loss.kind, **plain}


def loss_from_json(document: Mapping[str, Any]) -> PrivacyLoss:
    """Read back what :func:`loss_to_json` wrote.

    Examples
    --------
    >>> loss_from_json({"kind": "discrete_laplace", "scale": "3/2", "sensitivity": 1})
    DiscreteLaplaceLoss(scale=Fraction(3, 2), sensitivity=1)
    """
    fields = {name: value for name, value in document.items() if name != "kind"}
    kind = document.get("kind")
    if kind == ComposedLoss.kind:
        return ComposedLoss(parts=tuple(loss_from_json(part) for part in fields["parts"]))
    if kind not in _KINDS:
        raise InvalidInput(f"privacy loss kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    if isinstance(fields.get("scale"), str):
        fields["scale"] = Fraction(fields["scale"])
    loss: PrivacyLoss = _KINDS[kind](**fields)
    return loss
