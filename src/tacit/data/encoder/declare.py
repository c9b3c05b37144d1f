"""Rules from names, types and declarations, without reading private rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

import pyarrow as pa

from tacit.data.encoder.kinds import is_date, is_number, is_word
from tacit.data.encoder.numbers import DateColumn, FlagColumn, NumberColumn
from tacit.data.encoder.rule import ColumnRule
from tacit.data.encoder.words import CategoryColumn, HashedColumn
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput

__all__ = ["EVERY_COLUMN", "Range", "check_declared", "declare_rules", "declared_rule"]

EVERY_COLUMN = "*"
"""The name in ``ranges`` and ``gaps`` for every column without its own."""

Range = tuple[float | date, float | date]

_BUCKETS = 16
_LISTED = 12  # columns
_EPOCH = date(1970, 1, 1)
_HOURS = (0.0, 24.0)


def declare_rules(
    schema: pa.Schema,
    features: Sequence[str],
    *,
    ranges: Mapping[str, Range],
    categories: Mapping[str, Sequence[str]],
    gaps: Sequence[str],
) -> tuple[ColumnRule, ...]:
    """Return a rule for each feature, or raise with what must be declared."""
    check_declared(features, ranges=ranges, categories=categories, gaps=gaps)
    rules: list[ColumnRule] = []
    missing: list[str] = []
    for name in features:
        kind = schema.field(check_present(name, schema.names, argument="features")).type
        gap = name in gaps or EVERY_COLUMN in gaps
        rule = declared_rule(name, kind, ranges=ranges, categories=categories, gaps=gap)
        if rule is None and (is_date(kind) or is_number(kind)):
            missing.append(name)
        else:
            rules.append(rule or _hashed(name, kind, gaps=gap))
    if missing:
        raise _without_range(missing, dates=is_date(schema.field(missing[0]).type))
    return tuple(rules)


def check_declared(
    features: Sequence[str],
    *,
    ranges: Mapping[str, Range],
    categories: Mapping[str, Sequence[str]],
    gaps: Sequence[str] = (),
) -> None:
    """Raise if something is declared about a column that is no feature."""
    for argument, named in (("ranges", ranges), ("categories", categories), ("gaps", gaps)):
        for name in named:
            if name != EVERY_COLUMN or argument == "categories":
                check_present(name, features, argument=argument)


def declared_rule(
    name: str,
    kind: pa.DataType,
    *,
    ranges: Mapping[str, Range],
    categories: Mapping[str, Sequence[str]],
    gaps: bool,
) -> ColumnRule | None:
    """Return the rule of a column whose words or range are declared, or that needs neither; else None."""
    if name in categories:
        if name in ranges:
            raise InvalidInput(f"must not name column {name!r}, whose categories are declared", field="ranges")
        return CategoryColumn(name=name, words=tuple(categories[name]), gaps=gaps)
    if pa.types.is_boolean(kind):
        return FlagColumn(name=name, gaps=gaps)
    ends = _range_of(name, kind, ranges)
    if ends is None:
        return None
    rule = DateColumn if is_date(kind) else NumberColumn
    return rule(name=name, low=ends[0], high=ends[1], gaps=gaps)


def _range_of(name: str, kind: pa.DataType, ranges: Mapping[str, Range]) -> tuple[float, float] | None:
    """Return the declared range of a column in numbers, dates as days; None if there is none."""
    dates = is_date(kind)
    for place in (name, EVERY_COLUMN):
        low, high = ranges.get(place, (None, None))
        if low is None or high is None:
            continue
        if isinstance(low, date) and isinstance(high, date):
            fits, ends = dates, (float((low - _EPOCH).days), float((high - _EPOCH).days))
        elif not isinstance(low, date) and not isinstance(high, date):
            fits, ends = is_number(kind) or pa.types.is_null(kind), (low, high)
        else:
            raise InvalidInput(f"must be two numbers or two dates for column {place!r}", field="ranges")
        if fits:
            return ends
        if place == name:
            kinds = "dates such as 2020-01-31" if dates else "numbers" if is_number(kind) else "left out for text"
            raise InvalidInput(f"must be {kinds} for column {name!r}, which is {kind}", field="ranges")
    return _HOURS if pa.types.is_time(kind) else None


def _hashed(name: str, kind: pa.DataType, *, gaps: bool) -> ColumnRule:
    if is_word(kind):
        return HashedColumn(name=name, buckets=_BUCKETS, gaps=gaps)
    raise InvalidInput(
        f"must leave out column {name!r}, which is {kind}: neither numbers, truth values, dates nor text",
        field="features",
    )


def _without_range(names: Sequence[str], *, dates: bool) -> InvalidInput:
    first, *others = names
    such = f"{first}=2020-01-01,2024-12-31" if dates else f"{first}=0,100, or for all as *=0,100"
    wanted = f"must have a range{' of dates' if dates else ''} for column {first!r}, such as {such}"
    also = (
        f"; so must {', '.join(map(repr, others[:_LISTED]))}{' and others' * (len(others) > _LISTED)}" if others else ""
    )
    return InvalidInput(f"{wanted}: the guarantee does not allow computing it from the rows{also}", field="ranges")
