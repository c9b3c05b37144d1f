"""The guarantee of a release: its unit, its strength and its assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput, UnitMismatch
from tacit.privacy.loss import (
    ApproximateLoss,
    ComposedLoss,
    PrivacyLoss,
    PureLoss,
    distribution_of,
    loss_from_json,
    loss_to_json,
)
from tacit.privacy.rounding import check_count, check_delta, check_epsilon, exact, format_up, round_up
from tacit.privacy.unit import Unit

__all__ = ["AnyGuarantee", "Guarantee", "NoGuarantee", "Unit", "guarantee_from_json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """(epsilon, delta)-differential privacy for neighbors that differ in ``rows`` units.

    Parameters
    ----------
    epsilon, delta
        The strength. A float is read as the decimal that it prints.
    rows
        How many units belong to one person; 1 unless the user stated more (:meth:`for_group`).
    loss
        The mechanism's privacy loss, which composition uses. Default: the worst that (epsilon, delta) allows.
    assumptions
        The assumptions of the guarantee, one sentence each; shown wherever the release is used.

    Examples
    --------
    >>> print(Guarantee(unit=Unit.LABEL, epsilon=1.0))
    epsilon 1 for one label
    """

    unit: Unit
    epsilon: float
    delta: float = 0.0
    rows: int = 1
    loss: PrivacyLoss | None = None
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", _unit(self.unit))
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon, zero=True))
        object.__setattr__(self, "delta", check_delta(self.delta))
        object.__setattr__(self, "rows", check_count(self.rows, name="rows"))
        object.__setattr__(self, "assumptions", tuple(self.assumptions))
        least = 0.0 if self.loss is None else self.loss.epsilon_at(self.delta)
        if least > self.epsilon:
            raise InvalidInput(
                f"must be at least {least!r}, what the mechanism's privacy loss costs at delta "
                f"{self.delta!r}, got {self.epsilon!r}",
                field="epsilon",
            )

    @classmethod
    def from_loss(
        cls, loss: PrivacyLoss, *, unit: Unit, delta: float = 0.0, assumptions: tuple[str, ...] = ()
    ) -> Guarantee:
        """Return the tightest guarantee of a mechanism at ``delta``."""
        epsilon = loss.epsilon_at(check_delta(delta))
        if not math.isfinite(epsilon):
            raise InvalidInput(
                f"must be larger than {delta!r}: at that delta this mechanism has no epsilon", field="delta"
            )
        return cls(unit=unit, epsilon=epsilon, delta=delta, loss=loss, assumptions=assumptions)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """The loss to compose: the mechanism's own, or the worst that (epsilon, delta) allows."""
        if self.loss is not None:
            return self.loss
        if self.delta == 0:
            return PureLoss(epsilon=self.epsilon)
        return ApproximateLoss(epsilon=self.epsilon, delta=self.delta)

    @property
    def mu(self) -> float | None:
        """The mu of Gaussian privacy that the loss has; None if none is known."""
        return self.privacy_loss.mu

    @property
    def rho(self) -> float | None:
        """The rho of zero-concentrated privacy that the loss has; None if none is known."""
        return self.privacy_loss.rho

    def least_false_negatives(self, false_positives: ArrayLike) -> NDArray[np.float64]:
        """Return the trade-off curve: the rate at which every test with these false positives misses, at least.

        A test looks at the release and says which of two neighbors it was made from.

        References
        ----------
        Dong, Roth and Su (2022), Definition 2.1.

        Examples
        --------
        >>> Guarantee(unit=Unit.LABEL, epsilon=1.0).least_false_negatives([0.0, 0.1, 0.5]).round(3).tolist()
        [1.0, 0.728, 0.184]
        """
        from tacit.privacy.trade_off import trade_off_curve

        curve = trade_off_curve(distribution_of(self.privacy_loss))
        return curve(1 - np.asarray(false_positives, dtype=np.float64))

    def for_group(self, *, rows: int, apart: bool = False) -> Guarantee:
        """Return the guarantee for a person with ``rows`` units, computed on the mechanism's privacy loss.

        Without a delta, epsilon grows to rows times epsilon. With one, delta stays, and epsilon is what the loss of the
        group costs there; if only (epsilon, delta) is known of the mechanism, both grow.

        Parameters
        ----------
        apart
            Whether each unit is hidden by noise of its own, as randomized labels are: the losses then compose, which
            costs less than one loss for inputs so many units apart.

        References
        ----------
        docs/proofs/groups.md.

        Examples
        --------
        >>> Guarantee(unit=Unit.LABEL, epsilon=0.1).for_group(rows=3).epsilon
        0.3
        """
        k = check_count(rows, name="rows")
        if self.rows != 1:
            raise InvalidInput(f"must be stated once, this guarantee is for {self.rows} rows already", field="rows")
        if k == 1:
            return self
        loss = ComposedLoss(parts=(self.privacy_loss,), times=k) if apart else self.privacy_loss.for_group(k)
        if self.delta == 0:
            return replace(self, epsilon=round_up(k * exact(self.epsilon)), rows=k, loss=loss)
        delta = loss.delta if isinstance(loss, ApproximateLoss) else self.delta
        epsilon = loss.epsilon_at(delta)
        if not math.isfinite(epsilon):
            raise InvalidInput(
                f"must be fewer: for {k} rows of one person this noise has no epsilon at delta {delta!r}", field="rows"
            )
        return replace(self, epsilon=epsilon, delta=delta, rows=k, loss=loss)

    def for_unit(self, unit: Unit) -> Guarantee:
        """Restate the guarantee for a smaller unit: a change of a record includes a change of its label."""
        target = _unit(unit)
        if target == self.unit:
            return self
        if (self.unit, target) != (Unit.RECORD, Unit.LABEL):
            raise UnitMismatch(f"a guarantee for one {self.unit} does not cover one {target}")
        return replace(self, unit=target)

    def to_json(self) -> dict[str, Any]:
        """Return the guarantee as plain JSON."""
        return {
            "unit": str(self.unit),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": self.rows,
            "loss": None if self.loss is None else loss_to_json(self.loss),
            "assumptions": list(self.assumptions),
        }

    @property
    def protects(self) -> str:
        """The protected unit, in words."""
        return f"one {self.unit}" if self.rows == 1 else f"{self.rows} {self.unit}s of one person"

    def __str__(self) -> str:
        delta = f", delta {format_up(self.delta)}" if self.delta else ""
        return f"epsilon {format_up(self.epsilon)}{delta} for {self.protects}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoGuarantee:
    """An explicit "none", with the reason; shown wherever the release is used.

    Examples
    --------
    >>> print(NoGuarantee(reason="exact totals of bags"))
    no guarantee: exact totals of bags
    """

    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise InvalidInput("must say why there is no guarantee, got an empty text", field="reason")

    def to_json(self) -> dict[str, Any]:
        """Return the reason as plain JSON."""
        return {"none": self.reason}

    def __str__(self) -> str:
        return f"no guarantee: {self.reason}"


AnyGuarantee = Guarantee | NoGuarantee


def guarantee_from_json(document: Mapping[str, Any]) -> AnyGuarantee:
    """Read back a guarantee, or an explicit none."""
    if "none" in document:
        return NoGuarantee(reason=document["none"])
    missing = {"unit", "epsilon", "delta"} - set(document)
    if missing:
        raise InvalidInput(f"a guarantee must have its {', '.join(sorted(missing))}")
    loss = document.get("loss")
    return Guarantee(
        unit=_unit(document["unit"]),
        epsilon=document["epsilon"],
        delta=document["delta"],
        rows=document.get("rows", 1),
        loss=None if loss is None else loss_from_json(loss),
        assumptions=tuple(document.get("assumptions", ())),
    )


def _unit(unit: str) -> Unit:
    try:
        return Unit(unit)
    except ValueError:
        raise InvalidInput(f"must be one of {', '.join(Unit)}, got {unit!r}", field="unit") from None
