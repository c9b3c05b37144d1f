"""Measure the cells that are not measured yet; write the tables of ``docs/labels_simpler.md``.

TACIT_DATA=folder python -m benchmarks.labels_simpler                    # all cells; resumes
python -m benchmarks.labels_simpler --learners linear --sets digits,wine --seeds 4
python -m benchmarks.labels_simpler --table
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.cells import fill_in_processes, read_cells, write_table
from benchmarks.labels_simpler.cells import measure, plan
from benchmarks.labels_simpler.learners import LEARNERS
from benchmarks.labels_simpler.sets import SETS
from benchmarks.labels_simpler.tables import simpler_table

OUT = Path(__file__).parents[1] / "results" / "labels_simpler.json"
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
    fill_in_processes(
        missing, document, measure=measure, out=options.out, workers=options.workers, minutes=options.minutes
    )


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
    parser.add_argument("--minutes", type=float, default=10_000, help="end after so long")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON; cells it holds already are not run again")
    parser.add_argument("--quick", action="store_true", help="marks the JSON as no full run")
    parser.add_argument("--table", action="store_true", help="measure nothing; write the page's tables from the JSON")
    options = parser.parse_args(arguments)
    if options.quick and options.out == OUT:
        parser.error("--quick needs --out: its numbers must not stand beside the full ones")
    return options


if __name__ == "__main__":
    main()
