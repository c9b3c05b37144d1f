"""Draw docs/images/results_*.svg: one plot per surface, from the JSON of the benchmarks.

python scripts/plots.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import exp, isnan, nan
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
FOLDER, RESULTS = ROOT / "docs" / "images", ROOT / "benchmarks" / "results"

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 300, 60, 250, 40, 45
COLORS = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#9a6700", "#cf222e")
STYLE = "text{font:12px sans-serif;fill:#24292f}.t{font-weight:600;font-size:13px}path,line{fill:none}"


class Plot(NamedTuple):
    """Values over a few places of the x axis, and levels that hold everywhere."""

    title: str
    x: str
    places: Sequence[str]
    series: Mapping[str, Sequence[float]]
    levels: Mapping[str, float]
    low: float
    high: float
    unit: str = "%"


def read(name: str) -> Any:  # noqa: ANN401 - each benchmark has its own document
    """Return the JSON of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def labels() -> Plot:
    """Accuracy from randomized labels of the digits, by epsilon."""
    cells = read("labels_accuracy")["cells"]
    epsilons = ("0.5", "1", "2", "3")

    def accuracy(method: str, epsilon: str) -> float:
        found = [
            cell["accuracy"] for key, cell in cells.items() if key.startswith(f"digits/logistic/{method}/{epsilon}/")
        ]
        return 100 * mean(found)

    return Plot(
        "Test accuracy from randomized labels: digits, logistic regression, 1,200 rows",
        "epsilon",
        epsilons,
        {
            "tacit's default": [accuracy("default", epsilon) for epsilon in epsilons],
            "trained on them as they are": [accuracy("rr", epsilon) for epsilon in epsilons],
        },
        {"true labels": accuracy("clean", "none"), "guessing one of ten digits": 100 / 10},
        0,
        100,
    )


def bags() -> Plot:
    """Log loss from noisy totals of random bags of Adult, by epsilon."""
    cells = read("bags_noise")["cells"]
    places = ("0.3", "1", "3")
    found = {
        epsilon: [cell for key, cell in cells.items() if key.startswith(f"Adult, income/1000/10/{epsilon}/")]
        for epsilon in places
    }
    return Plot(
        "Test log loss from 1,000 random bags of 10 rows: Adult, income",
        "epsilon",
        places,
        {
            "penalty follows the noise (default)": [mean(c["default"] for c in found[e]) for e in places],
            "noise ignored": [mean(c["blind"] for c in found[e]) for e in places],
        },
        {"true class shares, no model": found["1"][0]["constant"]},
        0.3,
        0.6,
        "",
    )


def features() -> Plot:
    """Error of Fisher's rule on MNIST from 25 features, by epsilon."""
    points = read("features_figures")["points"]
    places = ("0.1", "0.5", "1", "2", "4", "6", "10")
    error = {
        arm: [100 * mean(points[f"mnist|{arm}|distance|25|{e}"]["clean"]) for e in places] for arm in ("totals", "rows")
    }
    return Plot(
        "Test error of Fisher's rule from 25 private features: MNIST",
        "epsilon, delta 1e-5",
        places,
        {"class totals": error["totals"], "rows": error["rows"]},
        {"guessing one of ten digits": 100 - 100 / 10},
        0,
        100,
    )


def scores() -> Plot:
    """Share of Titanic's labels that an attacker gets right after 100 submissions, by epsilon per score."""
    cells = [cell for cell in read("scoring_ranking")["attack"] if cell["set"] == "titanic"]
    found = {(cell["policy"], cell["public_fraction"]): 100 * cell["recovered"] for cell in cells}
    places = ("0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5")
    return Plot(
        "Labels guessed correctly after 100 submissions: Titanic, log loss",
        "epsilon per score",
        places,
        {
            "scores on all rows": [found[f"laplace {epsilon}", 1.0] for epsilon in places],
            "scores on 30% of the rows": [found[f"laplace {epsilon}", 0.3] for epsilon in places],
        },
        {"exact scores, all rows": found["exact", 1.0], "from the features alone": 100 * cells[0]["baseline"]},
        75,
        100,
    )


