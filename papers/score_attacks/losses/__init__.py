"""The losses of the paper that no host is known to show: Bregman divergences, decomposable losses, zero-one."""

from papers.score_attacks.losses.divergence import (
    Bregman,
    GeneralisedKL,
    ItakuraSaito,
    LinearlyDecomposable,
    NormLike,
    linearly_decomposable,
)
from papers.score_attacks.losses.zero_one import ZeroOne

__all__ = [
    "Bregman",
    "GeneralisedKL",
    "ItakuraSaito",
    "LinearlyDecomposable",
    "NormLike",
    "ZeroOne",
    "linearly_decomposable",
]
