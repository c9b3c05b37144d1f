"""JSON from files of strangers: no number of thousands of digits, no deep nesting, no NaN."""

from __future__ import annotations

import json
from typing import NoReturn

__all__ = ["parse_json"]

_DIGITS = 400
_DEEPEST = 64


def parse_json(text: str | bytes) -> object:
    """Return the value of a JSON text, or raise ValueError if it is none or out of bounds.

    Examples
    --------
    >>> parse_json('{"rows": 3}')
    {'rows': 3}
    >>> parse_json("[" * 70 + "]" * 70)
    Traceback (most recent call last):
    ...
    ValueError: it is nested more than 64 deep
    """
    try:
        value: object = json.loads(text, parse_int=_integer, parse_constant=_no_number)
    except RecursionError:
        raise _too_deep() from None
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return value
    raise _too_deep()


def _inside(value: object) -> list[object]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in inner if isinstance(one, dict | list)]


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"it has a number of more than {_DIGITS} digits")
    return int(digits)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"it has {name}, which is no number of JSON")


def _too_deep() -> ValueError:
    return ValueError(f"it is nested more than {_DEEPEST} deep")
