"""What a learner promises about the labels it was given, and the ledger it charges for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Receipt
from tacit.privacy.payment import recognise

__all__ = [
    "CLASSES",
    "REPRESENTATION",
    "WEIGHTS",
    "LedgerLeftBehind",
    "assuming",
    "charge_labels",
    "check_choices",
    "without_ledger",
]

CLASSES = "which classes occur in the labels is public"
"""What a guarantee assumes where the class list was read off the labels."""

WEIGHTS = "row weights are public and were not made from the labels"
"""What a guarantee assumes of ``sample_weight``, which goes past the mechanism."""

REPRESENTATION = "the representation was not made from these labels"
"""What a guarantee assumes of a transformer that is given, which may have been fitted before."""


def assuming(guarantee: Guarantee, *assumptions: str) -> Guarantee:
    """Return the guarantee with more assumptions, each once.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> assuming(RandomizedResponse(epsilon=1.0).guarantee(), "a", "a").assumptions[1:]
    ('a',)
    """
    return replace(guarantee, assumptions=tuple(dict.fromkeys((*guarantee.assumptions, *assumptions))))


def charge_labels(
    ledger: Any,  # noqa: ANN401
    labels: object,
    guarantee: Guarantee,
    *,
    dataset: str | None,
    purpose: str,
) -> Receipt | None:
    """Charge the data set that the ledger knows these labels as; without a ledger there is no receipt.

    Labels that it does not know (part of a column, a column registered with others) are charged to ``dataset``, and
    refused where that is None. A known column cannot be charged to another data set.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from tacit.privacy import Unit
    >>> from tacit.privacy.ledger import Ledger
    >>> ledger = Ledger.create(pathlib.Path(tempfile.mkdtemp()) / "ledger.db")
    >>> budget = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    >>> _ = ledger.register([0, 1, 1], name="clicks", budget=budget)
    >>> print(charge_labels(ledger, [0, 1, 1], budget, dataset=None, purpose="labels"))
    entry clicks/1: spent epsilon 1, left 0
    """
    if ledger is None:
        return None
    name, version = recognise(ledger, labels, dataset=dataset)
    receipt: Receipt = ledger.charge(name, guarantee, purpose=purpose, version=version)
    return receipt


def check_choices(**choices: tuple[object, str]) -> None:
    """Raise if an object that was passed in, or None, cannot do what it is for: known before anything is charged.

    Examples
    --------
    >>> check_choices(retrain=("full", "choose"))
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: retrain must be an object with a method choose, got 'full'
    """
    for name, (choice, method) in choices.items():
        if choice is not None and (isinstance(choice, type) or not callable(getattr(choice, method, None))):
            raise InvalidInput(f"{name} must be an object with a method {method}, got {choice!r}")


@dataclass(frozen=True, slots=True)
class LedgerLeftBehind:
    """Stands in a stored model for its ledger: predicting needs none, and fitting must not go uncharged.

    Examples
    --------
    >>> LedgerLeftBehind("ledger.db").charge()
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.LedgerError: this model was stored without its ledger ledger.db; set_params(ledger=...) before
    fitting it again
    """

    location: str

    def charge(self, *_arguments: object, **_options: object) -> NoReturn:
        """Refuse.

        Examples
        --------
        >>> LedgerLeftBehind("ledger.db").charge()
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.LedgerError: this model was stored without its ledger ledger.db; ...
        """
        raise LedgerError(
            f"this model was stored without its ledger {self.location}; set_params(ledger=...) before fitting it again"
        )

    identify = charge


def without_ledger(state: dict[str, Any]) -> dict[str, Any]:
    """Return what to store of a learner: a fitted one leaves its ledger behind, an unfitted one takes the handle along.

    A search in several processes sends unfitted copies to its workers, which must charge the same ledger.

    Examples
    --------
    >>> without_ledger({"ledger": None, "release_": ...})["ledger"] is None
    True
    """
    if state.get("ledger") is None or "release_" not in state:
        return state
    behind = LedgerLeftBehind(str(getattr(state["ledger"], "location", state["ledger"])))
    return {**state, "ledger": behind, "receipt_": None}
