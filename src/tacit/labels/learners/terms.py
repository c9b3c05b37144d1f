"""The assumptions of a learner's guarantee, and the payment for its labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from tacit.labels.plan import Plan
from tacit.labels.releases.release import Release
from tacit.privacy.delivery import ReleaseRequest, deliver
from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, NoGuarantee
from tacit.privacy.ledger.fingerprint import arrow_batches
from tacit.privacy.noise import is_seeded
from tacit.privacy.payment import Payment

__all__ = [
    "REPRESENTATION",
    "WEIGHTS",
    "PaymentLeftBehind",
    "assuming",
    "check_choices",
    "check_payment",
    "draw_once",
    "row_weights",
    "without_payment",
]

WEIGHTS = "row weights are public and were not made from the labels"
"""What a guarantee assumes of ``sample_weight``, which bypasses the mechanism."""

REPRESENTATION = "the representation was not made from these labels"
"""What a guarantee assumes of a transformer that is given, which may have been fitted before."""


def assuming(guarantee: AnyGuarantee, *assumptions: str) -> Any:  # noqa: ANN401
    """Return the guarantee with more assumptions, each once; an explicit none stays one."""
    if isinstance(guarantee, NoGuarantee):
        return guarantee
    return replace(guarantee, assumptions=tuple(dict.fromkeys((*guarantee.assumptions, *assumptions))))


def row_weights(sample_weight: ArrayLike | None, X: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return one checked weight per row, or None."""
    return None if sample_weight is None else np.asarray(_check_sample_weight(sample_weight, X))


def check_choices(**choices: tuple[object, str]) -> None:
    """Raise, before anything is charged, if an object that was passed in lacks its method."""
    for name, (choice, method) in choices.items():
        if choice is not None and (isinstance(choice, type) or not callable(getattr(choice, method, None))):
            raise InvalidInput(f"must be an object with a method {method}, got {choice!r}", field=name)


@dataclass(frozen=True, slots=True)
class PaymentLeftBehind:
    """Placeholder for a stored model's payment: predict works, fit raises."""

    location: str


def check_payment(payment: object, rng: np.random.Generator) -> None:
    """Raise, before anything is learned or charged, if raw labels cannot be paid for."""
    if isinstance(payment, PaymentLeftBehind):
        raise LedgerError(
            f"this model was stored without its ledger {payment.location}; set_params(payment=...) before fitting it "
            "again"
        )
    if payment is None:
        return
    if not isinstance(payment, Payment):
        raise InvalidInput(f"must be a Payment, got {payment!r}", field="payment")
    if is_seeded(rng):
        raise InvalidInput("must be None with a payment: a seeded release is not for publication", field="random_state")


def draw_once(
    draw: Callable[[], Release],
    *,
    plan: Plan,
    guarantee: Guarantee,
    columns: Mapping[str, object],
    payment: Payment | None,
) -> Release:
    """Draw a release of labels; with a payment, charge first, and draw once for the same columns and plan.

    Stages show released labels to the learner's own estimator before all are drawn: if it raises, the charge is spent.
    """
    if payment is None:
        return draw()
    request = ReleaseRequest(
        plan=plan,
        guarantee=guarantee,
        seeded=False,
        rows=lambda: arrow_batches(columns),
        private=[plan.label],
        shown=plan.mechanism.needs_features,
    )
    release = deliver(Release, request, draw=draw, payment=payment)
    return replace(release, header=replace(release.header, guarantee=guarantee))


def without_payment(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state to store of a learner: a fitted one is stored without its ledger and its progress bar.

    A search in several processes sends unfitted copies to its workers, which must charge the same ledger.
    """
    if "release_" not in state:
        return state
    stored = {**state, "progress": None} if "progress" in state else dict(state)
    payment = state.get("payment")
    if payment is None or isinstance(payment, PaymentLeftBehind):
        return stored
    return {**stored, "payment": PaymentLeftBehind(str(payment.ledger.location)), "receipt_": None}
