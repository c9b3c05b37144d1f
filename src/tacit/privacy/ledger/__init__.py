"""The ledger: what each data set may spend and has spent, charged before a release exists."""

from tacit.privacy.ledger.ledger import Ledger
from tacit.privacy.ledger.records import Entry, Part, PartSpend, Receipt, Statement, Version

__all__ = ["Entry", "Ledger", "Part", "PartSpend", "Receipt", "Statement", "Version"]
