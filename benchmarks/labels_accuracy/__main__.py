"""Measure what is not measured yet; write the tables of ``docs/labels_accuracy.md``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.__main__ import describe_machine
from benchmarks.labels_accuracy.cells import Cell, measure, plan
from benchmarks.labels_accuracy.problems import PROBLEMS
from benchmarks.labels_accuracy.tables import write_tables
from tacit.privacy.files import write_atomically

RESULTS = Path(__file__).parents[1] / "results" / "labels_accuracy.json"
PAGE = Path(__file__).parents[2] / "docs" / "labels_accuracy.md"


def main(arguments: list[str] | None = None) -> None:
    options = _parse(arguments)
    if options.table:
        write_tables(PAGE, sorted(RESULTS.parent.glob("labels_accuracy*.json")))
        return
    document = _read(options.out, quick=options.quick)
    sets, learners = options.sets.split(","), options.learners.split(",")
    problems = [p for p in PROBLEMS if p.set in sets and p.learner in learners]
    wanted = plan(problems, [float(e) for e in options.epsilons.split(",")], options.seeds)
    missing = [cell for cell in wanted if cell.key not in document["cells"]]
    for number, (cell, row) in enumerate(_measure_all(missing, quick=options.quick, jobs=options.jobs), start=1):
        print(f"{number}/{len(missing)} {cell.key} {row['accuracy']:.4f} in {row['seconds']:.1f} s", file=sys.stderr)
        document["cells"][cell.key] = row
        _write(options.out, document)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels_accuracy", description=__doc__)
    parser.add_argument("--sets", default="digits,adult,mnist", help="which of digits, adult, mnist")
    parser.add_argument("--learners", default="logistic,perceptron,trees,cnn,cnn_fast", help="which of them")
    parser.add_argument("--epsilons", default="0.5,1,2,3")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON; cells it holds already are not run again")
    parser.add_argument("--jobs", type=int, default=1, help="processes; several share one GPU")
    parser.add_argument("--quick", action="store_true", help="600 rows and a few epochs: shows that it runs")
    parser.add_argument("--table", action="store_true", help="measure nothing; write the page's tables from the JSON")
    options = parser.parse_args(arguments)
    if options.quick and options.out == RESULTS:
        parser.error("--quick needs --out: its numbers must not stand beside the full ones")
    return options


def _measure_all(cells: list[Cell], *, quick: bool, jobs: int) -> Iterator[tuple[Cell, dict[str, Any]]]:
    if jobs == 1:
        yield from ((cell, measure(cell, quick=quick)) for cell in cells)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        begun = {pool.submit(measure, cell, quick=quick): cell for cell in cells}
        yield from ((begun[done], done.result()) for done in as_completed(begun))


def _read(path: Path, *, quick: bool) -> dict[str, Any]:
    if path.exists():
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document["quick"] != quick:
            raise SystemExit(
                f"{path} holds {'quick' if document['quick'] else 'full'} measurements; name another --out"
            )
        return document
    return {"quick": quick, "cells": {}}


def _write(path: Path, document: dict[str, Any]) -> None:
    document |= {"date": datetime.now(UTC).date().isoformat(), "machine": {**describe_machine(), "gpu": _gpu()}}
    with write_atomically(path, force=True) as file:
        file.write((json.dumps(document, indent=1) + "\n").encode())


def _gpu() -> str | None:
    try:
        import torch
    except ModuleNotFoundError:
        return None
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


if __name__ == "__main__":
    main()
