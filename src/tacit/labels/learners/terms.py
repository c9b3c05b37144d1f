"""What a learner's guarantee assumes, and what becomes of its payment when the learner is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.guarantee import AnyGuarantee, NoGuarantee

__all__ = ["REPRESENTATION", "WEIGHTS", "PaymentLeftBehind", "assuming", "check_choices", "without_payment"]

WEIGHTS = "row weights are public and were not made from the labels"
"""What a guarantee assumes of ``sample_weight``, which bypasses the mechanism."""

REPRESENTATION = "the representation was not made from these labels"
"""What a guarantee assumes of a transformer that is given, which may have been fitted before."""


def assuming(guarantee: AnyGuarantee, *assumptions: str) -> Any:  # noqa: ANN401
    """Return the guarantee with more assumptions, each once; an explicit none stays one."""
    if isinstance(guarantee, NoGuarantee):
        return guarantee
    return replace(guarantee, assumptions=tuple(dict.fromkeys((*guarantee.assumptions, *assumptions))))


def check_choices(**choices: tuple[object, str]) -> None:
    """Raise if an object that was passed in, or None, cannot do what it is for: known before anything is charged."""
    for name, (choice, method) in choices.items():
        if choice is not None and (isinstance(choice, type) or not callable(getattr(choice, method, None))):
            raise InvalidInput(f"must be an object with a method {method}, got {choice!r}", field=name)


@dataclass(frozen=True, slots=True)
class PaymentLeftBehind:
    """Placeholder for a stored model's payment: predict works, fit raises."""

    location: str

    def charge(self, *_arguments: object, **_options: object) -> NoReturn:
        """Refuse."""
        raise LedgerError(
            f"this model was stored without its ledger {self.location}; set_params(payment=...) before fitting it again"
        )


def without_payment(state: dict[str, Any]) -> dict[str, Any]:
    """Return what to store of a learner: a fitted one leaves its ledger and its progress bar behind.

    A search in several processes sends unfitted copies to its workers, which must charge the same ledger.
    """
    if "release_" not in state:
        return state
    stored = {**state, "progress": None} if "progress" in state else dict(state)
    payment = state.get("payment")
    if payment is None or isinstance(payment, PaymentLeftBehind):
        return stored
    return {**stored, "payment": PaymentLeftBehind(str(payment.ledger.location)), "receipt_": None}
