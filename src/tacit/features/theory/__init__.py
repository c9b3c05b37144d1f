"""What theory says of Fisher's rules on released features: their error, selection, and the division of epsilon."""

from tacit.features.theory.budget import BudgetSplit, split_budget
from tacit.features.theory.error import ReleasedMeans, independence_rule_error
from tacit.features.theory.selection import mean_gap_tail

__all__ = [
    "BudgetSplit",
    "ReleasedMeans",
    "independence_rule_error",
    "mean_gap_tail",
    "split_budget",
]
