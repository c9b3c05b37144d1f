"""Measure the cells that are not measured yet; write the tables of ``docs/labels_simpler.md``.

TACIT_DATA=folder python -m benchmarks.labels_simpler                    # all cells; resumes
python -m benchmarks.labels_simpler --learners linear --sets digits,wine --seeds 4
python -m benchmarks.labels_simpler --table
"""

from __future__ import annotations

import argparse
import sys
import traceback
from multiprocessing import TimeoutError, get_context
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.cells import read_cells, write_cells, write_table
from benchmarks.labels_simpler.cells import measure, plan
from benchmarks.labels_simpler.learners import LEARNERS
from benchmarks.labels_simpler.sets import SETS
from benchmarks.labels_simpler.tables import simpler_table

OUT = Path(__file__).parents[1] / "results" / "labels_simpler.json"
KEPT_EACH = 20.0  # seconds
PAGE = Path(__file__).parents[2] / "docs" / "labels_simpler.md"


def main(arguments: list[str] | None = None) -> None:
    options = _parse(arguments)
    if options.table:
        write_table(PAGE, options.out, name="simpler", make=simpler_table)
        return
    document = read_cells(options.out, quick=options.quick)
    caps = document.setdefault("cap", {"linear": options.cap, "others": options.cap_others})
    if caps != {"linear": options.cap, "others": options.cap_others}:
        raise SystemExit(f"{options.out} holds cells of at most {caps} rows; name another --out")
    wanted = plan(
        options.sets.split(","),
        options.learners.split(","),
        [float(e) for e in options.epsilons.split(",")],
        range(options.first, options.seeds),
    )
    missing = [
        (key, settings | {"cap": caps.get(settings["learner"], caps["others"])})
        for key, settings in wanted
        if key not in document["cells"]
    ]
    run_cells(missing, document, out=options.out, workers=options.workers, seconds=60 * options.minutes)


def run_cells(
    missing: list[tuple[str, dict[str, Any]]], document: dict[str, Any], *, out: Path, workers: int, seconds: float
) -> None:
    """Measure cells in processes of their own, and keep what is done, at the latest when the time is over."""
    begun = kept = monotonic()
    with get_context("fork").Pool(workers) as pool:
        found = pool.imap_unordered(_measured, missing)
        for number in range(len(missing)):
            try:
                key, cell = found.next(timeout=max(0.0, begun + seconds - monotonic()))
            except TimeoutError:
                break
            if cell is not None:
                document["cells"][key] = cell
            if monotonic() - kept > KEPT_EACH or number + 1 == len(missing):
                write_cells(out, document)
                kept = monotonic()
                print(f"{number + 1} of {len(missing)} cells, {kept - begun:.0f} s", file=sys.stderr, flush=True)
        pool.terminate()
    write_cells(out, document)


def _measured(one: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any] | None]:
    try:
        return one[0], measure(**one[1])
    except Exception:  # a cell that fails is said, and leaves the others alone
        print(one[0], traceback.format_exc(), file=sys.stderr, flush=True)
        return one[0], None


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.labels_simpler",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--epsilons", default="0.5,1,2,3")
    parser.add_argument("--seeds", type=int, default=10, help="the alternative is chosen on the first half of them")
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--cap", type=int, default=20_000, help="rows that linear models learn from")
    parser.add_argument("--cap-others", type=int, default=4_000, help="rows that all other models learn from")
    parser.add_argument("--workers", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so long")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON; cells it holds already are not run again")
    parser.add_argument("--quick", action="store_true", help="marks the JSON as no full run")
    parser.add_argument("--table", action="store_true", help="measure nothing; write the page's tables from the JSON")
    options = parser.parse_args(arguments)
    if options.quick and options.out == OUT:
        parser.error("--quick needs --out: its numbers must not stand beside the full ones")
    return options


if __name__ == "__main__":
    main()
