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
from tacit.models.theory.univariate import (
    candidates_as_printed,
    count_breakpoints,
    largest_margin_count,
    move_breakpoint,
    single_training_point,
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
    "candidates_as_printed",
    "condition_failure",
    "count_breakpoints",
    "effective_dimension",
    "judge_coverage",
    "largest_margin_count",
    "least_margin",
    "loss_slope",
    "measure_orthogonality",
    "move_breakpoint",
    "single_training_point",
]
