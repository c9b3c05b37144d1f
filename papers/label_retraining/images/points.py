"""What there is to measure, and the file it is kept in."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from papers.label_retraining.images.parts import write_atomically
from papers.label_retraining.images.tables import GOALS, NOT_PRIVATE, TABLES

NAME = "labels_images.json"
TRIED = "labels_images_tried.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One training's worth of numbers: ``kind`` is a protocol of the tables, or the recipe with its representation.

    ``recipe`` learns the representation from the set's images, ``given`` takes one that others trained.
    """

    set: str
    kind: str
    epsilon: float
    seed: int
    depth: int = 18

    @property
    def key(self) -> str:
        """Return what the point is known by in the results."""
        network = "" if self.kind in ("recipe", "given") else f"resnet{self.depth}|"
        return f"{self.set}|{network}{self.kind}|{self.epsilon:g}|{self.seed}"


def plan_tables(
    numbers: Sequence[str], protocol: str | None, *, seeds: Sequence[int], epsilons: Sequence[float] = ()
) -> Iterator[Point]:
    """Yield the points of the tables, seed by seed: an interrupted run has whole tables of fewer seeds.

    Each is measured by its own protocol unless another is named; labels that are not randomized are by none. Of those
    that are, only the epsilons named are wanted, if any is.
    """
    found: dict[tuple[str, int, str], set[float]] = {}
    for table in TABLES:
        if table.number.rstrip("b") in numbers:
            kind = table.protocol if table.protocol in NOT_PRIVATE else protocol or table.protocol
            found.setdefault((table.set, table.depth, kind), set()).update(table.rows)
    for seed in seeds:
        for (name, depth, kind), printed in found.items():
            for epsilon in sorted(printed):
                if not epsilons or math.isinf(epsilon) or epsilon in epsilons:
                    yield Point(set=name, kind=kind, epsilon=epsilon, seed=seed, depth=depth)


def plan_recipe(
    name: str, *, kind: str = "recipe", seeds: Sequence[int], epsilons: Sequence[float] = ()
) -> Iterator[Point]:
    """Yield the points of the recipe, seed by seed."""
    for seed in seeds:
        for epsilon in epsilons or GOALS[name]:
            yield Point(set=name, kind=kind, epsilon=epsilon, seed=seed)


class Results:
    """The points measured so far: written after each one, and copied where asked."""

    def __init__(self, folder: Path, *, also: Path | None, quick: bool, known: Sequence[Path] = ()) -> None:
        self.folder, self.also = folder, also
        folder.mkdir(parents=True, exist_ok=True)
        self.document: dict[str, Any] = {"quick": quick, "points": {}}
        for path in (*known, folder):
            if (path / NAME).exists():
                found = json.loads((path / NAME).read_text(encoding="utf-8"))
                if found["quick"] != quick:
                    raise SystemExit(
                        f"{path / NAME} is {'' if found['quick'] else 'not '}of a quick run; name another --out"
                    )
                self.document["points"] |= found["points"]

    @property
    def points(self) -> dict[str, dict[str, Any]]:
        """Return the numbers by the points' keys."""
        return self.document["points"]  # type: ignore[no-any-return]

    def add(self, key: str, numbers: dict[str, Any]) -> None:
        """Keep a point."""
        self.points[key] = numbers
        self.document |= {"date": datetime.now(UTC).date().isoformat(), "machine": machine()}
        write(self.folder / NAME, self.document)
        self.copy(NAME)

    def copy(self, *patterns: str) -> None:
        """Copy files to the second folder, if there is one."""
        if self.also is not None and self.also != self.folder:
            self.also.mkdir(parents=True, exist_ok=True)
            for pattern in patterns:
                for path in self.folder.glob(pattern):
                    shutil.copy(path, self.also / path.name)

    def seconds(self, kind: str, otherwise: float) -> float:
        """Return how long a point of this kind is expected to take: as the longest did, and a little."""
        taken = [numbers["seconds"] for key, numbers in self.points.items() if f"|{kind}|" in key]
        return 1.05 * max(taken) if taken else otherwise


def write(path: Path, document: dict[str, Any]) -> None:
    """Replace a JSON file in one step."""
    with write_atomically(path, force=True) as file:
        file.write((json.dumps(document, indent=1) + "\n").encode())


def machine() -> dict[str, Any]:
    """Return what a number depends on; nothing that tells one machine from another of its kind."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "gpu": gpu,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def merge(folder: Path, results: Path, *, at_once: int = 1, tried: bool = False) -> dict[str, Any]:
    """Add the points of the runs' files to those kept; return all.

    Runs that shared the GPU each took part of it: a new point's seconds are divided by how many there were. Points of
    settings that were ``tried`` are known by these too, so that they stand beside one another.
    """
    document: dict[str, Any] = {"quick": False, "points": {}}
    for path in (results, *sorted(folder.glob("labels_images*.json"))):
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["quick"]:
                raise SystemExit(f"{path} is of a quick run: its numbers do not belong in the results")
            if path != results:
                found["points"] = {
                    key + (_settings(point) if tried else ""): _shared(point, at_once)
                    for key, point in found["points"].items()
                }
            points = found["points"] | document["points"]
            document = found | {"points": points}
    write(results, document)
    return document


def _shared(point: dict[str, Any], at_once: int) -> dict[str, Any]:
    return point if at_once == 1 else point | {"seconds": round(point["seconds"] / at_once, 1), "at_once": at_once}


def _settings(point: dict[str, Any]) -> str:
    return "|{images}|{batch}|{rate:g}".format(**point["settings"])
