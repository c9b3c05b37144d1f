"""Fields with a type, a check and a sentence of help, parsed alike from Python, a command line and ``tacit.toml``."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from datetime import date
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Literal, Self, Union

from tacit.privacy.errors import InvalidInput
from tacit.privacy.scalars import SCALARS, FrozenMapping, UnreadableValue, read_word
from tacit.privacy.words import join_words, numbers_of, split_pair, split_words

__all__ = [
    "BOUND",
    "Choice",
    "Setting",
    "about",
    "choices_of",
    "count",
    "positive",
    "read_choice",
    "read_value",
    "settings_of",
    "settle",
    "share",
    "to_plain",
    "to_words",
]

BOUND: Mapping[str, Any] = {"bound": True}
"""The metadata of a field that a choice gets from its plan and data, not from a user."""

NONE = "none"
"""How a missing value is written on a command line, and in ``tacit.toml``, which has no null."""


def about(
    help: str,
    *,
    metavar: str | None = None,
    rule: str | None = None,
    holds: Callable[[Any], bool] | None = None,
) -> Mapping[str, Any]:
    """Return the metadata of a dataclass field: one sentence of help, how a value is written, and its check.

    Parameters
    ----------
    rule, holds
        The check, in words ("a finite number > 0") and as a function of the value; None is never checked.
    """
    return {"help": help, "metavar": metavar, "rule": rule, "holds": holds}


def count(help: str, *, least: int = 1, most: float = math.inf) -> Mapping[str, Any]:
    """Return the metadata of a field that counts something; ``most`` bounds what a hostile plan can allocate."""
    rule = f"an integer >= {least}" + (f" and at most {most:,}" if math.isfinite(most) else "")
    return about(help, rule=rule, holds=lambda number: least <= number <= most)


def positive(help: str) -> Mapping[str, Any]:
    """Return the metadata of a field that is a finite number > 0."""
    return about(help, rule="a finite number > 0", holds=lambda number: 0 < number < math.inf)


def share(help: str) -> Mapping[str, Any]:
    """Return the metadata of a field that is a share."""
    return about(help, rule="in (0, 1)", holds=lambda number: 0 < number < 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One field of a plan, a mechanism or a method, as a command line and a documentation table need it."""

    name: str
    kind: Any
    default: Any
    help: str
    metavar: str
    rule: str | None
    holds: Callable[[Any], bool] | None

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is MISSING

    @property
    def option(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def repeatable(self) -> bool:
        """Whether the option is given once for each element."""
        return self.kind == tuple[tuple[str, ...], ...] or typing.get_origin(self.kind) is _MAPPING

    def read(self, value: object) -> Any:  # noqa: ANN401
        """Return the value as the field's type, from the type itself, words or TOML; raise if it violates the rule."""
        try:
            read = _read(self.kind, value)
        except UnreadableValue as wanted:
            raise InvalidInput(f"must be {self.rule or wanted}, got {value!r}", field=self.name) from None
        except InvalidInput as error:  # of a choice
            raise InvalidInput(str(error), field=self.name) from None
        if self.holds is not None and read is not None and not self.holds(read):
            raise InvalidInput(f"must be {self.rule}, got {value!r}", field=self.name)
        return read


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Base of a mechanism, metric, policy or method that a plan or a command names.

    A subclass is a frozen dataclass with a ``name``, whose fields are numbers or words. On a command line it is written
    ``NAME[:KEY=VALUE,...]``, in ``tacit.toml`` as the name or as a table with the key ``name``.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Rounded(Choice):
    ...     name: ClassVar[str] = "rounded"
    ...     decimals: int = 5
    >>> read_choice(Rounded, "rounded:decimals=3"), to_words(Rounded(decimals=3))
    (Rounded(decimals=3), 'rounded:decimals=3')
    """

    name: ClassVar[str]
    phrase: ClassVar[str] = "{name}"
    """Its name in reports, with parameters in braces."""

    def __post_init__(self) -> None:
        settle(self)

    def in_words(self) -> str:
        """Return its name in reports."""
        return self.phrase.format(name=self.name, **{one.name: getattr(self, one.name) for one in fields(self)})

    def to_json(self) -> dict[str, Any]:
        """Return the name and all parameters as plain JSON."""
        return {"name": self.name, **{one.name: to_plain(getattr(self, one.name)) for one in settings_of(type(self))}}

    @property
    def unbound(self) -> Self:
        """The choice as it is written, without what a plan and data bind."""
        return replace(self, **{one.name: one.default for one in fields(self) if one.metadata.get("bound")})

    def __str__(self) -> str:
        return to_words(self)


def settings_of(owner: type) -> tuple[Setting, ...]:
    """Return the fields of a plan or choice that are written, in the order of their definition."""
    return _settings(owner)


def _read_settings(owner: type) -> tuple[Setting, ...]:
    kinds = typing.get_type_hints(owner)
    return tuple(
        Setting(
            name=one.name,
            kind=kinds[one.name],
            default=one.default if one.default_factory is MISSING else one.default_factory(),
            help=one.metadata.get("help", ""),
            metavar=one.metadata.get("metavar") or _metavar(kinds[one.name]),
            rule=one.metadata.get("rule"),
            holds=one.metadata.get("holds"),
        )
        for one in fields(owner)
        if one.init and not one.metadata.get("bound")
    )


_settings: Callable[[type], tuple[Setting, ...]] = cache(_read_settings)


def settle(owner: Any) -> None:  # noqa: ANN401
    """Read and check every field of a frozen dataclass in place; called once, when it is made."""
    for one in settings_of(type(owner)):
        object.__setattr__(owner, one.name, one.read(getattr(owner, one.name)))


def read_choice(kind: Any, value: object, *, field: str | None = None) -> Any:  # noqa: ANN401
    """Return one of a union's choices, from the object, ``NAME[:KEY=VALUE,...]``, or a mapping with ``name``."""
    known = {choice.name: choice for choice in choices_of(kind)}
    if isinstance(value, tuple(known.values())):
        return value
    name, given = _parts(value)
    if name not in known:
        raise InvalidInput(f"must be one of {', '.join(known)}, got {name!r}", field=field)
    accepted = [one.name for one in settings_of(known[name])]
    for key in given:
        if key not in accepted:
            takes = ", ".join(accepted) or "no parameters"
            raise InvalidInput(f"{name} takes {takes}, got {key!r}", field=field)
    for one in settings_of(known[name]):
        if one.required and one.name not in given:
            raise InvalidInput(f"{name} must be given its {one.name}", field=field)
    try:
        return known[name](**given)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}", field=field) from None


