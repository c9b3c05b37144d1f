"""The ledger: the privacy budget and spend of each data set, charged before a release exists."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.privacy.ledger.ledger import Ledger
    from tacit.privacy.ledger.records import (
        DataSetPart,
        DataSetStatement,
        DataSetVersion,
        LedgerEntry,
        PartSpend,
        Receipt,
    )

__all__ = ["DataSetPart", "DataSetStatement", "DataSetVersion", "Ledger", "LedgerEntry", "PartSpend", "Receipt"]


def __getattr__(name: str) -> object:
    """Import a name when it is first used, because only an open ledger needs a database."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'ledger' if name == 'Ledger' else 'records'}"), name)