def models() -> Plot:
    """AUC of membership attacks on MNIST, by protection."""
    rows = [row for row in read("models_protect")["rows"] if row["table"] == "mnist"]
    return Plot(
        "Membership attacks on a network trained on MNIST: AUC, beside its test accuracy",
        "protection",
        [row["arm"] for row in rows],
        {
            "LiRA, 8 shadow models": [row["lira"]["auc"] for row in rows],
            "loss threshold": [row["loss"]["auc"] for row in rows],
            "test accuracy": [row["accuracy"] for row in rows],
        },
        {"guessing": 0.5},
        0.4,
        0.9,
        "",
    )


def labels_images() -> Plot:
    """Accuracy on CIFAR-10 from its own images, by epsilon, and what was published."""
    from papers.page.retraining_printed import IMAGES, LP_2ST, NOISY

    epsilons = (0.5, 1.0, 2.0, 3.0)
    points, recipe = read("labels_own_images")["points"], read("labels_images")["points"]

    def at_noise(known: Mapping[int, float], epsilon: float) -> float:
        kept = exp(epsilon) / (exp(epsilon) + 9)
        redrawn = 100 * (1 - kept) * 10 / 9
        return float(np.interp(redrawn, list(known), list(known.values()), left=nan, right=nan))

    def measured(found: Mapping[str, Any], key: str) -> list[float]:
        return [100 * found[name]["accuracy"] if (name := f"{key}|{e:g}|0") in found else nan for e in epsilons]

    (table,) = (one for one in IMAGES if one.number == "1")
    series = {name: [at_noise(known["cifar10"], e) for e in epsilons] for name, known in NOISY.items()}
    return Plot(
        "Test accuracy on CIFAR-10 from its own images and labels released once",
        "epsilon",
        [f"{e:g}" for e in epsilons],
        {
            "ImageClassifier": measured(points, "cifar10"),
            "benchmark's earlier recipe": measured(recipe, "cifar10|recipe"),
            **series,
            "LP-2ST (Ghazi et al. 2021)": [LP_2ST["cifar10"].get(e, nan) for e in epsilons],
            "consensus (Das et al. 2024)": [table.rows[e][2][0] if e in table.rows else nan for e in epsilons],
        },
        {},
        50,
        100,
    )


PLOTS: dict[str, Callable[[], Plot]] = {
    "labels": labels,
    "bags": bags,
    "features": features,
    "scores": scores,
    "models": models,
    "labels_images": labels_images,
}


def draw(plot: Plot) -> str:
    """Return a plot as SVG, on a light card so that it reads on a dark page too."""
    step = (WIDTH - LEFT - RIGHT) / max(1, len(plot.places) - 1)
    xs = [LEFT + step * place for place in range(len(plot.places))]
    parts = [f'<text class="t" x="{LEFT}" y="22">{escape(plot.title)}</text>', *_axes(plot, xs)]
    ends = []
    for color, (name, values) in zip(COLORS, plot.series.items(), strict=False):
        points = [(x, _height(plot, value)) for x, value in zip(xs, values, strict=True) if not isnan(value)]
        parts.append(
            f'<path stroke="{color}" stroke-width="2" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>' for x, y in points]
        ends.append((points[-1][1], color, name))
    for name, value in plot.levels.items():
        y = _height(plot, value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#57606a" stroke-dasharray="5 4"/>')
        ends.append((y, "#57606a", name))
    parts += _legend(sorted(ends))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">'
        f"<title>{escape(plot.title)}</title><style>{STYLE}</style>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#fff"/>' + "\n".join(parts) + "</svg>\n"
    )


def _height(plot: Plot, value: float) -> float:
    share = (min(max(value, plot.low), plot.high) - plot.low) / (plot.high - plot.low)
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _axes(plot: Plot, xs: Sequence[float]) -> list[str]:
    parts = []
    for tick in range(6):
        value = plot.low + tick * (plot.high - plot.low) / 5
        y = _height(plot, value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eaeef2"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}{plot.unit}</text>')
    for x, place in zip(xs, plot.places, strict=True):
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(place)}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(plot.x)}</text>'
    )
    return parts


def _legend(ends: Sequence[tuple[float, str, str]]) -> list[str]:
    """Return the names at the right, each near its line and none on another."""
    parts: list[str] = []
    free = float(TOP)
    for y, color, name in ends:
        free = max(y + 4, free)
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{free:.1f}" style="fill:{color}">{escape(name)}</text>')
        free += 16
    return parts


def pictures() -> dict[str, str]:
    """Return the text of every plot by its name."""
    return {f"results_{surface}.svg": draw(plot()) for surface, plot in PLOTS.items()}


def main() -> None:
    """Write the plots."""
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