def read_value(kind: Any, value: object, *, field: str) -> Any:  # noqa: ANN401
    """Return a value as a type, from the type itself, words or TOML; raise with the field's name."""
    try:
        return _read(kind, value)
    except UnreadableValue as wanted:
        raise InvalidInput(f"must be {wanted}, got {value!r}", field=field) from None


def choices_of(kind: Any) -> tuple[type[Choice], ...]:  # noqa: ANN401
    """Return the choices of a union, or the one that it is."""
    return tuple(one for one in _members(kind) if isinstance(one, type) and issubclass(one, Choice))


def to_plain(value: Any) -> Any:  # noqa: ANN401
    """Return a field's value as plain JSON."""
    if isinstance(value, Choice):
        return value.to_json()
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    return [to_plain(one) for one in value] if isinstance(value, tuple) else value


def to_words(value: Any) -> str:  # noqa: ANN401
    """Return a field's value as it is written on a command line."""
    if value is None:
        return NONE
    if isinstance(value, Choice):
        given = [
            f"{one.name}={to_words(getattr(value, one.name))}"
            for one in settings_of(type(value))
            if getattr(value, one.name) != one.default
        ]
        return value.name + (":" + ",".join(given) if given else "")
    if isinstance(value, tuple):
        return join_words(to_words(one) for one in value)
    return f"{value:.17g}" if isinstance(value, float) and float(f"{value:g}") != value else _short(value)


