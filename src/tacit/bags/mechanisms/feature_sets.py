"""The sets of columns that make partitions, one partition per set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacit.privacy.errors import InvalidInput

__all__ = ["check_feature_sets"]


def check_feature_sets(by: Sequence[Sequence[str]], *, label: str, **declared: Iterable[str]) -> None:
    """Raise unless ``by`` names different sets of columns, and what is declared is for columns in them."""
    if not by or not all(by):
        raise InvalidInput("must name the columns of at least one partition, for curated bags", field="by")
    sets = [frozenset(one) for one in by]
    if any(len(named) < len(one) for named, one in zip(sets, by, strict=True)):
        raise InvalidInput("must name different columns in each partition", field="by")
    if len(set(sets)) < len(sets):
        raise InvalidInput("must name different partitions: the same one twice would be charged twice", field="by")
    if any(label in one for one in by):
        raise InvalidInput(f"must not name the private column {label!r}", field="by")
    for name, columns in declared.items():
        unknown = set(columns) - set().union(*sets)
        if unknown:
            raise InvalidInput(f"must be for columns in by, got {', '.join(sorted(unknown))}", field=name)
