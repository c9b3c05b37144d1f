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
    from tacit.privacy.ledger import (
        DataSetPart,
        DataSetStatement,
        DataSetVersion,
        Ledger,
        LedgerEntry,
        PartSpend,
        Receipt,
    )
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
    "DataSetPart",
    "DataSetStatement",
    "DataSetVersion",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "GaussianLoss",
    "Guarantee",
    "InvalidInput",
    "InvalidRelease",
    "Ledger",
    "LedgerEntry",
    "LedgerError",
    "LossDistribution",
    "MissingExtra",
    "NoGuarantee",
    "PartSpend",
    "PrivacyLoss",
    "PureLoss",
    "Receipt",
    "SampledGaussianLoss",
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
    **dict.fromkeys(("Guarantee", "NoGuarantee", "AnyGuarantee", "Unit"), "guarantee"),
    **dict.fromkeys(
        ("LedgerEntry", "Ledger", "DataSetPart", "PartSpend", "Receipt", "DataSetStatement", "DataSetVersion"), "ledger"
    ),
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
