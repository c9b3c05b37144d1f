"""Label totals of groups of rows: protect them, learn from them, attack them."""

from tacit.bags.losses import CrossEntropy, LogLoss, PoissonLoss, SemilinearLoss, SquaredLoss
from tacit.bags.partition import BagRelease, Feature, Partition, RandomBags, read_bags
from tacit.bags.protect import (
    BernoulliDraw,
    ChosenSets,
    DropSmall,
    DuckDBEngine,
    GaussianNoise,
    KeepAll,
    LaplaceNoise,
    MergeSmall,
    Proportions,
    Reconciled,
    SparkEngine,
    choose_sets,
    curate,
    draw,
    make_consistent,
)

__all__ = [
    "BagRelease",
    "BernoulliDraw",
    "ChosenSets",
    "CrossEntropy",
    "DropSmall",
    "DuckDBEngine",
    "Feature",
    "GaussianNoise",
    "KeepAll",
    "LaplaceNoise",
    "LogLoss",
    "MergeSmall",
    "Partition",
    "PoissonLoss",
    "Proportions",
    "RandomBags",
    "Reconciled",
    "SemilinearLoss",
    "SparkEngine",
    "SquaredLoss",
    "choose_sets",
    "curate",
    "draw",
    "make_consistent",
    "read_bags",
]
