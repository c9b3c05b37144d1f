"""Measure what is not measured yet; see the package's own words for the ways to call it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

import papers.label_retraining.texts as package
from papers.label_retraining.texts import recipe, retraining, texts
from papers.label_retraining.texts.encoder import CACHE
from papers.label_retraining.texts.neighbors import find_near
from papers.label_retraining.texts.points import KINDS, RESULTS, Point, Results, plan
from papers.label_retraining.texts.tables import markdown
from papers.label_retraining.texts.views import read_views


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing and print the tables."""
    options = _parse(arguments)
    if options.table:
        print(markdown(json.loads(options.out.read_text(encoding="utf-8"))["points"]))
        return
    results = Results(options.out, quick=options.quick)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    missing = [point for point in plan(options.kinds.split(","), seeds=seeds) if point.key not in results.points]
    if missing:
        _measure_all(missing, results, options)
    print(markdown(results.points))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m papers.label_retraining.texts",
        description=package.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--seeds", default="0,1,2", help="which, as a list")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON; points it holds already are not run again")
    parser.add_argument("--model", type=Path, help="folder of the encoder; default that of the installed package")
    parser.add_argument("--quick", action="store_true", help="made-up texts, no encoder: shows that it runs")
    parser.add_argument("--table", action="store_true", help="measure nothing; print the tables from the JSON")
    options = parser.parse_args(arguments)
    if options.quick and options.out == RESULTS:
        parser.error("--quick needs --out: its numbers must not stand beside the full ones")
    return options


def _measure_all(missing: list[Point], results: Results, options: argparse.Namespace) -> None:
    found = texts.made_up() if options.quick else texts.load()
    views = read_views(found, model=options.model, quick=options.quick)
    how = recipe.Recipe(most=50) if options.quick else recipe.Recipe()
    near = find_near(views["minilm"], count=how.most, folder=None if options.quick else CACHE)
    work = recipe.Work(views, near, how)
    for point in track(missing, description="points", console=Console(stderr=True), transient=True):
        numbers = _measure(point, work, found)
        results.add(point.key, numbers)
        print(point.key, numbers, file=sys.stderr, flush=True)


def _measure(point: Point, work: recipe.Work, found: texts.Texts) -> dict[str, Any]:
    if point.kind == "clean":
        return recipe.measure_clean(work, found)
    if point.kind == "recipe":
        return recipe.measure(work, found, epsilon=point.epsilon, seed=point.seed)
    return retraining.measure(
        work.views[point.view], found.labels, found.test_labels, epsilon=point.epsilon, seed=point.seed
    )


if __name__ == "__main__":
    main()
