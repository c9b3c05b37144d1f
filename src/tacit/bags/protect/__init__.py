"""Build label totals of bags, exactly or under a guarantee."""

from tacit.bags.protect.choice import ChosenSets, choose_sets
from tacit.bags.protect.consistency import Reconciled, make_consistent
from tacit.bags.protect.curation import curate
from tacit.bags.protect.drawing import BernoulliDraw, Proportions, draw
from tacit.bags.protect.engine import DuckDBEngine
from tacit.bags.protect.noise import GaussianNoise, LaplaceNoise
from tacit.bags.protect.sizes import DropSmall, KeepAll, MergeSmall
from tacit.bags.protect.spark import SparkEngine

__all__ = [
    "BernoulliDraw",
    "ChosenSets",
    "DropSmall",
    "DuckDBEngine",
    "GaussianNoise",
    "KeepAll",
    "LaplaceNoise",
    "MergeSmall",
    "Proportions",
    "Reconciled",
    "SparkEngine",
    "choose_sets",
    "curate",
    "draw",
    "make_consistent",
]
