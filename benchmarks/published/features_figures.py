"""The experiments of the feature-release paper, run again: error against features and against epsilon, 20 seeds.

Arms: the printed algorithm (distance, t, all features), and the private form (rows with randomized labels, and class
totals; distance, t, all features), each at the same epsilon and delta. Noise is on the training rows; the error on
clean test rows is the headline, that on noised test rows stands beside it for the arms that release rows. The figures
of the paper have no numbers in its text, so they can only be compared with its words.

    python -m benchmarks.published.features_figures            # all points, 20 seeds; resumes
    python -m benchmarks.published.features_figures --quick    # a few points, to try the code
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from benchmarks.__main__ import describe_machine
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from tacit.features import (
    Box,
    ClassTotals,
    Distance,
    FisherClassifier,
    NoisedClassRows,
    NoisedRows,
    PrivateSelection,
    TStatistic,
    by_distance,
    by_t_statistic,
    published_release,
)
from tacit.features.protect.moments import ClassMoments
from tacit.features.theory import split_budget
from tacit.labels import RandomizedResponse
from tacit.privacy.files import write_atomically

FOLDER = Path(__file__).parents[1] / "results"
DELTA = 1e-5
SEEDS = 20
KEPT = (5, 10, 25, 50, 100, 150)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
FIXED = {"synthetic": (25, 6.0), "mnist": (25, 10.0), "cifar10": (25, 6.0)}  # features, epsilon of the other panel
ROWS = {"synthetic": 4000, "mnist": 20_000, "cifar10": 20_000}
SCORES = {"distance": by_distance, "t": by_t_statistic}
PRIVATE_SCORES = {"distance": Distance(), "t": TStatistic()}

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Training and test rows in a public box."""

    train: Matrix
    codes: Codes
    test: Matrix
    truth: Codes
    box: Box

    @property
    def classes(self) -> int:
        """Return how many classes there are."""
        return int(self.codes.max()) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One point of a figure: data, arm, features kept, epsilon, seed."""

    data: str
    arm: str
    score: str
    kept: int
    epsilon: float
    seed: int

    @property
    def name(self) -> str:
        """Return what the point is known by in the results."""
        return "|".join(str(value) for value in asdict(self).values())


def synthetic(seed: int, rows: int) -> Problem:
    """Two Gaussian classes in 500 dimensions whose means differ in ten, by 1 down to 0.3."""
    rng = np.random.default_rng(seed)
    gaps = np.zeros(500)
    gaps[:10] = np.linspace(1.0, 0.3, 10)

    def draw(count: int) -> tuple[Matrix, Codes]:
        codes = rng.integers(0, 2, count)
        return rng.normal(size=(count, 500)) + np.outer(codes, gaps), codes

    (train, codes), (test, truth) = draw(rows), draw(4000)
    return Problem(train=train, codes=codes, test=test, truth=truth, box=Box(lower=-3.0, upper=4.0))


@lru_cache(maxsize=2)
def _images(name: str) -> tuple[Matrix, Codes, Matrix, Codes]:
    """Images averaged over 2 x 2 (MNIST) or 4 x 4 (CIFAR-10) pixels: simple features in [0, 1]."""
    from tacit import data

    found = getattr(data, name)()
    parts = []
    for images, labels in ((found.train.images, found.train.labels), (found.test.images, found.test.labels)):
        side = images.shape[1]
        block = 2 if side == 28 else 4
        channels = images.reshape(len(images), side // block, block, side // block, block, -1)
        parts += [channels.mean(axis=(2, 4)).reshape(len(images), -1) / 255.0, np.asarray(labels, dtype=np.int64)]
    return parts[0], parts[1], parts[2], parts[3]


def image_problem(name: str, seed: int, rows: int) -> Problem:
    """A fresh draw of training rows for each seed; the test rows are always the same."""
    train, codes, test, truth = _images(name)
    chosen = np.random.default_rng(seed).choice(len(train), min(rows, len(train)), replace=False)
    return Problem(train=train[chosen], codes=codes[chosen], test=test, truth=truth, box=Box(lower=0.0, upper=1.0))


def problem(name: str, seed: int, rows: int) -> Problem:
    """Return the rows of one seed."""
    return synthetic(seed, rows) if name == "synthetic" else image_problem(name, seed, rows)


def run_published(case: Problem, task: Task, rng: np.random.Generator) -> dict[str, float]:
    """The printed algorithm: no guarantee, true labels; the classifier knows the noise."""
    keep = case.train.shape[1] if task.score == "all" else task.kept
    score = SCORES.get(task.score, by_distance)
    release = published_release(
        case.train, case.codes, keep=keep, epsilon=task.epsilon, delta=DELTA, rng=rng, score=score
    )
    places, noise = release.mechanism["features"], release.mechanism["noise"]
    rows = np.column_stack([release.value[name].to_numpy() for name in release.value.column_names if name != "label"])
    return _errors(rows, case.codes, case, np.asarray(places), noise=noise, rng=rng)


def run_rows(case: Problem, task: Task, rng: np.random.Generator) -> dict[str, float]:
    """Private rows: chosen, noised, with labels by randomized response; the parts' epsilons add up to the whole."""
    places, split = _choose(case, task, released_rows=True, rng=rng)
    rows = NoisedRows(epsilon=split.release, delta=DELTA)
    box = case.box.take(places)
    noised = box.values(rows.protect(box.snap(case.train[:, places]), rng=rng))
    mechanism = RandomizedResponse(epsilon=split.labels, classes=case.classes)
    noise = rows.deviation(features=len(places)) * float(box.half)
    labels = mechanism.randomize(case.codes, rng=rng)
    return _errors(noised, labels, case, places, noise=noise, transition=mechanism.transition(), rng=rng)


