"""Predictions whose scores tell labelings apart, and how far apart they are."""

from tacit.scores.separation.choose import Separation, separate
from tacit.scores.separation.construct import Construction, Digits, PowersOfThree, PrimeLogs, TripledExponents
from tacit.scores.separation.gap import codomain_gap, gap_of_losses
from tacit.scores.separation.search import TooManyOverlaps, smallest_difference
from tacit.scores.separation.table import TableRow, largest_noise, table_1

__all__ = [
    "Construction",
    "Digits",
    "PowersOfThree",
    "PrimeLogs",
    "Separation",
    "TableRow",
    "TooManyOverlaps",
    "TripledExponents",
    "codomain_gap",
    "gap_of_losses",
    "largest_noise",
    "separate",
    "smallest_difference",
    "table_1",
]
