"""What theory says of networks at the margin: who must lie on it, and from which distributions."""

from tacit.models.theory.distributions import GaussianMixture, PointSource, Sphere, condition_failure
from tacit.models.theory.kernel import EXPECTED_RATIO, OutputBounds, bound_outputs, judge_coverage
from tacit.models.theory.orthogonal import (
    Coverage,
    Orthogonality,
    effective_dimension,
    least_margin,
    loss_slope,
    measure_orthogonality,
)

__all__ = [
    "EXPECTED_RATIO",
    "Coverage",
    "GaussianMixture",
    "Orthogonality",
    "OutputBounds",
    "PointSource",
    "Sphere",
    "bound_outputs",
    "condition_failure",
    "effective_dimension",
    "judge_coverage",
    "least_margin",
    "loss_slope",
    "measure_orthogonality",
]
