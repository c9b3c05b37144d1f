"""What scores can and cannot tell: ceilings, limits, hardness, and the paper's table computed."""

from tacit.scores.theory.ceilings import (
    LabelsPerQuery,
    QueryBounds,
    labels_per_query,
    queries_for,
    rounding_noise,
    unit_of,
)
from tacit.scores.theory.hardness import (
    Formula,
    is_almost_tautology,
    separable_unless_models,
    separates,
    separation_function,
)
from tacit.scores.theory.limits import bounded_limit, discrete_limit, monotone_limit
from tacit.scores.theory.primes import first_primes, labels_of_product, prime_matrix

__all__ = [
    "Formula",
    "LabelsPerQuery",
    "QueryBounds",
    "bounded_limit",
    "discrete_limit",
    "first_primes",
    "is_almost_tautology",
    "labels_of_product",
    "labels_per_query",
    "monotone_limit",
    "prime_matrix",
    "queries_for",
    "rounding_noise",
    "separable_unless_models",
    "separates",
    "separation_function",
    "unit_of",
]
