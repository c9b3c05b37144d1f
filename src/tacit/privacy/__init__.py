"""The kernel: what a guarantee is, what it costs, and where that is written down."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.privacy.composition import compose, compose_parallel
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

_MODULES = {
    "composition": ("compose", "compose_parallel"),
    "distribution": ("LossDistribution",),
    "errors": (
        "BudgetExceeded",
        "InvalidInput",
        "InvalidRelease",
        "LedgerError",
        "MissingExtra",
        "TacitError",
        "UnitMismatch",
        "UnknownData",
    ),
    "guarantee": ("Guarantee", "NoGuarantee", "AnyGuarantee", "Unit"),
    "ledger": ("Entry", "Ledger", "Part", "PartSpend", "Receipt", "Statement", "Version"),
    "loss": (
        "ApproximateLoss",
        "ComposedLoss",
        "DiscreteGaussianLoss",
        "DiscreteLaplaceLoss",
        "GaussianLoss",
        "PrivacyLoss",
        "PureLoss",
        "SampledGaussianLoss",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a name when it is first used: a plan needs neither NumPy nor a database."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
