"""What there is to measure, and the file it is kept in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.__main__ import describe_machine
from papers.label_retraining.texts.tables import EPSILONS, REPRESENTATIONS
from tacit.privacy.files import write_atomically

KINDS = ("clean", "recipe", "published")
RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "labels_text.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One release's worth of numbers: ``kind`` is published or recipe; or clean, of no release at all."""

    kind: str
    epsilon: float = 0.0
    seed: int = 0
    view: str = "both"

    @property
    def key(self) -> str:
        """Return what the point is known by in the results."""
        return f"{self.view}|{self.kind}" + (f"|{self.epsilon:g}|{self.seed}" if self.epsilon else "")


def plan(kinds: Sequence[str], *, seeds: Sequence[int]) -> Iterator[Point]:
    """Yield the points seed by seed: an interrupted run has whole tables of fewer seeds."""
    if "clean" in kinds:
        yield Point(kind="clean")
    for seed in seeds:
        for kind, views in (("recipe", ["both"]), ("published", list(REPRESENTATIONS))):
            if kind in kinds:
                for view in views:
                    yield from (Point(kind=kind, view=view, epsilon=epsilon, seed=seed) for epsilon in EPSILONS)


class Results:
    """The points measured so far: written after each one."""

    def __init__(self, path: Path, *, quick: bool) -> None:
        self.path = path
        self.document: dict[str, Any] = {"quick": quick, "points": {}}
        if path.exists():
            self.document = json.loads(path.read_text(encoding="utf-8"))
            if self.document["quick"] != quick:
                found = "quick" if self.document["quick"] else "full"
                raise SystemExit(f"{path} holds {found} measurements; name another --out")

    @property
    def points(self) -> dict[str, dict[str, Any]]:
        """Return the numbers by the points' keys."""
        return self.document["points"]  # type: ignore[no-any-return]

    def add(self, key: str, numbers: dict[str, Any]) -> None:
        """Keep a point."""
        self.points[key] = numbers
        self.document |= {"date": datetime.now(UTC).date().isoformat(), "machine": describe_machine()}
        with write_atomically(self.path, force=True) as file:
            file.write((json.dumps(self.document, indent=1) + "\n").encode())
