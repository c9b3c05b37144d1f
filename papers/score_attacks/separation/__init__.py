"""Predictions whose scores tell labelings apart, and how far apart they are."""

from papers.score_attacks.separation.choose import Separation, separate
from papers.score_attacks.separation.construct import Construction, Digits, PowersOfThree, PrimeLogs, TripledExponents
from papers.score_attacks.separation.gap import codomain_gap, gap_of_losses
from papers.score_attacks.separation.search import TooManyOverlaps, smallest_difference
from papers.score_attacks.separation.table import TableRow, largest_noise, table_1

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
