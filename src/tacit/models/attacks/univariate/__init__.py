"""Training points from a network of one feature."""

from tacit.models.attacks.univariate.black_box import Probing, probe_function
from tacit.models.attacks.univariate.candidates import Candidates, build_candidates
from tacit.models.attacks.univariate.function import (
    Margin,
    PiecewiseLinear,
    find_margin,
    merge_neurons,
    to_piecewise_linear,
)
from tacit.models.attacks.univariate.level import find_levels
from tacit.models.attacks.univariate.reconstruction import (
    Reconstruction,
    reconstruct_univariate,
    reconstruction_leak,
)
from tacit.models.attacks.univariate.stationarity import Explanation, explain_weights, residual_of

__all__ = [
    "Candidates",
    "Explanation",
    "Margin",
    "PiecewiseLinear",
    "Probing",
    "Reconstruction",
    "build_candidates",
    "explain_weights",
    "find_levels",
    "find_margin",
    "merge_neurons",
    "probe_function",
    "reconstruct_univariate",
    "reconstruction_leak",
    "residual_of",
    "to_piecewise_linear",
]
