"""Read ``tacit.toml``; an error names the line and the key, before anything runs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from tacit.audit.answer import RunLimits
from tacit.audit.budget import BudgetLedger
from tacit.audit.lines import KeyLines, key_at
from tacit.audit.plan import AuditPlan, PlannedRelease, plan_type, planned_release
from tacit.audit.source import AuditedTable, bundled_source, check_size, source_from_file
from tacit.data.locations import is_location
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.plan import SURFACES
from tacit.privacy.rounding import check_count, check_delta, check_epsilon
from tacit.privacy.settings import read_value, settings_of

__all__ = ["read_plan"]

_TABLES: dict[str, dict[str, Any]] = {
    "data": {"file": str, "bundled": str, "label": str, "features": tuple[str, ...], "groups": str, "rows": int},
    "audit": {"epsilons": tuple[float, ...], "delta": float, "per_day": int},
    "limits": {"odds": float, "advantage": float, "epsilon": float, "period": str},
    "ledger": {"file": str, "dataset": str},
}
"""The keys of each table, and their types."""

_LONGEST = 1_000_000  # bytes of a plan: its words are a few hundred columns and ten thousand classes
_MOST_RELEASES = 100  # each takes seconds to minutes
_MOST_EPSILONS = 100  # each measures every planned surface once more
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP_KEY = re.compile(rf"(?m)^[ \t\[]*{_PART}(?:[ \t]*\.[ \t]*{_PART}){{9}}")
"""A key of ten parts, where no plan needs four: the time to parse a key grows with the square of its depth."""


def read_plan(path: str | os.PathLike[str]) -> AuditPlan:
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
    tacit.privacy.errors.InvalidInput: tacit.toml, line 5, labels.epsilon: epsilon must be a finite number > 0, or
    none, got -1
    """
    place = Path(path)
    text = _read_text(place)
    return _PlanReader(place, text, _parse(place, text)).plan()


def _read_text(place: Path) -> str:
    try:
        with place.open("rb") as file:
            content = file.read(_LONGEST + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{place} cannot be read: {error.strerror}; tacit init writes one") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{place.name} is not TOML: it is not text in UTF-8; tacit init writes one") from None
    if len(content) > _LONGEST:
        raise InvalidInput(f"{place.name} must be a plan of at most {_LONGEST:,} bytes; tacit init writes one")
    if not re.sub(r"(?m)^\s*(#.*)?$", "", text).strip():
        raise InvalidInput(f"{place.name} is empty; tacit init writes one")
    return text.replace("\r\n", "\n")


