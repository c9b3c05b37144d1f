"""Benchmarks of many cells: their options, the JSON that a run goes on from, and the table made of it on a page."""

from __future__ import annotations

import argparse
import json
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from multiprocessing import TimeoutError, get_context
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import describe_machine
from tacit.privacy.files import write_atomically

_KEPT_EACH = 20.0  # seconds


def parse_options(arguments: list[str] | None, *, name: str, about: str | None, out: Path) -> argparse.Namespace:
    """Return where the cells are kept, whether the run is quick, and whether the table is all that is wanted."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=out, help="JSON; cells it holds already are not run again")
    parser.add_argument("--quick", action="store_true", help="few rows, one seed: shows that it runs")
    parser.add_argument("--table", action="store_true", help="measure nothing; write the page's table from the JSON")
    parser.add_argument("--workers", type=int, default=1, help="processes, where the benchmark takes several")
    parser.add_argument("--minutes", type=float, default=10_000, help="end after so long, where it takes several")
    options = parser.parse_args(arguments)
    if options.quick and options.out == out:
        parser.error("--quick needs --out: its numbers must not stand beside the full ones")
    return options


def read_cells(path: Path, *, quick: bool) -> dict[str, Any]:
    """Return what an earlier run measured, or an empty document."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"quick": quick, "cells": {}}


def write_cells(path: Path, document: dict[str, Any]) -> None:
    """Keep what is measured so far, with date and machine."""
    document |= {"date": datetime.now(UTC).date().isoformat(), "machine": describe_machine()}
    with write_atomically(path, force=True) as file:
        file.write((json.dumps(document, indent=1) + "\n").encode())


def fill_cells(
    path: Path,
    plan: Iterable[tuple[str, Mapping[str, Any]]],
    *,
    measure: Callable[..., Mapping[str, Any]],
    quick: bool,
) -> None:
    """Measure the cells that no earlier run has; each is kept at once, with its settings."""
    document = read_cells(path, quick=quick)
    for key, settings in track(list(plan), description="cells", console=Console(file=sys.stderr)):
        if key not in document["cells"]:
            document["cells"][key] = {**settings, **measure(**settings)}
            write_cells(path, document)


def fill_in_processes(
    missing: Iterable[tuple[str, Mapping[str, Any]]],
    document: dict[str, Any],
    *,
    measure: Callable[..., Mapping[str, Any]],
    out: Path,
    workers: int,
    minutes: float,
) -> None:
    """Measure cells in processes of their own, and keep what is done, at the latest when the time is over."""
    begun = kept = monotonic()
    wanted = list(missing)
    with get_context("fork").Pool(workers) as pool:
        found = pool.imap_unordered(partial(_measured, measure), wanted)
        for number in range(1, len(wanted) + 1):
            try:
                key, cell = found.next(timeout=max(0.0, begun + 60 * minutes - monotonic()))
            except TimeoutError:
                break
            if cell is not None:
                document["cells"][key] = dict(cell)
            if monotonic() - kept > _KEPT_EACH:
                write_cells(out, document)
                kept = monotonic()
                print(f"{number} of {len(wanted)} cells, {kept - begun:.0f} s", file=sys.stderr, flush=True)
        pool.terminate()
    write_cells(out, document)


def _measured(
    measure: Callable[..., Mapping[str, Any]], one: tuple[str, Mapping[str, Any]]
) -> tuple[str, Mapping[str, Any] | None]:
    try:
        return one[0], measure(**one[1])
    except Exception:  # one cell that fails must not cost the others
        print(one[0], traceback.format_exc(), file=sys.stderr, flush=True)
        return one[0], None


def write_table(page: Path, results: Path, *, name: str, make: Callable[[Any], str]) -> None:
    """Replace what stands between one pair of markers by what is made of a full run's results."""
    document = json.loads(results.read_text(encoding="utf-8"))
    if document["quick"]:
        raise SystemExit("a quick run's numbers do not belong on the page")
    text = replace_between(page.read_text(encoding="utf-8"), name, make(document))
    with write_atomically(page, force=True) as file:
        file.write(text.encode())


def replace_between(text: str, name: str, table: str) -> str:
    """Put a table between its markers, which must be there once."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)"
    changed, count = re.subn(pattern, lambda found: f"{found[1]}{table}\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"the page must have the markers of {name} once, it has them {count} times")
    return changed
