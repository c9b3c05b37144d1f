"""How many labels a score can reveal, and how many scores a table takes."""

from tacit.scores.theory.ceilings import (
    LabelsPerQuery,
    QueryBounds,
    labels_per_query,
    queries_for,
    rounding_noise,
    unit_of,
)

__all__ = [
    "LabelsPerQuery",
    "QueryBounds",
    "labels_per_query",
    "queries_for",
    "rounding_noise",
    "unit_of",
]
