"""The recipe on tables and small images, on a processor, from benchmarks/results/labels_recipe.json."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from papers.page.items import MEASURED, MISSING, Item, count, grid, read, spread_of, verdict

__all__ = ["small_item"]

FILE = "labels_recipe.json"
PAGE = Path(__file__).parents[2] / "docs" / "labels_recipe.md"
SETS = {"mnist": "MNIST", "adult": "Adult"}
BEFORE = {
    "rr": "plain",
    "default": "tacit's default",
    "stiff": "default, the recipe's regression",
}
METHODS = BEFORE | {
    "recipe": "recipe",
    "tuned": "recipe, fine-tuned",
    "chosen": "best of default, components and recipe, chosen by the release",
}


def small_item() -> Item:
    """Accuracy by method, set and epsilon; nothing is printed for it."""
    document = read(FILE)
    cells: dict[tuple[str, str, str], list[float]] = {}
    for key, cell in document.get("cells", {}).items():
        name, method, epsilon, _ = key.split("/")
        cells.setdefault((name, epsilon, method), []).append(100 * cell["accuracy"])
    at = [place for place in dict.fromkeys(key[:2] for key in cells) if place[1] != "none"]
    rows = [
        (
            f"{SETS[name]}, {document['rows'][name]:,} rows",
            epsilon,
            *(spread_of(cells.get((name, epsilon, method), []), digits=1) for method in METHODS),
        )
        for name, epsilon in sorted(at, key=lambda place: (list(SETS).index(place[0]), float(place[1])))
    ]
    gains = []
    for name, epsilon in at:
        found = {method: cells[name, epsilon, method] for method in METHODS if (name, epsilon, method) in cells}
        means = {method: float(np.mean(values)) for method, values in found.items()}
        best = max(mean for method, mean in means.items() if method in BEFORE)
        gains.append(means[list(found)[-1]] > best)
    return Item(
        name="past the tables, without a GPU",
        shows="The same recipe on the first rows of MNIST and Adult, on a processor. The paper has no such table.",
        status=MEASURED if rows else MISSING,
        because="" if rows else "there is no run of it.",
        seen=verdict(gains),
        body=(
            *grid(("set", "epsilon", *METHODS.values()), rows),
            "",
            f"*Seen*: whether the last number of a line is above the first three: at {sum(gains)} of {len(gains)}.",
        )
        if rows
        else (),
        seeds=count(len(values) for key, values in cells.items() if key[1] != "none"),
        commands=("TACIT_DATA=folder python -m benchmarks.labels_recipe",) if rows else (),
        files=(FILE,) if rows else (),
        discussed="[the recipe](labels_recipe.md)" if rows and PAGE.exists() else "",
    )
