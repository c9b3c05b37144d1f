"""Build label totals of bags, exactly or under a guarantee."""

from tacit.bags.protect.curation import curate
from tacit.bags.protect.drawing import BernoulliDraw, Proportions, draw
from tacit.bags.protect.engine import DuckDBEngine
from tacit.bags.protect.noise import GaussianNoise, LaplaceNoise
from tacit.bags.protect.sizes import DropSmall, KeepAll, MergeSmall
from tacit.bags.protect.spark import SparkEngine

__all__ = [
    "BernoulliDraw",
    "DropSmall",
    "DuckDBEngine",
    "GaussianNoise",
    "KeepAll",
    "LaplaceNoise",
    "MergeSmall",
    "Proportions",
    "SparkEngine",
    "curate",
    "draw",
]
