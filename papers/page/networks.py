"""Paper 004: shallow networks at the margin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from papers.page.items import ILLUSTRATION, MEASURED, Item, Paper, grid, read, verdict
from papers.page.statements import STATEMENTS

__all__ = ["paper"]

FILE, REDUCED, FIGURE_2 = "models_figure1.json", "models_figure1_reduced.json", "models_figure2.json"
UNIVARIATE = "tests/papers/margin_membership/test_univariate_theory.py"
BELOW = {20: ("about 80%", (0.75, 0.85)), 100: ("nearly all", (0.99, 1.0))}  # Section 5: fresh points below the margin


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel of Figure 1: which number, and what the paper says of it."""

    letter: str
    key: str
    shows: str
    said: str
    rises: bool


PANELS = (
    Panel(
        letter="a",
        key="on_margin",
        shows="Share of the training points on the margin, against the dimension.",
        said="more training points are on the margin in higher dimension",
        rises=True,
    ),
    Panel(
        letter="b",
        key="at_or_above",
        shows="Share of fresh points on or above the margin, against the dimension.",
        said="fewer fresh points are on or above the margin in higher dimension",
        rises=False,
    ),
    Panel(
        letter="c",
        key="test_median",
        shows="Size of the output on fresh points, in margins, against the dimension.",
        said="fresh points are further below the margin in higher dimension",
        rises=False,
    ),
)


def paper() -> Paper:
    """Return the paper with what was measured."""
    return Paper(
        short="Networks",
        title="Provable Privacy Attacks on Trained Shallow Neural Networks",
        about="Labels are fair coin flips. The paper's dimensions lie between 1 and 1,000 and are not listed; these "
        "are ours.",
        items=(*(figure_1(panel) for panel in PANELS), figure_2()),
        statements=STATEMENTS["Networks"],
    )


def figure_1(panel: Panel) -> Item:
    """One panel, at the paper's size and at a size for two cores."""
    document, small = read(FILE), read(REDUCED)
    plan, points = document["plan"], _ascending(document)
    values = [point[panel.key]["mean"] for point in points]
    held = [values == sorted(values, reverse=not panel.rises)]
    body = [
        *grid(*_table(panel, document, small)),
        "",
        f"The paper: {panel.said}. Ours: {'so' if held[0] else 'not so'}.",
    ]
    if panel.key == "at_or_above":
        below = {point["dimension"]: point["under"]["mean"] for point in points}
        held += [low <= below[d] <= high for d, (_, (low, high)) in BELOW.items()]
        said = "; ".join(f"{words} below it at d = {d} (ours {below[d]:.1%})" for d, (words, _) in BELOW.items())
        body[-1] += f" And: {said}."
    return Item(
        name=f"Figure 1({panel.letter})",
        shows=panel.shows,
        status=MEASURED,
        seen=verdict(held),
        body=tuple(body),
        seeds=f"{plan['draws']} draws",
        cost=f"GPU seconds: {math.fsum(point['seconds'] for point in points):.0f} for the three panels together.",
        commands=("python papers/margin_membership/figure1.py --device cuda --full --out DIR",),
        files=(FILE, REDUCED, "models_figure1.svg"),
        discussed="[training to the margin](models_learn.md#figure-1-of-the-paper)",
    )


def _table(
    panel: Panel, document: Mapping[str, Any], small: Mapping[str, Any]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    plan, other = document["plan"], small["plan"]
    rows = [
        (
            f"{point['dimension']:,}",
            _mean(point, panel.key),
            f"{point['separated']} of {plan['draws']}",
            _mean(small["points"].get(str(point["dimension"]), {}), panel.key),
        )
        for point in _ascending(document)
    ]
    head = ("d", f"width {plan['width']:,}, {plan['draws']} draws (standard error)", "draws separated")
    return (*head, f"width {other['width']:,}, {other['draws']} draws"), rows


def _ascending(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return sorted(document["points"].values(), key=lambda point: point["dimension"])


def _mean(point: Mapping[str, Any], key: str) -> str:
    found = point.get(key)
    return f"{found['mean']:.3f} ({found['error']:.3f})" if found else ""


def figure_2() -> Item:
    """A step whose breakpoints are no training points."""
    norms = read(FIGURE_2)["squared_norm"]
    return Item(
        name="Figure 2",
        shows="A network whose breakpoint is no training point, and one with the same outputs and a smaller norm.",
        status=ILLUSTRATION,
        seen=verdict([norms["after"] < norms["before"]]),
        body=(
            f"Drawn again by moving a breakpoint: the squared norm falls from {norms['before']:.2f} to "
            f"{norms['after']:.2f}. `{UNIVARIATE}::test_figure_2_a_smaller_norm_with_the_same_outputs` checks its "
            "slope.",
        ),
        commands=("python -m papers.margin_membership.univariate",),
        files=(FIGURE_2, "models_figure2.svg"),
        discussed="[training points from one dimension](models_univariate.md)",
    )
