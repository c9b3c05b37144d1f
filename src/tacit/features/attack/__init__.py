"""What a release of features still tells: links to raw rows, membership, and records behind a selection."""

from tacit.features.attack.linkage import ReleasedRows, link_rows, linkage_leak
from tacit.features.attack.membership import canary_leak, membership_leak, membership_scores, totals_leak
from tacit.features.attack.selection import Neighbours, selection_leak, tied_neighbours

__all__ = [
    "Neighbours",
    "ReleasedRows",
    "canary_leak",
    "link_rows",
    "linkage_leak",
    "membership_leak",
    "membership_scores",
    "selection_leak",
    "tied_neighbours",
    "totals_leak",
]