def run_totals(case: Problem, task: Task, rng: np.random.Generator) -> dict[str, float]:
    """Private class totals: all that the independence rule needs."""
    places, split = _choose(case, task, released_rows=False, rng=rng)
    box = case.box.take(places)
    moments = ClassMoments.of(box.snap(case.train[:, places]), case.codes, classes=case.classes)
    totals = ClassTotals(epsilon=split.release, delta=DELTA).protect(moments, rng=rng)
    sides = np.full(len(places), box.lower), np.full(len(places), box.upper)
    model = FisherClassifier().fit_totals(
        counts=totals.counts,
        sums=totals.sums,
        squares=totals.squares,
        lower=sides[0],
        upper=sides[1],
        classes=list(range(case.classes)),
    )
    return {"clean": 1 - float(model.score(case.test[:, places], case.truth))}


ARMS: dict[str, Callable[[Problem, Task, np.random.Generator], dict[str, float]]] = {
    "published": run_published,
    "rows": run_rows,
    "totals": run_totals,
}


def _choose(case: Problem, task: Task, *, released_rows: bool, rng: np.random.Generator) -> tuple[Codes, Any]:
    features = case.train.shape[1]
    keep = features if task.score == "all" else task.kept
    split = _split(task.epsilon, features, keep, len(case.train), case.classes, released_rows)
    if keep == features:
        return np.arange(features), split
    moments = ClassMoments.of(case.box.snap(case.train), case.codes, classes=case.classes)
    sizes = NoisedClassRows(epsilon=split.class_rows).sizes(moments.counts, rng=rng)
    selection = PrivateSelection(epsilon=split.selection, keep=keep, score=PRIVATE_SCORES[task.score])
    return selection.select(moments, class_rows=sizes, rng=rng), split


@lru_cache(maxsize=512)
def _split(epsilon: float, features: int, keep: int, rows: int, classes: int, released_rows: bool) -> Any:
    return split_budget(
        epsilon, delta=DELTA, features=features, keep=keep, rows=rows, classes=classes, released_rows=released_rows
    )


def _errors(
    rows: Matrix,
    labels: Codes,
    case: Problem,
    places: Codes,
    *,
    noise: float,
    rng: np.random.Generator,
    **settings: Any,
) -> dict[str, float]:
    clean = case.test[:, places]
    noised = clean + rng.normal(scale=noise, size=clean.shape)
    errors = {}
    for name, test, noised_test in (("clean", clean, False), ("noised", noised, True)):
        model = FisherClassifier(noise=noise, noised_test=noised_test, **settings).fit(rows, labels)
        errors[name] = 1 - float(model.score(test, case.truth))
    return errors


