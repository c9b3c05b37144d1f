"""The kernel: what a promise is, what it costs, and where that is written down."""

from tacit.privacy.compose import compose, compose_parallel
from tacit.privacy.distribution import LossDistribution
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
from tacit.privacy.guarantee import Guarantee, NoGuarantee, Promise, Unit
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
from tacit.privacy.release import Release, open_release_writer, read_release

__all__ = [
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
    "Promise",
    "PureLoss",
    "Receipt",
    "Release",
    "SampledGaussianLoss",
    "Statement",
    "TacitError",
    "Unit",
    "UnitMismatch",
    "UnknownData",
    "Version",
    "compose",
    "compose_parallel",
    "open_release_writer",
    "read_release",
]
