"""Paper 000: retraining on predicted labels, under label privacy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from papers.page.items import MEASURED, Item, Paper, grid, read, spread, verdict
from papers.page.retraining_goals import clean_item, goals_item
from papers.page.retraining_images import image_items
from papers.page.retraining_printed import FIGURE_1
from papers.page.retraining_small import small_item
from papers.page.retraining_texts import text_items
from papers.page.statements import STATEMENTS

__all__ = ["paper"]

WHEN = ("before", "after")
READINGS = ("gamma^2", "gamma")


def paper() -> Paper:
    """Return the paper with what was measured."""
    return Paper(
        short="Retraining",
        title="Retraining with Predicted Hard Labels Provably Increases Model Accuracy",
        about="Mechanisms, stages and ways to retrain are those of `tacit.labels`.",
        items=tuple(_items()),
        statements=STATEMENTS["Retraining"],
    )


def _items() -> Iterator[Item]:
    yield figure_1()
    images = list(image_items())
    yield from images[:5]
    yield from text_items()
    yield from images[5:]
    yield clean_item()
    yield goals_item()
    yield small_item()


def figure_1() -> Item:
    """Accuracy before and after retraining, in both readings of the text."""
    document = read("labels_figure1.json")
    points = list(document["points"].values())
    fits = {
        reading: all(_fits(one) for one in points if one["reading"].startswith(f"{reading} =")) for reading in READINGS
    }
    head = ("panel", "reading", "before, printed", "ours", "after, printed", "ours", "gain")
    return Item(
        name="Figure 1",
        shows="Retraining where classes are far apart (a) and where they are not (b).",
        status=MEASURED,
        seen=verdict(fits.values()),
        body=(
            "Test accuracy in percent of a linear classifier, 300 rows.",
            "",
            *grid(head, [_row(point) for point in points]),
            "",
            "Appendix A speaks of gamma^2. What is printed lies within two deviations of ours in both panels if "
            f"{' or '.join(reading for reading in READINGS if fits[reading])} has these values. Retraining a weak "
            "classifier helps if and only if the gain, gamma^2 E(1+u)^2, is above 1.",
        ),
        seeds=f"{document['settings']['draws']:,} training sets",
        commands=("python -m papers.label_retraining.figure1",),
        files=("labels_figure1.json", "labels_figure1.svg"),
        discussed="[when retraining helps](labels_theory.md)",
    )


def _row(point: Mapping[str, Any]) -> tuple[str, ...]:
    printed = FIGURE_1[point["panel"]]
    ours = [spread(100 * point[when]["mean"], 100 * point[when]["deviation"], digits=1) for when in WHEN]
    cells = [cell for pair in zip((f"{value:g}" for value in printed), ours, strict=True) for cell in pair]
    return (f"1({point['panel']})", point["reading"], *cells, f"{point['gain']:.2f}")


def _fits(point: Mapping[str, Any]) -> bool:
    """Return whether what is printed lies within two deviations of ours."""
    return all(
        abs(printed / 100 - point[when]["mean"]) <= 2 * point[when]["deviation"]
        for when, printed in zip(WHEN, FIGURE_1[point["panel"]], strict=True)
    )
