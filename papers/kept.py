"""The file in which a script keeps its points, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import describe_machine
from tacit.privacy.files import write_atomically

__all__ = ["measure_missing"]

Points = dict[str, dict[str, Any]]


def measure_missing(
    path: Path, tasks: Mapping[str, Callable[[], dict[str, Any]]], *, settings: dict[str, Any]
) -> dict[str, Any]:
    """Compute the points that the file does not hold with the same settings, write it after each, return it all."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    points: Points = found["points"] if found.get("settings") == settings else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    for name, compute in track(tasks.items(), description="points", console=Console(stderr=True)):
        if name not in points:
            points[name] = compute()
            found = _write(path, points, settings)
    return found


def _write(path: Path, points: Points, settings: dict[str, Any]) -> dict[str, Any]:
    date = datetime.now(UTC).date().isoformat()
    document = {"date": date, "machine": describe_machine(), "settings": settings, "points": points}
    with write_atomically(path, force=True) as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")
    return document
