"""What the page is made of: papers, their tables and figures, and the statements that tests check."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "ILLUSTRATION",
    "MEASURED",
    "MISSING",
    "PART",
    "RESULTS",
    "Item",
    "Paper",
    "Statement",
    "count",
    "date_of",
    "grid",
    "points_of",
    "read",
    "spread",
    "spread_of",
    "verdict",
]

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MEASURED, PART, MISSING, ILLUSTRATION = "measured", "measured in part", "not reproduced", "illustration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A table or figure: what it shows, how far it was measured, its numbers, and where they come from.

    ``seen``: whether ours shows what the paper says of it.
    """

    name: str
    shows: str
    status: str
    seen: str = ""
    body: tuple[str, ...] = ()
    because: str = ""
    seeds: str = ""
    cost: str = ""
    commands: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    discussed: str = ""

    def __post_init__(self) -> None:
        assert self.status in (MEASURED, PART, MISSING, ILLUSTRATION), self.status
        assert bool(self.because) == (self.status in (MISSING, PART)), (
            f"{self.name}: a reason goes with what is missing"
        )

    def block(self, heading: str) -> Iterable[str]:
        """Yield the lines of the page."""
        yield from (f"### {heading}", "", self.shows, "")
        if self.because:
            missing = "Not reproduced" if self.status == MISSING else "Not reproduced in full"
            yield from (f"{missing}, because {self.because}", "")
        if self.body:
            yield from (*self.body, "")
        if self.origin:
            yield from (self.origin, "")

    @property
    def origin(self) -> str:
        """Return seeds, cost, command and files in one paragraph."""
        parts = [f"Seeds: {self.seeds}." if self.seeds else "", self.cost]
        parts += [f"`{command}`;" for command in self.commands]
        parts += [", ".join(f"`benchmarks/results/{name}`{_dated(name)}" for name in self.files)]
        text = " ".join(part for part in parts if part).rstrip(";")
        where = f" See {self.discussed}." if self.discussed else ""
        return f"{text}.{where}".replace("..", ".") if text else where.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A theorem, lemma or remark, what became of it, and the test that says so (``file::name``)."""

    name: str
    verdict: str
    test: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper: its tables and figures in the order of its text, and its statements."""

    short: str
    title: str
    about: str
    items: tuple[Item, ...]
    statements: tuple[Statement, ...] = ()

    def heading(self, item: Item) -> str:
        """Return the heading of an item: unlike any other on the page."""
        return f"{self.short}, {item.name}"

    def rows(self) -> Iterable[tuple[str, ...]]:
        """Yield the lines of the overview."""
        for item in self.items:
            link = f"[{item.name}](#{slug(self.heading(item))})"
            first = re.split(r"(?<=\.)\s", item.shows)[0]
            yield (self.short, link, first.rstrip("."), item.status, item.seen, item.seeds)

    def section(self) -> Iterable[str]:
        """Yield the lines of the page."""
        yield from (f"## {self.short}", "", f"*{self.title}.* {self.about}", "")
        for item in self.items:
            yield from item.block(self.heading(item))
        if self.statements:
            yield from (f"### {self.short}: statements that are tests", "")
            yield from grid(
                ("statement", "what holds", "test"),
                [(one.name, one.verdict, f"`{one.test}`") for one in self.statements],
            )
            yield ""


def slug(heading: str) -> str:
    """Return the anchor that MkDocs gives a heading.

    >>> slug("Scores, Figure 1 (a)")
    'scores-figure-1-a'
    """
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table."""
    lines = [_line(head), f"|{' --- |' * len(head)}"]
    for row in rows:
        assert len(row) == len(head), row
        lines.append(_line(row))
    return lines


def _line(cells: Iterable[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


@cache
def read(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Return a file of results; nothing where it is not there yet."""
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def points_of(name: str) -> list[dict[str, Any]]:
    """Return the points of a file of results."""
    points = read(name).get("points", {})
    return list(points.values()) if isinstance(points, Mapping) else list(points)


def date_of(name: str) -> str:
    """Return the day on which a file's numbers were measured."""
    return str(read(name).get("date", ""))


def _dated(name: str) -> str:
    date = date_of(name) if name.endswith(".json") else ""
    return f" ({date})" if date else ""


def spread(mean: float, deviation: float | None, *, digits: int = 2) -> str:
    """Return mean and deviation as the papers print them.

    >>> spread(57.78, 1.13), spread(31, None, digits=0)
    ('57.78 ± 1.13', '31')
    """
    return f"{mean:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def spread_of(values: Sequence[float], *, digits: int = 2) -> str:
    """Return mean and deviation (n - 1) of one value a seed; nothing where there is none."""
    if not values:
        return ""
    return spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None, digits=digits)


def count(numbers: Iterable[int]) -> str:
    """Return a number of seeds, or the least and the most.

    >>> count([3, 3]), count([2, 3]), count([])
    ('3', '2 to 3', '')
    """
    found = sorted(set(numbers))
    return "" if not found else f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


def verdict(held: Iterable[bool]) -> str:
    """Return whether what a paper says was seen: always, at times, or never.

    >>> verdict([True, True]), verdict([True, False]), verdict([])
    ('yes', 'in part', '')
    """
    found = list(held)
    return "" if not found else "yes" if all(found) else "in part" if any(found) else "no"
