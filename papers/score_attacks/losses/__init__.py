"""The losses and number systems of the paper that no host is known to use."""

from papers.score_attacks.losses.divergence import (
    Bregman,
    GeneralizedKL,
    ItakuraSaito,
    LinearlyDecomposable,
    NormLike,
    linearly_decomposable,
)
from papers.score_attacks.losses.mahalanobis import Mahalanobis
from papers.score_attacks.losses.precision import ArbitraryPrecision, FloatingPoint
from papers.score_attacks.losses.zero_one import ZeroOne

__all__ = [
    "ArbitraryPrecision",
    "Bregman",
    "FloatingPoint",
    "GeneralizedKL",
    "ItakuraSaito",
    "LinearlyDecomposable",
    "Mahalanobis",
    "NormLike",
    "ZeroOne",
    "linearly_decomposable",
]
