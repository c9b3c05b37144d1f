"""Results that JSON keeps: frozen dataclasses that are written and read back by their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from functools import reduce
from operator import or_
from types import NoneType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, guarantee_from_json

__all__ = ["StoredResult", "read_fields"]


class StoredResult:
    """A dataclass whose fields are plain values, arrays, guarantees, enumerations, records, or tuples of these.

    A field that is not compared is not kept, and ``metadata={"key": ...}`` gives a field another name in JSON.
    """

    __slots__ = ()
    known_as: ClassVar[str] = "a record"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON."""
        return {_key(one): _plain(getattr(self, one.name)) for one in _kept(type(self))}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read back what :meth:`to_json` wrote; a missing field has its default."""
        return cls(**read_fields(cls, document))


def read_fields(kind: type[StoredResult], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record as a document has them, or raise with the first that is missing."""
    kinds, read = get_type_hints(kind), {}
    for one in _kept(kind):
        if _key(one) in document:
            read[one.name] = _read(kinds[one.name], document[_key(one)])
        elif one.default is MISSING and one.default_factory is MISSING:
            raise InvalidInput(f"{kind.known_as} must have its {_key(one)}")
    return read


def _kept(kind: Any) -> list[Field[Any]]:  # noqa: ANN401
    return [one for one in fields(kind) if one.compare]


def _key(one: Field[Any]) -> str:
    return str(one.metadata.get("key", one.name))


def _plain(value: Any) -> Any:  # noqa: ANN401
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | np.ndarray):
        return [_plain(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value.item() if isinstance(value, np.generic) else value


def _read(kind: Any, value: Any) -> Any:  # noqa: ANN401
    if value is None or kind is Any:
        return value
    if NoneType in get_args(kind):
        kind = reduce(or_, (one for one in get_args(kind) if one is not NoneType))
    if kind == AnyGuarantee:
        return guarantee_from_json(value)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(_read(part, one) for part, one in zip(_each(parts, len(value)), value, strict=True))
    if origin is np.ndarray:
        return np.asarray(value, dtype=np.float64)
    if isinstance(kind, type) and issubclass(kind, StoredResult):
        return kind.from_json(value)
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum | float) else value


def _each(parts: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    return parts[:1] * count if parts[1:] == (...,) else parts
