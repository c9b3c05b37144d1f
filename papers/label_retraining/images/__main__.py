"""Measure what is not measured yet; see the package's own words for the ways to call it."""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import papers.label_retraining.images as package
from papers.label_retraining.images import parts, pictures, probe, recipe, representation, retraining
from papers.label_retraining.images.points import NAME, TRIED, Point, Results, merge, plan_recipe, plan_tables
from papers.label_retraining.images.tables import TABLES, markdown, wants_confidence
from papers.label_retraining.images.training import BEGUN, Settings, Trainer, say

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"
RECIPES = {
    "recipe": recipe.Recipe(),
    "given": recipe.Recipe(images=200_000, rate=0.05, first_side=224),
}
TRAININGS = {"cifar10": (672_000, 0.2), "cifar100": (672_000, 0.02)}  # of the tables: images seen, largest rate
BATCH = 128  # of the tables
AROUND = 40.0  # seconds that compiling, judging and saving a representation take


def main(arguments: list[str] | None = None) -> int:
    """Pack, probe, measure or merge, and return the exit code."""
    options = _parse(arguments)
    if options.pack is not None:
        for path in pictures.pack(options.pack, name=options.set):
            print(path, f"{path.stat().st_size / 2**20:.1f} MiB")
        return 0
    if options.merge is not None:
        kept = RESULTS / (TRIED if options.tried else NAME)
        points = merge(options.merge, kept, at_once=options.at_once, tried=options.tried)["points"]
        print(f"{len(points)} points of settings tried" if options.tried else markdown(points))
        return 0
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    device = torch.device(options.device)
    if options.probe:
        probe.run(options.out, device=device, quick=options.quick)
        return 0
    return Run(options, device=device).all()


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m papers.label_retraining.images",
        description=package.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pack", type=Path, help="write the set into parts here, and do nothing else")
    parser.add_argument("--merge", type=Path, help="add a run's points to the results, print the tables, nothing else")
    parser.add_argument("--at-once", type=int, default=1, help="with --merge: how many runs shared the GPU")
    parser.add_argument("--tried", action="store_true", help="with --merge: keep as settings tried, not as results")
    parser.add_argument("--probe", action="store_true", help="say what is installed, time plain and compiled training")
    parser.add_argument("--data", type=Path, help="where the parts are")
    parser.add_argument("--set", default="cifar10", choices=("cifar10", "cifar100"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, help="points and weights; what it holds already is not computed again")
    parser.add_argument("--also", type=Path, help="a second folder for each file written")
    parser.add_argument("--tables", default="1,3,8", help="of 1 to 5, 8 to 11 and G; none for the recipe alone")
    parser.add_argument("--protocol", choices=tuple(retraining.PROTOCOLS), help="instead of the tables' own")
    parser.add_argument("--recipe", action="store_true", help="the recipe's points, after the tables'")
    parser.add_argument(
        "--given",
        choices=("lite0", "lite1", "lite2"),
        help="the recipe with this encoder, which was trained on ImageNet",
    )
    parser.add_argument("--side", type=int, default=128, help="of the images the encoder that is given is tuned on")
    parser.add_argument("--representation", action="store_true", help="learn the recipe's representation, no more")
    parser.add_argument("--epsilons", default="", help="which, as a list; default all of the tables and goals")
    parser.add_argument("--seeds", default="0,1,2", help="which, as a list")
    parser.add_argument("--minutes", type=float, default=1e9, help="start nothing that will not be done by then")
    parser.add_argument("--representation-minutes", type=float, default=6.0)
    parser.add_argument("--images", type=int, help="seen in a training of the tables; default by the set")
    parser.add_argument("--batch", type=int, help=f"of the tables, {BATCH} unless told; the paper's is 32")
    parser.add_argument("--rate", type=float, help="largest of the tables; default by the set")
    parser.add_argument("--recipe-images", type=int, help="seen in fine-tuning")
    parser.add_argument("--compile", default="auto", choices=("auto", "yes", "no"))
    parser.add_argument("--quick", action="store_true", help="made-up images and a tiny network: shows that it runs")
    options = parser.parse_args(arguments)
    if options.out is None and options.pack is None and options.merge is None:
        parser.error("--out is needed")
    if options.data is None and not (options.quick or options.probe or options.pack or options.merge):
        parser.error("--data is needed")
    options.tables = [] if options.tables in ("", "none") else options.tables.split(",")
    of_the_set = dict.fromkeys(table.number.rstrip("b") for table in TABLES if table.set == options.set)
    if options.tables and not set(of_the_set) & set(options.tables):
        parser.error(f"--tables must name one of {', '.join(of_the_set)} for --set {options.set}")
    options.epsilons = [float(epsilon) for epsilon in options.epsilons.split(",") if epsilon]
    return options


class Run:
    """One call: the points asked for, one after the other, until the time is up."""

    def __init__(self, options: argparse.Namespace, *, device: torch.device) -> None:
        self.options, self.device, self.failed = options, device, 0
        known = [] if options.data is None else [options.data]
        self.results = Results(options.out, also=options.also, quick=options.quick, known=known)
        self.deadline = BEGUN + 60 * options.minutes
        say(f"tacit {'whole' if parts.WHOLE else 'in parts'}; {device}; {len(self.results.points)} points known")
        self.pictures = pictures.made_up(rows=200) if options.quick else pictures.load(options.data, name=options.set)
        say(f"{len(self.pictures.images)} images")
        self.batches: dict[str, int] = {}
        self.trainers: dict[tuple[str, int], Trainer] = {}

    def _settings(self, kind: str, depth: int) -> Settings:
        """Return how networks of this kind are trained."""
        settings = Settings(depth=depth, compiled=self._compiled())
        if kind == "tables":
            images, rate = TRAININGS[self.options.set]
            settings = replace(
                settings,
                images=self.options.images or images,
                batch=self.options.batch or BATCH,
                rate=self.options.rate or rate,
                graphed=True,
            )
        if kind == "given":
            settings = replace(settings, batch=256, encoder=self.options.given or "", side=self.options.side)
        if self.options.quick:
            settings = replace(settings, images=96, batch=32, width=4, encoder="")
        return replace(settings, batch=self.batches.get(kind, settings.batch))

    def _compiled(self) -> bool:
        timed = self.options.out / "speed.json"
        if self.options.compile != "auto" or not timed.exists():
            return bool(self.options.compile == "yes")
        speed = json.loads(timed.read_text(encoding="utf-8"))
        return bool(speed["compiled"] > 1.08 * speed["plain"])

    def trainer(self, kind: str, depth: int = 18) -> Trainer:
        """Return the trainer for networks of this kind and depth, made once."""
        key = (kind if kind in RECIPES else "tables", depth)
        if key not in self.trainers:
            self.trainers[key] = Trainer(self.pictures, settings=self._settings(*key), device=self.device)
        return self.trainers[key]

    def all(self) -> int:
        """Measure; return 1 if anything failed."""
        seeds = [int(seed) for seed in self.options.seeds.split(",")]
        for point in plan_tables(
            self.options.tables, self.options.protocol, seeds=seeds, epsilons=self.options.epsilons
        ):
            if point.set == self.options.set:
                self.measure(point, partial(self._table_point, point))
        if self.options.recipe:
            self._all_recipe("given" if self.options.given else "recipe", seeds)
        elif self.options.representation:
            self.representation()
        say(f"{len(self.results.points)} points, {self.failed} failed")
        return int(self.failed > 0)

    def _table_point(self, point: Point) -> dict[str, Any]:
        trainer, truth = self.trainer(point.kind, point.depth), self.pictures.labels
        if point.kind == "clean":
            return retraining.measure_clean(trainer, truth, seed=point.seed)
        if point.kind == "human":
            if self.pictures.human_labels is None:
                raise SystemExit("Table 11 needs the labels of CIFAR-100N: --pack writes them with --set cifar100")
            return retraining.measure_human(trainer, truth, self.pictures.human_labels, seed=point.seed)
        return retraining.measure(
            trainer,
            truth,
            epsilon=point.epsilon,
            protocol=point.kind,
            seed=point.seed,
            with_confidence=wants_confidence(point.set, point.depth, point.epsilon),
        )

    def _all_recipe(self, kind: str, seeds: list[int]) -> None:
        wanted = list(plan_recipe(self.options.set, kind=kind, seeds=seeds, epsilons=self.options.epsilons))
        if all(point.key in self.results.points for point in wanted):
            return
        body = self.representation() if kind == "recipe" else None
        if kind == "recipe" and body is None:
            return
        how = RECIPES[kind]
        if self.options.quick:
            how = recipe.Recipe(images=96, neighbors=20, rounds=1, anew=(0.5,))
        if self.options.recipe_images:
            how = replace(how, images=self.options.recipe_images)
        for point in wanted:
            self.measure(point, partial(self._recipe_point, point, body, how))

    def _recipe_point(self, point: Point, body: dict[str, torch.Tensor] | None, how: recipe.Recipe) -> dict[str, Any]:
        numbers = recipe.measure(
            self.trainer(point.kind), self.pictures.labels, body, epsilon=point.epsilon, seed=point.seed, recipe=how
        )
        return numbers | {"recipe": asdict(how)}

    def representation(self) -> dict[str, torch.Tensor] | None:
        """Return the weights learned without labels: as found, or learned now and kept."""
        folders = [self.options.out, *([] if self.options.data is None else [self.options.data])]
        found = representation.load(self.trainer("recipe"), *folders)
        if found is not None:
            say("representation found")
            return found
        how = representation.Twins(seconds=60 * self.options.representation_minutes)
        if self.options.quick:
            how = representation.Twins(batch=32, width=32, most_steps=4)
        if time.perf_counter() + self._reserve() > self.deadline:
            say("no time for the representation")
            return None
        begun = time.perf_counter()
        body, numbers = representation.learn(self.trainer("recipe"), how=how, seed=0)
        representation.save(body, self.options.out)
        self.results.copy("representation*.npy")
        try:
            numbers |= representation.judge(self.trainer("recipe"))
        except RuntimeError:  # the weights are what matters
            traceback.print_exc()
        say(f"representation: {numbers}")
        numbers |= {"seconds": round(time.perf_counter() - begun, 1), "how": asdict(how)}
        self.results.add(f"{self.options.set}|representation|0", numbers)
        return body

    def _reserve(self) -> float:
        """Return the seconds that must be left for a representation that is asked for and not there yet."""
        wanted = (self.options.recipe and not self.options.given) or self.options.representation
        there = any(self._folders_hold("representation0.npy"))
        return 0.0 if self.options.quick or there or not wanted else AROUND + 60 * self.options.representation_minutes

    def _folders_hold(self, name: str) -> Iterator[bool]:
        return ((folder / name).exists() for folder in (self.options.out, self.options.data) if folder is not None)

    def measure(self, point: Point, compute: Callable[[], dict[str, Any]]) -> None:
        """Compute a point that is not known, if there is time; a failure is told and the next point tried."""
        if point.key in self.results.points:
            return
        until = self.deadline if point.kind in RECIPES else self.deadline - self._reserve()
        if time.perf_counter() + self.results.seconds(point.kind, 60.0) > until:
            say(f"no time for {point.key}")
            return
        try:
            numbers = self._within_memory(point.kind, compute)
        except Exception:
            self.failed += 1
            traceback.print_exc()
            sys.stderr.flush()
            return
        settings = self.trainer(point.kind, point.depth).settings
        self.results.add(point.key, numbers | {"settings": asdict(settings)})

    def _within_memory(self, kind: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return compute()
        except torch.OutOfMemoryError:
            say("out of memory: half the batch")
            kind = kind if kind in RECIPES else "tables"
            self.batches[kind] = self._settings(kind, 18).batch // 2
            self.trainers.clear()
            torch.cuda.empty_cache()
            return compute()


if __name__ == "__main__":
    sys.exit(main())
