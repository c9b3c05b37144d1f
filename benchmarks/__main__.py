"""Run the benchmarks: a table on the terminal, one JSON file an area in ``benchmarks/results``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Rows = Sequence[Mapping[str, Any]]

HERE = Path(__file__).parent
LIBRARIES = ("dp-accounting", "duckdb", "numpy", "opendp", "pandas", "pyarrow", "scikit-learn", "scipy", "torch")
NEEDED = {"case", "seconds", "reference", "reference_seconds", "ratio"}


def find_areas(folder: Path = HERE) -> list[str]:
    """Return the names of the areas that have a ``bench_<area>.py``."""
    return sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))


def describe_machine() -> dict[str, Any]:
    """Return what a timing depends on; nothing that tells one machine from another of its kind."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
    }


def run_area(area: str, *, quick: bool) -> Rows:
    """Run one area's benchmark and check that each row has its reference."""
    rows: Rows = importlib.import_module(f"benchmarks.bench_{area}").run(quick=quick)
    for row in rows:
        if missing := NEEDED - set(row):
            raise SystemExit(f"bench_{area}: {row.get('case', 'a row')} lacks {', '.join(sorted(missing))}")
    return rows


def write_results(area: str, rows: Rows, *, quick: bool, folder: Path) -> Path:
    """Write one area's rows with the date and the machine."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{area}.json"
    date = datetime.now(UTC).date().isoformat()
    document = {"area": area, "date": date, "quick": quick, "machine": describe_machine(), "rows": list(rows)}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return path


def show(results: Mapping[str, Rows], *, console: Console) -> None:
    """Print all areas as one table."""
    table = Table("area", "case", "seconds", "reference", "seconds", "ratio", title="Benchmarks")
    for column in (2, 4, 5):
        table.columns[column].justify = "right"
    for area, rows in results.items():
        for row in rows:
            table.add_row(area, *_cells(row))
        table.add_section()
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the areas asked for; print, write, return the exit code."""
    areas = find_areas()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: seconds, and numbers to try the code with")
    parser.add_argument("--only", action="append", choices=areas, metavar="AREA", help=f"one of: {', '.join(areas)}")
    parser.add_argument("--out", type=Path, help="folder for the JSON (default: benchmarks/results; none with --quick)")
    options = parser.parse_args(arguments)
    folder = options.out or (None if options.quick else HERE / "results")
    results = {}
    for area in options.only or areas:
        print(f"{area} ...", file=sys.stderr)
        results[area] = run_area(area, quick=options.quick)
        if folder:
            write_results(area, results[area], quick=options.quick, folder=folder)
    show(results, console=Console())
    return 0


def _cells(row: Mapping[str, Any]) -> Iterable[str]:
    numbers = {name: f"{row[name]:.3g}" for name in ("seconds", "reference_seconds", "ratio")}
    return row["case"], numbers["seconds"], row["reference"], numbers["reference_seconds"], numbers["ratio"]


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():  # platform.processor() is empty on many Linux systems
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
