"""Read ``tacit.toml``: what is wrong with it is said with its line and its key, before anything runs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from tacit.audit.lines import key_at, line_of
from tacit.audit.plan import SURFACES, Limits, Plan, Step
from tacit.audit.planned import PlannedRelease
from tacit.audit.source import Source, bundled_source, check_size, source_from_file
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.rounding import check_delta, check_epsilon

__all__ = ["read_plan"]

_IDLE = {"features": ("delta", "keep", "bound"), "models": ("delta", "epochs")}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and word for word in value)


_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "str": ("text in quotes", lambda value: isinstance(value, str) and value != ""),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    "float": ("a number", _is_number),
    "tuple[str, ...]": ("a list of columns", _is_words),
    "tuple[float, ...]": ("a list of numbers", lambda value: isinstance(value, list) and all(map(_is_number, value))),
    "tuple[tuple[str, ...], ...]": (
        'a list of lists of columns, such as [["city"], ["age", "sex"]]',
        lambda value: (
            isinstance(value, list) and bool(value) and all(_is_words(columns) and columns for columns in value)
        ),
    ),
}
_TABLES = {
    "data": {"file": "str", "bundled": "str", "label": "str", "features": "tuple[str, ...]", "rows": "int"},
    "audit": {"epsilons": "tuple[float, ...]", "delta": "float"},
    "fail": {"leak": "float", "epsilon": "float"},
}


def read_plan(path: str | os.PathLike[str]) -> Plan:
    r"""Return the plan that a ``tacit.toml`` describes; files in it are beside it.

    Parameters
    ----------
    path
        The file; ``tacit init`` writes one.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tacit.toml"
    >>> _ = path.write_text('[data]\nbundled = "titanic"\n\n[[labels]]\nepsilon = 1.0\n')
    >>> read_plan(path).surfaces
    ('labels',)
    >>> _ = path.write_text('[data]\nbundled = "titanic"\n\n[[labels]]\nepsilon = -1\n')
    >>> read_plan(path)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: tacit.toml, line 5, labels.epsilon: epsilon must be a finite number > 0, got -1
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{place} cannot be read: {error.strerror}; tacit init writes one") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{place.name} is not TOML: it is not even text in UTF-8; tacit init writes one") from None
    if not re.sub(r"(?m)^\s*(#.*)?$", "", text).strip():
        raise InvalidInput(f"{place.name} is empty; tacit init writes one")
    try:
        return _Reader(place, text, tomllib.loads(text)).plan()
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(place, text, str(error)) from None


def _not_toml(path: Path, text: str, said: str) -> InvalidInput:
    where = re.search(r"line (\d+)", said)
    line = int(where[1]) if where else max(1, len(text.splitlines()))
    key = key_at(text, line)
    what = re.sub(r"\s*\(at .*\)", "", said)
    twice = "; a key stands once in a table" if "overwrite" in what or "twice" in what else ""
    return InvalidInput(f"{path.name}, line {line}{f', {key}' if key else ''}: this is not TOML: {what}{twice}")


