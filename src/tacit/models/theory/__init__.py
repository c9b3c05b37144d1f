"""What theory says of networks at the margin: which points must lie on it."""

from tacit.models.theory.kernel import EXPECTED_RATIO, OutputBounds, bound_outputs, judge_coverage
from tacit.models.theory.orthogonal import (
    Coverage,
    Orthogonality,
    effective_dimension,
    least_margin,
    measure_orthogonality,
)

__all__ = [
    "EXPECTED_RATIO",
    "Coverage",
    "Orthogonality",
    "OutputBounds",
    "bound_outputs",
    "effective_dimension",
    "judge_coverage",
    "least_margin",
    "measure_orthogonality",
]
