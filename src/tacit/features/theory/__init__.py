"""The error of Fisher's rules under noise, and what a selection finds: what the division of epsilon rests on."""

from tacit.features.theory.error import ReleasedMeans, independence_rule_error, psi
from tacit.features.theory.selection import mean_gap_tail, share_found

__all__ = ["ReleasedMeans", "independence_rule_error", "mean_gap_tail", "psi", "share_found"]
