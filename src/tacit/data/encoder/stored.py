"""Encoders in headers and files: plain JSON that a stranger may have written, so it is checked and bounded."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from tacit.data.encoder.encoder import Encoder
from tacit.data.encoder.numbers import DateColumn, FlagColumn, NumberColumn
from tacit.data.encoder.rule import ColumnRule
from tacit.data.encoder.words import CategoryColumn, HashedColumn
from tacit.privacy.errors import InvalidInput, InvalidRelease

__all__ = ["encoder_from_json", "encoder_to_json"]

_KINDS: dict[str, type[ColumnRule]] = {
    rule.kind: rule for rule in (NumberColumn, FlagColumn, DateColumn, CategoryColumn, HashedColumn)
}
_MOST_COLUMNS = 100_000  # of a matrix
_MOST_BUCKETS = 65_536
_LONGEST = 10_000  # characters
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x9b]")  # a terminal obeys them


def encoder_to_json(encoder: Encoder) -> dict[str, Any]:
    """Return the rules as plain JSON, or raise where nobody would read it back."""
    _without_controls(encoder)
    rules = [{"kind": rule.kind, **asdict(rule)} for rule in encoder.rules]
    for rule in rules:
        rule.update({name: list(value) for name, value in rule.items() if isinstance(value, tuple)})
    return {"columns": rules, "left_out": [list(pair) for pair in encoder.left_out]}


def encoder_from_json(document: object) -> Encoder:
    """Return the encoder of a document, or raise."""
    try:
        stored = _object(document)
        rules = tuple(_rule(one) for one in _list(stored["columns"]))
        if sum(_width(rule) for rule in rules) > _MOST_COLUMNS:
            raise ValueError(f"more than {_MOST_COLUMNS:,} columns")
        left_out = tuple((_text(name), _text(why)) for name, why in _list(stored["left_out"]))
        return _without_controls(Encoder(rules=rules, left_out=left_out))
    except (KeyError, TypeError, ValueError, InvalidInput) as error:
        raise InvalidRelease(f"the header has a damaged encoder: {error}") from None


def _without_controls(encoder: Encoder) -> Encoder:
    for name in (*encoder.names, *(part for pair in encoder.left_out for part in pair)):
        if _CONTROL.search(name):
            raise InvalidInput(f"must not have control characters, got {name[:80]!r}", field="features")
    return encoder


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


def _buckets(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_BUCKETS:
        raise TypeError(f"must have 1 to {_MOST_BUCKETS:,} buckets, got {value!r}")
    return value


_READ: dict[str, Callable[[object], Any]] = {
    "name": _text,
    "gaps": _flag,
    "low": _number,
    "high": _number,
    "clipped": _flag,
    "words": lambda value: tuple(_text(word) for word in _list(value)),
    "buckets": _buckets,
}
