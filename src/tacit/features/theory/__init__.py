"""What theory says of Fisher's rules on released features: their error, the best number of features, and selection."""

from tacit.features.theory.budget import BudgetSplit, split_budget
from tacit.features.theory.error import ReleasedMeans, full_rule_error, independence_rule_error
from tacit.features.theory.features_kept import KeptFeatures, best_features
from tacit.features.theory.selection import SelectionMargin, mean_gap_tail, selection_margin

__all__ = [
    "BudgetSplit",
    "KeptFeatures",
    "ReleasedMeans",
    "SelectionMargin",
    "best_features",
    "full_rule_error",
    "independence_rule_error",
    "mean_gap_tail",
    "selection_margin",
    "split_budget",
]
