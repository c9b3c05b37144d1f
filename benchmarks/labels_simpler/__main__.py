"""Measure the cells that are not measured yet; write the tables of ``docs/labels_simpler.md``.

TACIT_DATA=folder python -m benchmarks.labels_simpler                    # all cells; resumes
python -m benchmarks.labels_simpler --learners linear --sets digits,wine --seeds 4
python -m benchmarks.labels_simpler --table
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import monotonic

from benchmarks.cells import read_cells, write_cells, write_table
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
    document.setdefault("cap", options.cap)
    if document["cap"] != options.cap:
        raise SystemExit(f"{options.out} holds cells of at most {document['cap']} rows; name another --out")
    wanted = plan(
        options.sets.split(","),
        options.learners.split(","),
        [float(e) for e in options.epsilons.split(",")],
        options.seeds,
    )
    begun = monotonic()
    for key, settings in wanted:
        if key in document["cells"] or monotonic() - begun > 60 * options.minutes:
            continue
        document["cells"][key] = measure(**settings, cap=options.cap, judged=options.cap)
        print(
            key,
            {way: cell["accuracy"] for way, cell in document["cells"][key].items() if way != "rows"},
            file=sys.stderr,
        )
        write_cells(options.out, document)


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
    parser.add_argument("--cap", type=int, default=20_000, help="rows to learn from, and as many others to judge by")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no cell after so long")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON; cells it holds already are not run again")
    parser.add_argument("--quick", action="store_true", help="marks the JSON as no full run")
    parser.add_argument("--table", action="store_true", help="measure nothing; write the page's tables from the JSON")
    options = parser.parse_args(arguments)
    if options.quick and options.out == OUT:
        parser.error("--quick needs --out: its numbers must not stand beside the full ones")
    return options


if __name__ == "__main__":
    main()