class _Reader:
    def __init__(self, path: Path, text: str, document: Mapping[str, Any]) -> None:
        self._path, self._text, self._document = path, text, document

    def plan(self) -> Plan:
        known = [*_TABLES, *SURFACES]
        for name in self._document:
            if name not in known:
                raise self._fault(name, _unknown(name, known, "a table is one of"))
        data, run, limits = (self._table(name) for name in _TABLES)
        self._check_run(run, limits)
        releases = [
            (self._release(surface, table, number), number)
            for surface in SURFACES
            for number, table in enumerate(self._releases(surface))
        ]
        if not releases:
            raise InvalidInput(f"{self._path.name} plans no release; add one, such as [[labels]] with epsilon = 1.0")
        source = self._source(data)
        if "delta" in run:
            self._try("audit", "delta", partial(source.check_delta, run["delta"]))
        steps = tuple(self._step(source, release, number) for release, number in releases)
        command = f"tacit audit {quote(str(self._path))}"
        return Plan(steps=steps, limits=Limits(**limits), command=command, **run)

    def _check_run(self, run: dict[str, Any], limits: Mapping[str, Any]) -> None:
        for key in limits:
            self._try("fail", key, partial(Limits, **{key: limits[key]}))
        if "delta" in run:
            self._try("audit", "delta", partial(check_delta, run["delta"]))
        for epsilon in run.get("epsilons", ()):
            self._try("audit", "epsilons", partial(check_epsilon, epsilon))

    def _try(self, table: str, key: str, check: Callable[[], object]) -> None:
        try:
            check()
        except TacitError as error:
            raise self._fault(table, str(error), key) from None

    def _source(self, data: Mapping[str, Any]) -> Source:
        if ("file" in data) == ("bundled" in data):
            both = "bundled" if "bundled" in data else None
            raise self._fault("data", "there must be either a file or the name of a bundled table", both)
        for key in ("label", "features", "rows"):
            if "bundled" in data and key in data:
                raise self._fault("data", "contradicts bundled, whose table has its own label and features", key)
        if "bundled" not in data and "label" not in data:
            raise self._fault("data", "label must name the private column")
        try:
            return bundled_source(data["bundled"]) if "bundled" in data else self._read(data)
        except TacitError as error:
            raise self._fault("data", str(error), _blamed(str(error), data)) from None

    def _read(self, data: Mapping[str, Any]) -> Source:
        size = {"most_rows": data["rows"]} if "rows" in data else {}
        features = data.get("features", ())
        place = self._path.parent / data["file"]
        return check_size(source_from_file(place, label=data["label"], features=features, **size))

    def _releases(self, surface: str) -> list[Mapping[str, Any]]:
        given = self._document.get(surface, [])
        if not isinstance(given, list) or not all(isinstance(table, dict) for table in given):
            raise self._fault(surface, f"a release is written [[{surface}]], with two brackets")
        return given

    def _release(self, surface: str, table: Mapping[str, Any], number: int) -> PlannedRelease:
        kind = SURFACES[surface]
        kinds = {field.name: str(field.type).removesuffix(" | None") for field in fields(kind)}  # type: ignore[arg-type]
        self._check_keys(surface, table, kinds, f"a release of {surface} has", number)
        idle = [key for key in _IDLE.get(surface, ()) if key in table and "epsilon" not in table]
        if idle:
            raise self._fault(surface, "contradicts the absence of epsilon: nothing is noised then", idle[0], number)
        if surface == "bags" and "random" in table and "min_size" in table:
            raise self._fault(surface, "contradicts random, whose bags all have one size", "min_size", number)
        try:
            return kind(**table)
        except TypeError as error:
            raise self._fault(surface, str(error).partition("() ")[2] or str(error), None, number) from None
        except TacitError as error:
            raise self._fault(surface, str(error), _blamed(str(error), table), number) from None

    def _step(self, source: Source, release: PlannedRelease, number: int) -> Step:
        try:
            return Step(source=source, release=release)
        except TacitError as error:
            table = self._releases(release.surface)[number]
            raise self._fault(release.surface, str(error), _blamed(str(error), table), number) from None

    def _table(self, name: str) -> dict[str, Any]:
        given = self._document.get(name, {})
        if not isinstance(given, dict):
            raise self._fault(name, f"must be a table, written [{name}]")
        self._check_keys(name, given, _TABLES[name], f"{name} has", 0)
        return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}

    def _check_keys(
        self, table: str, given: Mapping[str, Any], kinds: Mapping[str, str], which: str, number: int
    ) -> None:
        for key, value in given.items():
            if key not in kinds:
                raise self._fault(table, _unknown(key, kinds, which), key, number)
            wanted, holds = _KINDS[kinds[key]]
            if not holds(value):
                raise self._fault(table, f"must be {wanted}, got {value!r}", key, number)

    def _fault(self, table: str, what: str, key: str | None = None, number: int = 0) -> InvalidInput:
        line = line_of(self._text, table, key, number=number)
        where = table if key is None else f"{table}.{key}"
        return InvalidInput(f"{self._path.name}, line {line}, {where}: {what}")


def _unknown(name: str, known: Iterable[str], which: str) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    return f"unknown{f', perhaps {near[0]}' if near else ''}; {which} {', '.join(known)}"


def _blamed(said: str, table: Mapping[str, Any]) -> str | None:
    """Return the key that a message is about: the first one that it names, or whose value it names."""
    named = [key for key in table if re.search(rf"\b{key}\b", said)]
    held = [key for key in ("label", "features") if any(repr(word) in said for word in _words(table.get(key)))]
    first = min(named, key=lambda key: said.index(key), default=None)
    return next(iter(held), None) or first or ("file" if "file" in table else None)


def _words(value: object) -> list[str]:
    return [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
