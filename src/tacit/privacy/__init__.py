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
    from tacit.privacy.ledger import Entry, Ledger, Part, PartSpend, Receipt, Statement, Version
    from tacit.privacy.loss import (
        ApproximateLoss,
        ComposedLoss,
        DiscreteGaussianLoss,
        DiscreteLaplaceLoss,
        GaussianLoss,
        PrivacyLoss,
        PureLoss,
        SampledGaussianLoss,
    )

__all__ = [
    "AnyGuarantee",
    "ApproximateLoss",
    "BudgetExceeded",
    "ComposedLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "Entry",
    "GaussianLoss",
    "Guarantee",
    "InvalidInput",
    "InvalidRelease",
    "Ledger",
    "LedgerError",
    "LossDistribution",
    "MissingExtra",
    "NoGuarantee",
    "Part",
    "PartSpend",
    "PrivacyLoss",
    "PureLoss",
    "Receipt",
    "SampledGaussianLoss",
    "Statement",
    "TacitError",
    "Unit",
    "UnitMismatch",
    "UnknownData",
    "Version",
    "compose",
    "compose_parallel",
]

__getattr__ = lazy_names(
    __name__,
    compose="composition",
    compose_parallel="composition",
    LossDistribution="distribution",
    **dict.fromkeys(("Guarantee", "NoGuarantee", "AnyGuarantee", "Unit"), "guarantee"),
    **dict.fromkeys(("Entry", "Ledger", "Part", "PartSpend", "Receipt", "Statement", "Version"), "ledger"),
    **dict.fromkeys(
        (
            "ApproximateLoss",
            "ComposedLoss",
            "DiscreteGaussianLoss",
            "DiscreteLaplaceLoss",
            "GaussianLoss",
            "PrivacyLoss",
            "PureLoss",
            "SampledGaussianLoss",
        ),
        "loss",
    ),
)