def tasks(*, quick: bool) -> Iterator[Task]:
    """Return all points: features at a fixed epsilon, then epsilon at fixed features."""
    seeds = range(2 if quick else SEEDS)
    for data in ("synthetic",) if quick else ("synthetic", "mnist", "cifar10"):
        kept, epsilon = FIXED[data]
        panels = [(m, epsilon) for m in KEPT] + [(kept, e) for e in EPSILONS]
        for m, e in dict.fromkeys(panels[:2] if quick else panels):
            for arm in ARMS:
                for score in ("distance", "t"):
                    yield from (Task(data=data, arm=arm, score=score, kept=m, epsilon=e, seed=s) for s in seeds)
        for e in dict.fromkeys((epsilon, *EPSILONS)) if not quick else (epsilon,):
            for arm in ARMS:
                yield from (Task(data=data, arm=arm, score="all", kept=0, epsilon=e, seed=s) for s in seeds)


def run(task: Task) -> dict[str, Any]:
    """Return one point's errors and seconds."""
    case = problem(task.data, task.seed, ROWS[task.data])
    started = time.perf_counter()
    errors = ARMS[task.arm](case, task, np.random.default_rng([task.seed, 7]))
    return {**asdict(task), **errors, "seconds": time.perf_counter() - started}


def summarise(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean and deviation over the seeds of each point."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for point in points:
        groups.setdefault(tuple(point[key] for key in ("data", "arm", "score", "kept", "epsilon")), []).append(point)
    rows = []
    for (data, arm, score, kept, epsilon), found in sorted(groups.items()):
        row = {"data": data, "arm": arm, "score": score, "kept": kept, "epsilon": epsilon, "seeds": len(found)}
        for test in ("clean", "noised"):
            values = [point[test] for point in found if test in point]
            if values:
                row |= {test: float(np.mean(values)), f"{test}_deviation": float(np.std(values))}
        rows.append(row)
    return rows


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw two panels a data set: error on clean rows against features, and against epsilon."""
    mpl.use("Agg")
    sets = [name for name in FIXED if any(row["data"] == name for row in rows)]
    figure, axes = plt.subplots(len(sets), 2, figsize=(11, 3.6 * len(sets)), squeeze=False, layout="constrained")
    styles = {"published": "--", "rows": "-", "totals": ":"}
    colours = {"distance": "tab:blue", "t": "tab:orange", "all": "tab:grey"}
    for line, name in enumerate(sets):
        kept, epsilon = FIXED[name]
        for place, (axis, fixed) in enumerate((("kept", ("epsilon", epsilon)), ("epsilon", ("kept", kept)))):
            for arm, style in styles.items():
                for score, colour in colours.items():
                    found = [
                        row
                        for row in rows
                        if (row["data"], row["arm"], row["score"]) == (name, arm, score)
                        and (row[fixed[0]] == fixed[1] or (score == "all" and axis == "epsilon"))
                    ]
                    if score == "all" and axis == "kept":
                        for row in found:
                            axes[line][place].axhline(row["clean"], ls=style, color=colour, lw=1)
                    elif found:
                        found.sort(key=lambda row: row[axis])
                        axes[line][place].errorbar(
                            [row[axis] for row in found],
                            [row["clean"] for row in found],
                            [row["clean_deviation"] for row in found],
                            ls=style,
                            color=colour,
                            label=f"{arm}, {score}",
                        )
            axes[line][place].set(
                title=f"{name}, {fixed[0]} {fixed[1]:g}", xlabel=axis, ylabel="test error, clean rows"
            )
    axes[0][1].legend(fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Run what is missing, save after every few points, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few points of the synthetic set, to try the code")
    parser.add_argument("--only", default="", help="synthetic, mnist or cifar10")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the results")
    options = parser.parse_args()
    stem = "features_figures_quick" if options.quick else "features_figures"
    kept = options.out / f"{stem}_points.json"
    points = {point["name"]: point for point in json.loads(kept.read_text())} if kept.exists() else {}
    wanted = [task for task in tasks(quick=options.quick) if options.only in ("", task.data)]
    missing = [task for task in wanted if task.name not in points]
    for done, task in enumerate(track(missing, console=Console(stderr=True), description="features")):
        points[task.name] = {"name": task.name, **run(task)}
        if done % 50 == 49 or done == len(missing) - 1:
            _write(kept, list(points.values()))
    rows = summarise([points[task.name] for task in wanted if task.name in points])
    header = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "seeds": SEEDS,
        "delta": DELTA,
    }
    _write(options.out / f"{stem}.json", {**header, "rows": rows})
    plot(rows, options.out / f"{stem}.png")
    sys.stdout.write(f"{len(rows)} points in {options.out / f'{stem}.json'}\n")


def _write(path: Path, document: Any) -> None:
    with write_atomically(path, force=True) as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
