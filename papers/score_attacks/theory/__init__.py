"""When no prediction separates labels, how hard it is to tell, and predictions from primes."""

from papers.score_attacks.theory.hardness import (
    Formula,
    is_almost_tautology,
    separable_unless_models,
    separates,
    separation_function,
)
from papers.score_attacks.theory.limits import bounded_limit, discrete_limit, monotone_limit
from papers.score_attacks.theory.primes import first_primes, labels_of_product, prime_matrix

__all__ = [
    "Formula",
    "bounded_limit",
    "discrete_limit",
    "first_primes",
    "is_almost_tautology",
    "labels_of_product",
    "monotone_limit",
    "prime_matrix",
    "separable_unless_models",
    "separates",
    "separation_function",
]
