"""Encoders in headers and files: plain JSON from an untrusted source, so it is checked and bounded."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import Any

from tacit.data.encoder.numbers import DateColumn, FlagColumn, NumberColumn
from tacit.data.encoder.rule import ColumnRule, check_distinct
from tacit.data.encoder.words import CategoryColumn, HashedColumn
from tacit.privacy.errors import InvalidInput, InvalidRelease

__all__ = ["rules_from_json", "rules_to_json"]

LeftOut = Sequence[tuple[str, str]]

_KINDS: dict[str, type[ColumnRule]] = {
    rule.kind: rule for rule in (NumberColumn, FlagColumn, DateColumn, CategoryColumn, HashedColumn)
}
_MOST_COLUMNS = 100_000  # of a matrix
_MOST_BUCKETS = 65_536
_LONGEST = 10_000  # characters
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x9b]")  # a terminal obeys them


def rules_to_json(rules: Sequence[ColumnRule], left_out: LeftOut) -> dict[str, Any]:
    """Return an encoder's rules and left-out columns as plain JSON, or raise if it could not be read back."""
    _check_names(rules, left_out)
    stored = [{"kind": rule.kind, **asdict(rule)} for rule in rules]
    for rule in stored:
        rule.update({name: list(value) for name, value in rule.items() if isinstance(value, tuple)})
    return {"columns": stored, "left_out": [list(pair) for pair in left_out]}


def rules_from_json(document: object) -> tuple[tuple[ColumnRule, ...], tuple[tuple[str, str], ...]]:
    """Return the rules and the left-out columns of a document, or raise."""
    try:
        stored = _object(document)
        rules = tuple(_rule(one) for one in _list(stored["columns"]))
        if sum(_width(rule) for rule in rules) > _MOST_COLUMNS:
            raise ValueError(f"more than {_MOST_COLUMNS:,} columns")
        left_out = tuple((_text(name), _text(why)) for name, why in _list(stored["left_out"]))
        _check_names(rules, left_out)
    except (KeyError, TypeError, ValueError, InvalidInput) as error:
        raise InvalidRelease(f"the header has a damaged encoder: {error}") from None
    return rules, left_out


def _check_names(rules: Sequence[ColumnRule], left_out: LeftOut) -> None:
    names = check_distinct([column.name for rule in rules for column in rule.encoded])
    for name in (*names, *(part for pair in left_out for part in pair)):
        if _CONTROL.search(name):
            raise InvalidInput(f"must not have control characters, got {name[:80]!r}", field="features")


def _rule(document: object) -> ColumnRule:
    stored = _object(document)
    kind = _KINDS[_text(stored["kind"])]
    return kind(**{one.name: _READ[one.name](stored[one.name]) for one in fields(kind)})


def _width(rule: ColumnRule) -> int:
    return rule.buckets if isinstance(rule, HashedColumn) else len(rule.encoded)


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) > _MOST_COLUMNS:
        raise TypeError("not a list, or too long")
    return list(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise TypeError("not a word, or too long")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"must be true or false, got {value!r}")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"must be a finite number, got {value!r}")
    return float(value)


def _positive(value: object) -> float:
    if not (number := _number(value)) > 0:
        raise TypeError(f"must be > 0, got {value!r}")
    return number


def _buckets(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_BUCKETS:
        raise TypeError(f"must have 1 to {_MOST_BUCKETS:,} buckets, got {value!r}")
    return value


_READ: dict[str, Callable[[object], Any]] = {
    "name": _text,
    "gaps": _flag,
    "low": _number,
    "high": _number,
    "reach": _positive,
    "codes": lambda value: tuple(_number(code) for code in _list(value)),
    "words": lambda value: tuple(_text(word) for word in _list(value)),
    "buckets": _buckets,
}
