"""Paper 001: learning from totals of bags."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from papers.page.items import (
    ILLUSTRATION,
    MEASURED,
    Item,
    Paper,
    count,
    grid,
    points_of,
    spread_of,
    verdict,
)
from papers.page.statements import STATEMENTS

__all__ = ["paper"]

FILE = "bags_figure3.json"
COMMAND = "TACIT_DATA=folder python -m papers.label_bags.figure3"
SETS = ("Criteo", "TalkingData", "Adult", "generated")
LABELS, TOTALS, CROSSES = "network, individual labels", "network, totals", "crosses, totals"
SINGLE = "single columns, totals"
RANDOM = ("network, proportions", "linear, proportions", "linear, soft labels", "linear, unbiased risk")
MOST = 8  # parts

Points = Sequence[dict[str, Any]]


def paper() -> Paper:
    """Return the paper with what was measured."""
    points = points_of(FILE)
    return Paper(
        short="Bags",
        title="Learning from Aggregated Data: Curated Bags versus Random Bags",
        about="The paper has 41 million rows of Criteo. At hand are its first 10,000, all of TalkingData's sample of "
        "100,000 clicks (227 positives), Adult, and a generated set. Where rows have a time, the last fifth is the "
        "test set.",
        items=(*illustrations(), figure_3a(points), figure_3b(points), figure_3c(points)),
        statements=STATEMENTS["Bags"],
    )


def illustrations() -> tuple[Item, Item]:
    """What a bag is."""
    return (
        Item(
            name="Figure 1",
            shows="A platform groups users into bags and shows the share of clicks of each.",
            status=ILLUSTRATION,
            discussed="[bags](bags.md), where such a release is made",
        ),
        Item(
            name="Figure 2",
            shows="Four rows, partitioned by one feature and by two others.",
            status=ILLUSTRATION,
            body=("`tests/papers/test_page.py::test_bags_of_the_figure` makes the bags that the text describes.",),
            discussed="[bags](bags.md)",
        ),
    )


def figure_3a(points: Points) -> Item:
    """More sub-models, exact totals."""
    rows, words, held = [], [], []
    for name in SETS:
        found = chosen(points, panel="a", data=name)
        parts = sorted({point["parts"] for point in found if point["method"] == TOTALS})
        rows += [
            (name, str(k), *(losses(found, method=method, parts=k) for method in (LABELS, TOTALS, CROSSES)))
            for k in parts
        ]
        level = [is_level(chosen(found, parts=k)) for k in parts]
        gaps = [mean(found, method=TOTALS, parts=k) - mean(found, method=LABELS, parts=k) for k in parts]
        ahead = mean(found, method=CROSSES, parts=MOST) - mean(found, method=TOTALS, parts=MOST)
        falls = mean(found, method=TOTALS, parts=MOST) < mean(found, method=TOTALS, parts=min(parts))
        held += [*level, ahead > 0, falls]
        shown = (f"{min(gaps):+.4f} to {max(gaps):+.4f}", f"{sum(level)} of {len(level)}")
        words.append((name, *shown, f"{ahead:+.4f}", "yes" if falls else "no"))
    head = ("set", "totals less labels", "within 2 standard errors", "crosses less networks", "more parts help")
    return panel(
        "a",
        "Test log loss as sub-models are added, curated bags without noise.",
        held,
        *grid(("set", "parts", LABELS, TOTALS, CROSSES), rows),
        "",
        "The paper: the curves from labels and from totals are identical, crosses are worse than networks, more "
        f"sub-models help. Ours, the last two columns at {MOST} parts:",
        "",
        *grid(head, words),
        "",
        "The gradients are the same, and with full batches so are the networks (a test); trained by mini-batches, as "
        "here, they differ.",
        seeds=f"{seeds(points, panel='a', method=TOTALS)}; crosses are deterministic",
    )


def is_level(points: Points) -> bool:
    """Return whether networks from totals and from labels differ by at most two standard errors."""
    found = [[point["log_loss"] for point in chosen(points, method=method)] for method in (LABELS, TOTALS)]
    if min(map(len, found)) < 2:
        return bool(np.isclose(np.mean(found[0]), np.mean(found[1])))
    error = math.sqrt(sum(np.var(values, ddof=1) / len(values) for values in found))
    return bool(abs(np.mean(found[0]) - np.mean(found[1])) <= 2 * error)


def figure_3b(points: Points) -> Item:
    """Noised totals."""
    kinds = (("network", MOST), ("crosses", 2), ("crosses", 4), ("crosses", MOST))
    rows, words, held = [], [], []
    for name in SETS:
        found = chosen(points, panel="b", data=name)
        epsilons = sorted({point["epsilon"] for point in found})
        rows += [
            (name, f"{e:g}", *(losses(found, method=method, parts=k, epsilon=e) for method, k in kinds))
            for e in epsilons
        ]
        curve = [mean(found, method="network", epsilon=e) for e in epsilons]
        falls = all(a > b for a, b in pairwise(curve))
        better = {
            e: mean(found, method="crosses", parts=MOST, epsilon=e) < mean(found, method="crosses", parts=2, epsilon=e)
            for e in epsilons
        }
        held += [falls, *better.values()]
        at = ", ".join(f"{e:g}" for e in epsilons if better[e])
        words.append((name, "yes" if falls else "no", f"at epsilon {at}" if at else "no"))
    head = ("set", "epsilon", *(f"{method}, {parts} parts" for method, parts in kinds))
    return panel(
        "b",
        "Test log loss against epsilon, curated bags with noise.",
        held,
        *grid(head, rows),
        "",
        "The paper: more noise, more error; more sub-models, less. Each part takes its share of epsilon here, and the "
        "paper has thousands of times the rows. Ours:",
        "",
        *grid(("set", "networks err less as epsilon grows", f"{MOST} crosses err less than 2"), words),
        seeds=seeds(points, panel="b"),
    )


def figure_3c(points: Points) -> Item:
    """Random bags."""
    rows, words, held = [], [], []
    for name in SETS:
        found = chosen(points, panel="c", data=name)
        curated = chosen(points, panel="a", data=name, parts=MOST)
        sizes = sorted({point["size"] for point in found})
        rows += [(name, str(size), *(losses(found, method=m, size=size) for m in RANDOM)) for size in sizes]
        alike = [TOTALS, SINGLE, SINGLE, SINGLE]
        rows.append((name, "curated", *(losses(curated, method=method) for method in alike)))
        curve = [mean(found, method=RANDOM[0], size=size) for size in sizes]
        grows = [a < b for a, b in pairwise(curve)]
        worse = [
            [mean(found, method=m, size=size) > mean(curated, method=like) for size in sizes]
            for m, like in zip(RANDOM, alike, strict=True)
        ]
        held += [*grows, *(one for line in worse for one in line)]
        words.append((name, f"{sum(grows)} of {len(grows)}", *(f"{sum(line)} of {len(line)}" for line in worse)))
    return panel(
        "c",
        "Test log loss against the size of random bags.",
        held,
        *grid(("set", "rows in a bag", *RANDOM), rows),
        "",
        "The paper: larger random bags err more, and random bags more than curated ones. Curated: the same kind of "
        f"model from the totals of {MOST} partitions. Ours: steps at which networks err more in larger bags, and "
        "sizes at which random bags are worse than curated ones:",
        "",
        *grid(("set", "larger is worse", *RANDOM), words),
        seeds=seeds(points, panel="c"),
    )


def panel(letter: str, shows: str, held: Iterable[bool], *body: str, seeds: str) -> Item:
    """Return a panel of Figure 3."""
    return Item(
        name=f"Figure 3({letter})",
        shows=shows,
        status=MEASURED,
        seen=verdict(held),
        body=body,
        seeds=seeds,
        commands=(COMMAND,),
        files=(FILE, "bags_figure3.svg"),
        discussed="[learning from bags](bags_learn.md#the-papers-figure-3)",
    )


def chosen(points: Iterable[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    """Return the points that have these values."""
    return [point for point in points if all(point.get(key) == value for key, value in wanted.items())]


def losses(points: Iterable[dict[str, Any]], **wanted: Any) -> str:
    """Return the log loss of these points: mean and deviation."""
    return spread_of([point["log_loss"] for point in chosen(points, **wanted)], digits=4)


def mean(points: Iterable[dict[str, Any]], **wanted: Any) -> float:
    """Return the mean log loss of these points."""
    return float(np.mean([point["log_loss"] for point in chosen(points, **wanted)]))


def seeds(points: Iterable[dict[str, Any]], **wanted: Any) -> str:
    """Return how often each point was computed."""
    found: dict[tuple[Any, ...], int] = {}
    for point in chosen(points, **wanted):
        key = tuple(point[name] for name in ("data", "method", "parts", "epsilon", "size"))
        found[key] = found.get(key, 0) + 1
    return count(found.values())