def _parse(place: Path, text: str) -> dict[str, Any]:
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise InvalidInput(f"{place.name}, line {line}: a key must have fewer than 10 parts between dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(place, text, str(error)) from None
    except RecursionError:
        raise InvalidInput(f"{place.name} is not a plan: its brackets are nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InvalidInput(f"{place.name} is not a plan: {str(error).partition(':')[0]}") from None


def _not_toml(path: Path, text: str, said: str) -> InvalidInput:
    where = re.search(r"line (\d+)", said)
    line = int(where[1]) if where else max(1, len(text.splitlines()))
    key = key_at(text, line)
    what = re.sub(r"\s*\(at .*\)", "", said)
    twice = "; a key may occur only once in a table" if "overwrite" in what or "twice" in what else ""
    return InvalidInput(f"{path.name}, line {line}{f', {key}' if key else ''}: this is not TOML: {what}{twice}")


class _PlanReader:
    def __init__(self, path: Path, text: str, document: Mapping[str, Any]) -> None:
        self._path, self._lines, self._document = path, KeyLines(text), document

    def plan(self) -> AuditPlan:
        known = [*_TABLES, *SURFACES]
        for name in self._document:
            if name not in known:
                raise self._fault(name, _unknown(name, known, "a table is one of"))
        data, run, limits, ledger = (self._table(name) for name in _TABLES)
        self._check_run(run, limits)
        planned = [(name, number) for name in SURFACES for number, _ in enumerate(self._releases(name))]
        if not planned:
            raise InvalidInput(f"{self._path.name} plans no release; add one, such as [[labels]] with epsilon = 1.0")
        if len(planned) > _MOST_RELEASES:
            raise InvalidInput(
                f"{self._path.name} must plan at most {_MOST_RELEASES} releases, got {len(planned):,}; divide the plan"
            )
        source = self._source(data)
        if "delta" in run:
            self._try("audit", "delta", partial(source.check_delta, run["delta"]))
        steps = tuple(self._step(source, surface, number) for surface, number in planned)
        command = f"tacit audit {quote(str(self._path))}"
        kept = self._ledger(ledger)
        return AuditPlan(steps=steps, limits=RunLimits(**limits), ledger=kept, command=command, **run)

    def _ledger(self, given: Mapping[str, Any]) -> BudgetLedger | None:
        if not given:
            return None
        if "file" not in given:
            raise self._fault("ledger", "file must name the ledger")
        place = given["file"] if is_location(given["file"]) else str(self._path.parent / given["file"])
        kept = BudgetLedger(place=place, dataset=given.get("dataset"))
        self._try("ledger", "dataset" if "dataset" in given else "file", kept.check)
        return kept

    def _check_run(self, run: dict[str, Any], limits: Mapping[str, Any]) -> None:
        for key in limits:
            alone = {name: limits[name] for name in dict.fromkeys((key, "epsilon")) if name in limits}
            self._try("limits", key, partial(RunLimits, **alone))
        if "delta" in run:
            self._try("audit", "delta", partial(check_delta, run["delta"]))
        if "per_day" in run:
            self._try("audit", "per_day", partial(check_count, run["per_day"], name="per_day"))
        epsilons = run.get("epsilons", ())
        if len(epsilons) > _MOST_EPSILONS:
            raise self._fault("audit", f"must have at most {_MOST_EPSILONS} numbers, got {len(epsilons):,}", "epsilons")
        for epsilon in epsilons:
            self._try("audit", "epsilons", partial(check_epsilon, epsilon))

    def _try(self, table: str, key: str, check: Callable[[], object]) -> None:
        try:
            check()
        except TacitError as error:
            raise self._fault(table, str(error), key) from None

    def _source(self, data: Mapping[str, Any]) -> AuditedTable:
        if ("file" in data) == ("bundled" in data):
            both = "bundled" if "bundled" in data else None
            raise self._fault("data", "there must be either a file or the name of a bundled table", both)
        for key in ("label", "features", "groups", "rows"):
            if "bundled" in data and key in data:
                raise self._fault("data", "contradicts bundled, whose table has its own label and features", key)
        if "bundled" not in data and "label" not in data:
            raise self._fault("data", "label must name the private column")
        try:
            return bundled_source(data["bundled"]) if "bundled" in data else self._read(data)
        except TacitError as error:
            raise self._fault("data", str(error), _blamed(str(error), data)) from None

    def _read(self, data: Mapping[str, Any]) -> AuditedTable:
        given = {"most_rows": data["rows"]} if "rows" in data else {}
        given |= {name: data[name] for name in ("features", "groups") if name in data}
        elsewhere = is_location(data["file"]) or data["file"].startswith("bundled:")
        place = data["file"] if elsewhere else self._path.parent / data["file"]
        return check_size(source_from_file(place, label=data["label"], **given))

    def _releases(self, surface: str) -> list[Mapping[str, Any]]:
        given = self._document.get(surface, [])
        if not isinstance(given, list) or not all(isinstance(table, dict) for table in given):
            raise self._fault(surface, f"a release is written [[{surface}]], with two brackets")
        return given

    def _step(self, source: AuditedTable, surface: str, number: int) -> PlannedRelease:
        """Return a release as its surface's plan reads it, or raise with the line and the key."""
        table = dict(self._releases(surface)[number])
        kinds = [one.name for one in settings_of(plan_type(surface))]
        for key in table:
            if key not in kinds:
                raise self._fault(surface, _unknown(key, kinds, f"a release of {surface} has"), key, number)
        places = {key: self._place(surface, key, number) for key in kinds if key in table}
        try:
            return PlannedRelease(source=source, plan=planned_release(surface, source, table), places=places)
        except InvalidInput as error:
            raise self._fault(surface, str(error), error.field if error.field in table else None, number) from None

    def _table(self, name: str) -> dict[str, Any]:
        given = self._document.get(name, {})
        if not isinstance(given, dict):
            raise self._fault(name, f"must be a table, written [{name}]")
        kinds = _TABLES[name]
        read = {}
        for key, value in given.items():
            if key not in kinds:
                raise self._fault(name, _unknown(key, kinds, f"{name} has"), key)
            try:
                read[key] = read_value(kinds[key], value, field=key)
            except InvalidInput as error:
                raise self._fault(name, str(error), key) from None
        return read

    def _fault(self, table: str, what: str, key: str | None = None, number: int = 0) -> InvalidInput:
        return InvalidInput(f"{self._place(table, key, number)}: {what}")

    def _place(self, table: str, key: str | None, number: int) -> str:
        line = self._lines.find(table, key, number=number)
        return f"{self._path.name}, line {line}, {'.'.join(filter(None, (table, key)))}"


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
