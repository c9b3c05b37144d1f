"""The published numbers, and ours beside them, from the measurements alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from papers.seeds import Points, summary, values


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table: what it was measured on and how, and its rows as printed, by epsilon."""

    number: str
    set: str
    depth: int
    columns: tuple[str, ...]
    rows: Mapping[float, tuple[float, ...]]
    protocol: str = "published"


ACCURACIES = ("baseline", "full", "consensus")
LABELS = ("predicted", "given", "consensus_right")
TABLES = (
    Table(
        number="1",
        set="cifar10",
        depth=18,
        columns=ACCURACIES,
        rows={1: (57.78, 60.07, 63.84), 2: (79.06, 81.34, 83.31), 3: (85.18, 86.67, 87.67)},
    ),
    Table(
        number="2",
        set="cifar100",
        depth=18,
        columns=ACCURACIES,
        rows={3: (23.53, 24.42, 29.98), 4: (44.53, 46.99, 51.30), 5: (55.75, 56.98, 59.47)},
    ),
    Table(
        number="3",
        set="cifar10",
        depth=18,
        columns=LABELS,
        rows={1: (59.30, 32.61, 76.17), 2: (81.62, 57.11, 92.65), 3: (89.28, 76.73, 95.94)},
    ),
    Table(
        number="3b",
        set="cifar100",
        depth=18,
        columns=LABELS,
        rows={3: (24.90, 22.35, 76.09), 4: (50.85, 46.32, 91.59), 5: (66.51, 68.09, 94.83)},
    ),
    Table(
        number="4",
        set="cifar100",
        depth=34,
        columns=ACCURACIES,
        rows={3: (17.53, 18.20, 21.63), 4: (37.53, 39.33, 43.87), 5: (51.13, 52.33, 55.43)},
    ),
    Table(
        number="5",
        set="cifar100",
        depth=34,
        columns=ACCURACIES,
        rows={5: (53.83, 54.43, 56.60)},
        protocol="forward_first",
    ),
    Table(number="8", set="cifar10", depth=18, columns=("confidence",), rows={1: (62.09,)}),
    Table(number="9", set="cifar100", depth=18, columns=("confidence",), rows={3: (24.99,)}),
    Table(
        number="10",
        set="cifar100",
        depth=34,
        columns=ACCURACIES,
        rows={3: (14.53, 15.20, 17.30), 4: (26.03, 28.33, 30.47), 5: (42.50, 44.43, 46.27)},
        protocol="no_validation",
    ),
    Table(
        number="11",
        set="cifar100",
        depth=18,
        columns=ACCURACIES,
        rows={math.inf: (55.47, 56.88, 57.68)},
        protocol="human",
    ),
    Table(
        number="G",
        set="cifar10",
        depth=18,
        columns=("baseline",),
        rows={math.inf: (94.13,)},
        protocol="clean",
    ),
    Table(
        number="Gb",
        set="cifar100",
        depth=18,
        columns=("baseline",),
        rows={math.inf: (74.73,)},
        protocol="clean",
    ),
)
NOT_PRIVATE = ("human", "clean")  # protocols that randomize nothing
LP_2ST: Mapping[str, Mapping[float, float]] = {  # Ghazi et al. (2021)
    "cifar10": {1: 63.67, 2: 86.05, 3: 92.19},
    "cifar100": {3: 28.74, 4: 50.15, 5: 63.51},
}
GOALS: Mapping[str, Mapping[float, float]] = {
    "cifar10": {0.5: 84.0, 1: 89.0, 2: 92.5, 3: 94.0},
    "cifar100": {3: 55.0, 4: 62.0, 5: 66.0},
}
REPRESENTATIONS = {"recipe": "Barlow Twins on the set's images", "given": "EfficientNet-Lite from ImageNet"}


def wants_confidence(name: str, depth: int, epsilon: float) -> bool:
    """Return whether a table has retraining by confidence for this set, network and epsilon."""
    return any("confidence" in t.columns and (t.set, t.depth) == (name, depth) and epsilon in t.rows for t in TABLES)


def markdown(points: Points) -> str:
    """Return one table: every published number with ours, mean and deviation over the seeds."""
    lines = [
        "| table | set | network | epsilon | what | published | ours, as published | ours, no validation set | seeds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *_published_rows(points),
    ]
    recipe = list(_recipe_rows(points))
    if recipe:
        head = ("set", "epsilon", "goal", "published LP-2ST", "representation", "ours, recipe", "seeds", "GPU seconds")
        lines += ["", "| " + " | ".join(head) + " |", "| --- " * len(head) + "|", *recipe]
    return "\n".join(lines) + "\n"


def _published_rows(points: Points) -> Iterator[str]:
    for table in TABLES:
        for epsilon, printed in table.rows.items():
            for what, value in zip(table.columns, printed, strict=True):
                start = f"{table.set}|resnet{table.depth}"
                ours = values(points, f"{start}|{table.protocol}|{epsilon:g}|", what)
                blind = values(points, f"{start}|no_validation|{epsilon:g}|", what)
                private = f"{epsilon:g}" if math.isfinite(epsilon) else "none"
                cells = (table.number.rstrip("b"), table.set, f"ResNet-{table.depth}", private, what)
                numbers = (f"{value:.2f}", summary(ours), summary(blind), str(max(len(ours), len(blind))))
                yield "| " + " | ".join((*cells, *numbers)) + " |"


def _recipe_rows(points: Points) -> Iterator[str]:
    for name, goals in GOALS.items():
        for epsilon, goal in goals.items():
            for kind, representation in REPRESENTATIONS.items():
                start = f"{name}|{kind}|{epsilon:g}|"
                found = values(points, start, "accuracy")
                if found:
                    seconds = np.mean([point["seconds"] for key, point in points.items() if key.startswith(start)])
                    known = LP_2ST[name].get(epsilon)
                    cells = (name, f"{epsilon:g}", f"{goal:g}", f"{known:.2f}" if known else "", representation)
                    yield "| " + " | ".join((*cells, summary(found), str(len(found)), f"{seconds:.0f}")) + " |"
