"""The total privacy cost of several releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tacit.privacy.errors import InvalidInput, UnitMismatch
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.loss import ComposedLoss
from tacit.privacy.rounding import check_delta

__all__ = ["compose", "compose_parallel"]


def compose(guarantees: Iterable[Guarantee], *, delta: float | None = None) -> Guarantee:
    """Return the guarantee of all releases made from the same data.

    Epsilons add exactly, and so do deltas. With ``delta`` the privacy loss distributions are convolved, and the epsilon
    at that delta is used if it is less than the sum, or if the deltas add up to more.

    Parameters
    ----------
    guarantees
        All for the same unit and the same number of rows per person; others are rejected, never added.
    delta
        The delta of the result; required if one of the guarantees has one.

    References
    ----------
    Dwork et al. (2006); Kairouz, Oh and Viswanath (2017); Koskela et al. (2020).

    Examples
    --------
    >>> from tacit.privacy import Unit
    >>> one = Guarantee(unit=Unit.LABEL, epsilon=0.1)
    >>> compose([one, one, one]).epsilon
    0.3
    >>> compose([one] * 100, delta=1e-6).epsilon < 5.3
    True
    """
    parts = tuple(guarantees)
    if not parts:
        raise InvalidInput("must have at least one guarantee, got none", field="guarantees")
    first = parts[0]
    for other in parts[1:]:
        _check_same_unit(first, other)
    target = _target_delta(parts, delta)
    losses = tuple(part.privacy_loss for part in parts)
    equal = len(set(losses)) == 1  # written once
    loss = ComposedLoss(parts=losses[:1], times=len(losses)) if equal else ComposedLoss(parts=losses)
    assumptions = tuple(dict.fromkeys(a for part in parts for a in part.assumptions))
    return Guarantee(
        unit=first.unit,
        epsilon=_finite(loss.epsilon_at(target), target),
        delta=target,
        rows=first.rows,
        loss=losses[0] if len(losses) == 1 else loss,
        assumptions=assumptions,
    )


def compose_parallel(parts: Mapping[str, Sequence[Guarantee]], *, delta: float | None = None) -> Guarantee:
    """Return the guarantee of releases made from disjoint parts: the worst part counts.

    The part of a row must not depend on what the guarantee protects: it may follow from the row's place in the table,
    or for labels from its features, never from its label. A record that moved to another part would change both, and
    cost the sum. All rows of a person must be in one part. The result's assumptions say so.

    Examples
    --------
    >>> from tacit.privacy import Unit
    >>> one = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    >>> compose_parallel({"train": [one, one], "test": [one]}).epsilon
    2.0
    """
    if not parts:
        raise InvalidInput("must name at least one part, got none", field="parts")
    totals = [compose(guarantees, delta=delta) for guarantees in parts.values()]
    for other in totals[1:]:
        _check_same_unit(totals[0], other)
    worst = max(totals, key=lambda total: total.epsilon)
    shared = "row" if worst.rows == 1 else "row and no person"
    return Guarantee(
        unit=worst.unit,
        epsilon=worst.epsilon,
        delta=max(total.delta for total in totals),
        rows=worst.rows,
        assumptions=(
            *dict.fromkeys(a for total in totals for a in total.assumptions),
            f"the parts {', '.join(parts)} share no {shared}, and no row's part depends on what is protected",
        ),
    )


def _check_same_unit(first: Guarantee, other: Guarantee) -> None:
    if (first.unit, first.rows) != (other.unit, other.rows):
        raise UnitMismatch(
            f"a guarantee for {first.protects} and one for {other.protects} do not add; "
            "restate one with for_unit or for_group"
        )


def _target_delta(parts: tuple[Guarantee, ...], delta: float | None) -> float:
    if delta is not None:
        return check_delta(delta)
    if any(part.delta for part in parts):
        raise InvalidInput(
            "must be given: one of the guarantees has a delta, so their sum needs one too", field="delta"
        )
    return 0.0


def _finite(epsilon: float, delta: float) -> float:
    if epsilon == float("inf"):
        raise InvalidInput(f"must be larger than {delta!r}: the guarantees' own deltas add up to more", field="delta")
    return epsilon