def _short(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


_MAPPING = typing.get_origin(Mapping[str, int])


def _members(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return typing.get_args(kind) if typing.get_origin(kind) in (Union, types.UnionType) else (kind,)


def _read(kind: Any, value: object) -> Any:  # noqa: ANN401
    members = _members(kind)
    if types.NoneType in members:
        if value is None or (isinstance(value, str) and value == NONE):
            return None
        members = tuple(one for one in members if one is not types.NoneType)
    if choices_of(kind):
        return read_choice(kind, value)
    if len(members) > 1:
        return _read_either(members, value)
    (only,) = members
    origin, inner = typing.get_origin(only), typing.get_args(only)
    if origin is Literal:
        return read_word(inner, value)
    if origin is tuple:
        return _read_tuple(inner, value)
    if origin is _MAPPING:
        return _read_mapping(inner[1], value)
    if isinstance(only, type) and issubclass(only, StrEnum):
        return only(read_word([str(one) for one in only], value))
    return SCALARS[only](value)


def _read_either(members: tuple[Any, ...], value: object) -> Any:  # noqa: ANN401
    wanted = []
    for one in members:
        try:
            return _read(one, value)
        except UnreadableValue as error:
            wanted.append(str(error))
    raise UnreadableValue(" or ".join(wanted))


def _read_tuple(inner: tuple[Any, ...], value: object) -> tuple[Any, ...]:
    if isinstance(value, str):
        try:
            value = numbers_of(value) if inner[0] is float else split_words(value)
        except ValueError as wanted:
            raise UnreadableValue(str(wanted)) from None
    try:
        read = tuple(_read(inner[0], one) for one in value)  # type: ignore[attr-defined]
    except TypeError:
        raise UnreadableValue("a list") from None
    if inner[-1] is not ... and len(read) != len(inner):
        raise UnreadableValue(f"{len(inner)} numbers")
    return read


def _read_mapping(inner: Any, value: object) -> Mapping[str, Any]:  # noqa: ANN401
    if not isinstance(value, Mapping):
        pairs = [split_pair(str(one)) for one in ([value] if isinstance(value, str) else value)]  # type: ignore[attr-defined]
        if any(words is None for _, words in pairs):
            raise UnreadableValue("COLUMN=NUMBER,NUMBER,...")
        if len({name for name, _ in pairs}) < len(pairs):
            raise InvalidInput(f"must be given once for each column, got {value!r}")
        value = dict(pairs)
    return FrozenMapping({str(name): _read(inner, numbers) for name, numbers in value.items()})


def _parts(value: object) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of a choice as it is written."""
    if isinstance(value, Mapping):
        given = {str(key): one for key, one in value.items()}
        return str(given.pop("name", "")), given
    name, _, rest = str(value).partition(":")
    pairs = [one.partition("=") for one in split_words(rest)]
    return name.strip(), {key.strip(): given.strip() for key, _, given in pairs}


def _metavar(kind: Any) -> str:  # noqa: ANN401
    if choices := choices_of(kind):
        written = any(settings_of(one) for one in choices)
        return "NAME[:KEY=VALUE,...]" if written else "|".join(one.name for one in choices)
    members = [one for one in _members(kind) if one is not types.NoneType]
    only = members[0]
    if typing.get_origin(only) is Literal:
        return "|".join(typing.get_args(only))
    if isinstance(only, type) and issubclass(only, StrEnum):
        return "|".join(only)
    return _METAVARS.get(only, "TEXT")


_METAVARS: dict[Any, str] = {
    int: "INTEGER",
    float: "NUMBER",
    tuple[str, ...]: "A,B,...",
    tuple[float, ...]: "NUMBER,...",
    tuple[int, ...]: "INTEGER,...",
    tuple[tuple[str, ...], ...]: "COL,...",
    Mapping[str, tuple[float, ...]]: "COL=NUMBER,...",
    Mapping[str, tuple[float | date, float | date]]: "COL=LOW,HIGH",
}
