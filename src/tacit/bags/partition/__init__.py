"""Bags keyed by features or drawn at random, with their label totals."""

from tacit.bags.partition.bags import Partition
from tacit.bags.partition.feature import KeyColumn, as_features
from tacit.bags.partition.random_bags import RandomBags
from tacit.bags.partition.totals import BagTotals

__all__ = ["BagTotals", "KeyColumn", "Partition", "RandomBags", "as_features"]
