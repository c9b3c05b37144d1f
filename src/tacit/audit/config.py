"""Read ``tacit.toml``: what is wrong with it is said with its line and its key, before anything runs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from shlex import quote
from typing import Any

from tacit.audit.plan import SURFACES, Limits, Plan, Step
from tacit.audit.planned import PlannedRelease
from tacit.audit.source import Source, bundled_source, source_from_file
from tacit.privacy.errors import InvalidInput, TacitError

__all__ = ["read_plan"]

_LEAST_ROWS = 20  # half of them train a model, and the other half must tell something about it
_MOST_CLASSES = 100  # more is an amount or a name, and a model of each takes hours
_DATA = {"file": str, "bundled": str, "label": str, "features": list, "rows": int}
_RUN = {"epsilons": list, "delta": float}
_LIMITS = {"leak": float, "epsilon": float}


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
        document = tomllib.loads(text)
    except OSError as error:
        raise InvalidInput(f"{place} cannot be read: {error.strerror}; tacit init writes one") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{place.name} is not TOML: {error}") from None
    return _Reader(place, text, document).plan()


class _Reader:
    def __init__(self, path: Path, text: str, document: Mapping[str, Any]) -> None:
        self._path, self._lines, self._document = path, text.splitlines(), document

    def plan(self) -> Plan:
        known = {"data", "audit", "fail", *SURFACES}
        for name in self._document:
            if name not in known:
                raise self._fault(name, f"unknown; a table is one of {', '.join(sorted(known))}")
        run, limits = self._table("audit", _RUN), self._table("fail", _LIMITS)
        releases = [
            self._release(surface, table, number)
            for surface in SURFACES
            for number, table in enumerate(self._releases(surface))
        ]
        if not releases:
            raise InvalidInput(f"{self._path.name} plans no release; add one, such as [[labels]] with epsilon = 1.0")
        source = self._source()
        steps = tuple(Step(source=source, release=release) for release in releases)
        self._check_columns(source)
        if "epsilons" in run:
            run["epsilons"] = tuple(run["epsilons"])
        try:
            return Plan(steps=steps, limits=Limits(**limits), command=f"tacit audit {quote(str(self._path))}", **run)
        except TacitError as error:
            raise self._fault("fail" if "leak" in str(error) else "audit", str(error)) from None

    def _source(self) -> Source:
        data = self._table("data", _DATA)
        if ("file" in data) == ("bundled" in data):
            raise self._fault("data", "there must be either a file or the name of a bundled table")
        try:
            if "bundled" in data:
                return bundled_source(data["bundled"])
            if "label" not in data:
                raise self._fault("data", "label must name the private column")
            size = {"most_rows": data["rows"]} if "rows" in data else {}
            source = source_from_file(
                self._path.parent / data["file"], label=data["label"], features=data.get("features", ()), **size
            )
            if source.rows < _LEAST_ROWS:
                raise InvalidInput(f"a table must have {_LEAST_ROWS} rows or more to be audited, got {source.rows}")
            if len(source.classes) > _MOST_CLASSES:
                raise InvalidInput(
                    f"column {source.label!r} has {len(source.classes):,} labels, more than {_MOST_CLASSES}; "
                    "name the column that holds the label, or group the rare ones"
                )
            return source
        except TacitError as error:
            raise error if "line " in str(error) else self._fault("data", str(error)) from None

    def _releases(self, surface: str) -> list[Mapping[str, Any]]:
        given = self._document.get(surface, [])
        if not isinstance(given, list) or not all(isinstance(table, dict) for table in given):
            raise self._fault(surface, f"a release is written [[{surface}]], with two brackets")
        return given

    def _release(self, surface: str, table: Mapping[str, Any], number: int) -> PlannedRelease:
        kind = SURFACES[surface]
        keys = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        for key in table:
            if key not in keys:
                raise self._fault(surface, f"unknown; a release of {surface} has {', '.join(keys)}", key, number)
        try:
            return kind(**table)
        except TypeError as error:
            raise self._fault(surface, str(error).partition("() ")[2] or str(error), None, number) from None
        except TacitError as error:
            named = next((key for key in table if key in str(error)), None)
            raise self._fault(surface, str(error), named, number) from None

    def _table(self, name: str, kinds: Mapping[str, type]) -> dict[str, Any]:
        given = self._document.get(name, {})
        if not isinstance(given, dict):
            raise self._fault(name, f"must be a table, written [{name}]")
        for key, value in given.items():
            if key not in kinds:
                raise self._fault(name, f"unknown; {name} has {', '.join(kinds)}", key)
            wanted = (int, float) if kinds[key] is float else kinds[key]
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise self._fault(name, f"must be a {kinds[key].__name__}, got {value!r}", key)
        return dict(given)

    def _check_columns(self, source: Source) -> None:
        for number, table in enumerate(self._releases("bags")):
            for column in (name for columns in table.get("by", ()) for name in columns):
                if column not in source.features:
                    raise self._fault("bags", f"column {column!r} is not among the features", "by", number)

    def _fault(self, table: str, what: str, key: str | None = None, number: int = 0) -> InvalidInput:
        line = self._line(table, key, number)
        where = table if key is None else f"{table}.{key}"
        return InvalidInput(f"{self._path.name}, line {line}, {where}: {what}")

    def _line(self, table: str, key: str | None, number: int) -> int:
        """Return the line of a key in the ``number``-th table of a name, or of the table's head."""
        heads = [at for at, line in enumerate(self._lines) if re.match(rf"\s*\[\[?\s*{re.escape(table)}\s*\]", line)]
        if not heads:
            named = (at for at, line in enumerate(self._lines) if re.match(rf"\s*{re.escape(table)}\s*=", line))
            return next(named, 0) + 1
        head = heads[min(number, len(heads) - 1)]
        if key is not None:
            for at in range(head + 1, len(self._lines)):
                if re.match(r"\s*\[", self._lines[at]):
                    break
                if re.match(rf'\s*"?{re.escape(key)}"?\s*=', self._lines[at]):
                    return at + 1
        return head + 1
