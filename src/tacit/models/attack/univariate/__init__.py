"""Training points from a network of one feature."""

from tacit.models.attack.univariate.black_box import Probing, probe_function
from tacit.models.attack.univariate.candidates import Candidates, build_candidates
from tacit.models.attack.univariate.function import (
    Margin,
    PiecewiseLinear,
    find_margin,
    merge_neurons,
    to_piecewise_linear,
)
from tacit.models.attack.univariate.level import find_levels
from tacit.models.attack.univariate.reconstruction import (
    Reconstruction,
    reconstruct_univariate,
    reconstruction_leak,
)
from tacit.models.attack.univariate.stationarity import Explanation, explain_weights, residual_of

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
