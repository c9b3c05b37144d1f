"""What theory says of Fisher's rules on released features: how many to keep, and when the right ones are selected."""

from papers.private_fisher.theory.error import ReleasedMeans, independence_rule_error, psi
from papers.private_fisher.theory.features_kept import KeptFeatures, best_features
from papers.private_fisher.theory.full_rule import full_rule_error
from papers.private_fisher.theory.selection_margin import SelectionMargin, selection_margin

__all__ = [
    "KeptFeatures",
    "ReleasedMeans",
    "SelectionMargin",
    "best_features",
    "full_rule_error",
    "independence_rule_error",
    "psi",
    "selection_margin",
]
