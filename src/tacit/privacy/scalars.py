"""Single values from a command line or TOML, and immutable mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

__all__ = ["SCALARS", "FrozenMapping", "UnreadableValue", "read_word"]


class UnreadableValue(Exception):
    """An error that contains what the value must be."""


class FrozenMapping(Mapping[str, Any]):
    """An immutable mapping, which can be hashed, copied and pickled with its plan."""

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


def read_word(words: Iterable[str], value: object) -> str:
    """Return a value that is one of a few words."""
    known = list(words)
    if str(value) not in known:
        raise UnreadableValue(f"one of {', '.join(known)}")
    return str(value)


def _read_text(value: object) -> str:
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return str(value)
    raise UnreadableValue("one word")


def _read_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise UnreadableValue("true or false")


def _read_int(value: Any) -> int:  # noqa: ANN401
    try:
        if isinstance(value, bool) or int(value) != float(value):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableValue("an integer") from None


def _read_float(value: Any) -> float:  # noqa: ANN401
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableValue("a number") from None


def _read_date(value: object) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise UnreadableValue("a date such as 2020-01-31") from None


SCALARS: dict[Any, Callable[[Any], Any]] = {
    str: _read_text,
    bool: _read_bool,
    int: _read_int,
    float: _read_float,
    date: _read_date,
}
"""How a value of each type is read."""
