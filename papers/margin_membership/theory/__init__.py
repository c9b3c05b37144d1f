"""Distributions whose points lie on the margin, what holds in one dimension, and the linear baseline."""

from papers.margin_membership.theory.distributions import GaussianMixture, PointSource, Sphere, condition_failure
from papers.margin_membership.theory.linear import LinearInterpolator, interpolate_labels
from papers.margin_membership.theory.univariate import (
    candidates_as_printed,
    count_breakpoints,
    largest_margin_count,
    move_breakpoint,
    single_training_point,
)

__all__ = [
    "GaussianMixture",
    "LinearInterpolator",
    "PointSource",
    "Sphere",
    "candidates_as_printed",
    "condition_failure",
    "count_breakpoints",
    "interpolate_labels",
    "largest_margin_count",
    "move_breakpoint",
    "single_training_point",
]
