"""Who pays where labels are words: the ledger knows them as they stand in the table."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Receipt
from tacit.privacy.payment import Payment

__all__ = ["PaymentForWords"]


@dataclass(frozen=True, kw_only=True)
class PaymentForWords(Payment):
    """Charges for labels as the ledger knows them, words and not the numbers they became; keeps the receipts."""

    words: object
    receipts: list[Receipt] = field(default_factory=list)

    def charge(self, guarantee: Guarantee, labels: object, *, purpose: str) -> Receipt:
        """Charge the ledger for a release made from these words."""
        self.receipts.append(Payment.charge(self, guarantee, None if labels is None else self.words, purpose=purpose))
        return self.receipts[-1]
