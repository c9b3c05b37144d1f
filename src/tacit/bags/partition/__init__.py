"""Bags keyed by features or drawn at random, with their label totals."""

from tacit.bags.partition.bags import Partition
from tacit.bags.partition.feature import Feature, as_features
from tacit.bags.partition.random_bags import RandomBags
from tacit.bags.partition.totals import BagTotals

__all__ = ["BagTotals", "Feature", "Partition", "RandomBags", "as_features"]
