"""The tables of the page, from the measurements alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.labels_simpler.compare import LEVEL, MARGINS, Comparison, compare, holm
from benchmarks.labels_simpler.learners import WORDS

_SHOWN = 40  # of the cells that are worst
_WORDS = {"accuracy": "accuracy", "auc": "AUC", "loss": "log loss", "calibration": "calibration error"}


def simpler_table(document: Mapping[str, Any]) -> str:
    """How many cells are worse, the worst of them, and the means of every way."""
    cells = document["cells"]
    found = compare(cells)
    adjusted = holm(found)
    seeds = len({key.rpartition("/")[2] for key in cells})
    said = (
        f"{len(cells):,} cells, at most {document['cap']['linear']:,} rows for linear models and "
        f"{document['cap']['others']:,} for others, up to {seeds} seeds, {document['date']}; "
        f"{sum(cell[way]['seconds'] for cell in cells.values() for way in cell if way != 'rows') / 3600:.2f} hours of "
        "one core."
    )
    return "\n\n".join([said, _counts(found, adjusted), _by_learner(found), _worst(found, adjusted), _means(cells)])


def _counts(found: Sequence[Comparison], adjusted: Sequence[float]) -> str:
    lines = [
        "| measure | comparisons | worse by more than the margin | with Holm-adjusted p < .05 |",
        "|" + " --- |" * 4,
    ]
    for measure in MARGINS:
        of = [(one, p) for one, p in zip(found, adjusted, strict=True) if one.measure == measure]
        worse = [one for one, _ in of if one.worse]
        clear = [one for one, p in of if one.worse and p < LEVEL]
        share = f"{len(worse)} ({len(worse) / max(1, len(of)):.1%})"
        lines.append(f"| {_WORDS[measure]} | {len(of)} | {share} | {len(clear)} |")
    return "\n".join(lines)


def _by_learner(found: Sequence[Comparison]) -> str:
    """How many comparisons are worse, by learner and epsilon."""
    places = [one.place.split("/") for one in found]
    epsilons = sorted({place[2] for place in places}, key=float)
    lines = [
        "| learner | sets | " + " | ".join(f"worse at epsilon {epsilon}" for epsilon in epsilons) + " |",
        "|" + " --- |" * (len(epsilons) + 2),
    ]
    for learner in dict.fromkeys(place[1] for place in places):
        own = [(place, one) for place, one in zip(places, found, strict=True) if place[1] == learner]
        shown = [[one.worse for place, one in own if place[2] == epsilon] for epsilon in epsilons]
        counts = " | ".join(f"{sum(worse)} of {len(worse)}" for worse in shown)
        lines.append(f"| {learner} | {len({place[0] for place, _ in own})} | {counts} |")
    return "\n".join(lines)


def _worst(found: Sequence[Comparison], adjusted: Sequence[float]) -> str:
    both = [pair for pair in zip(found, adjusted, strict=True) if pair[0].worse]
    both.sort(key=lambda pair: -pair[0].excess / MARGINS[pair[0].measure])
    lines = ["| set, learner, epsilon | measure | default | alternative | its value | p |", "|" + " --- |" * 6]
    for one, p in both[:_SHOWN]:
        place = "**" + one.place.replace("/", ", ") + "**"
        values = f"**{one.default:.3f}** | {WORDS[one.alternative]} | {one.best:.3f}"
        lines.append(f"| {place} | {_WORDS[one.measure]} | {values} | {p:.2g} |")
    return "\n".join(lines) if both else "No cell is worse."


def _means(cells: Mapping[str, Mapping[str, Any]]) -> str:
    """The mean over sets and seeds of each way, for a learner and an epsilon."""
    ways = ["plain", "forward", "likelihood", "default", "clean"]
    head = "| learner | epsilon | " + " | ".join(f"{WORDS[way]}: accuracy, AUC, log loss" for way in ways) + " |"
    lines = [head, "|" + " --- |" * (len(ways) + 2)]
    places = dict.fromkeys(tuple(key.split("/")[1:3]) for key in cells)
    order = list(dict.fromkeys(learner for learner, _ in places))
    for learner, epsilon in sorted(places, key=lambda place: (order.index(place[0]), float(place[1]))):
        own = [cell for key, cell in cells.items() if key.split("/")[1:3] == [learner, epsilon]]
        shown = [_mean(own, way) for way in ways]
        lines.append(f"| {learner} | {epsilon} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _mean(cells: Sequence[Mapping[str, Any]], way: str) -> str:
    if any(way not in cell for cell in cells):
        return ""
    return ", ".join(f"{np.mean([cell[way][what] for cell in cells]):.3f}" for what in ("accuracy", "auc", "loss"))
