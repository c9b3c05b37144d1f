"""The kernel: guarantees, their privacy cost, and the ledger that records it."""

from typing import TYPE_CHECKING

from tacit.privacy.errors import (
    BudgetExceeded,
    InvalidInput,
    InvalidRelease,
    LedgerError,
    MissingExtra,
    TacitError,
    UnitMismatch,
    UnknownData,
)
from tacit.privacy.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.privacy.composition import compose, compose_parallel
    from tacit.privacy.distribution import LossDistribution
    from tacit.privacy.guarantee import AnyGuarantee, Guarantee, NoGuarantee, Unit
    from tacit.privacy.ledger import Ledger

__all__ = [
    "AnyGuarantee",
    "BudgetExceeded",
    "Guarantee",
    "InvalidInput",
    "InvalidRelease",
    "Ledger",
    "LedgerError",
    "LossDistribution",
    "MissingExtra",
    "NoGuarantee",
    "TacitError",
    "Unit",
    "UnitMismatch",
    "UnknownData",
    "compose",
    "compose_parallel",
]

__getattr__ = lazy_names(
    __name__,
    compose="composition",
    compose_parallel="composition",
    LossDistribution="distribution",
    Ledger="ledger",
    **dict.fromkeys(("Guarantee", "NoGuarantee", "AnyGuarantee", "Unit"), "guarantee"),
)
