"""What totals of bags still tell: labels that they fix, the best guess of the others, and the epsilon that proves."""

from tacit.bags.attack.components import Effort
from tacit.bags.attack.fixed import Determined, determined, labels_from_sums, labels_from_totals

__all__ = [
    "Determined",
    "Effort",
    "determined",
    "labels_from_sums",
    "labels_from_totals",
]
