"""Figure 1 of "Retraining with Predicted Hard Labels": accuracy before and after retraining, in both readings.

Appendix A says gamma^2 = 0.5 and 0.3. The printed accuracies of one training set each, 89% -> 97.67% and 68% -> 68%,
fit gamma = 0.5 and 0.3 instead, and so does the rule that retraining a weak classifier helps if and only if
gamma^2 E(1+u)^2 > 1. Each reading is measured on 2,000 training sets of 300 rows.

    python -m papers.label_retraining.figure1            # seconds; resumes
    python -m papers.label_retraining.figure1 --quick    # 50 training sets
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from papers.kept import measure_missing
from papers.label_retraining.theory import (
    MarginMixture,
    UniformMargin,
    predict,
    predict_first_round,
    retraining_gain,
    simulate_accuracies,
    train,
)
from tacit.privacy.files import write_atomically

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"
ROWS = 300
PRINTED = {"a": (0.89, 0.9767), "b": (0.68, 0.68)}
SETTINGS = [
    ("a", "gamma^2 = 0.5", math.sqrt(0.5)),
    ("b", "gamma^2 = 0.3", math.sqrt(0.3)),
    ("a", "gamma = 0.5", 0.5),
    ("b", "gamma = 0.3", 0.3),
]


def figure1_mixture(separation: float) -> MarginMixture:
    """Return the mixture of Appendix A: d = 50, p = 0.4, u uniform on [0, 4]."""
    return MarginMixture.isotropic(dimension=50, separation=separation, flip=0.4, margin=UniformMargin(high=4.0))


def measure(place: int, *, draws: int) -> dict[str, Any]:
    """Return one panel in one reading: accuracies before and after, over training sets."""
    panel, reading, separation = SETTINGS[place]
    mixture = figure1_mixture(separation)
    seen = simulate_accuracies(mixture, rows=ROWS, draws=draws, rng=np.random.default_rng([1, place]))
    mean, deviation = seen.mean(axis=0), seen.std(axis=0, ddof=1)
    expected = predict_first_round(mixture, rows=ROWS)
    return {
        "panel": panel,
        "reading": reading,
        "before": {"mean": float(mean[0]), "deviation": float(deviation[0]), "predicted": float(expected[0])},
        "after": {"mean": float(mean[1]), "deviation": float(deviation[1]), "predicted": float(expected[1])},
        "gain": float(retraining_gain(mixture)),
    }


def describe(point: dict[str, Any]) -> str:
    """Return a panel's accuracies in one line: drawn, predicted, printed."""
    before, after, printed = point["before"], point["after"], PRINTED[point["panel"]]
    return (
        f"1{point['panel']}, {point['reading']:13} {before['mean']:.1%} -> {after['mean']:.1%} "
        f"(sd {before['deviation']:.1%}, {after['deviation']:.1%}); "
        f"n and d large: {before['predicted']:.1%} -> {after['predicted']:.1%}; "
        f"printed: {printed[0]:.2%} -> {printed[1]:.2%}; gain {point['gain']:.2f}"
    )


def draw(path: Path) -> None:
    """Draw one training set of each panel in the reading that fits."""
    mpl.rcParams["svg.hashsalt"] = "tacit"
    figure = draw_panels(SETTINGS[2:], np.random.default_rng(0))
    with write_atomically(path, force=True) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})


def draw_panels(columns: Sequence[tuple[str, str, float]], rng: np.random.Generator) -> Figure:
    """Draw the given labels (top) and those that the trained model predicts (bottom); crosses are wrong."""
    figure = Figure(figsize=(3.2 * len(columns), 5.6))
    axes = figure.subplots(2, len(columns), sharey=True)
    for column, (_, reading, separation) in enumerate(columns):
        sample = figure1_mixture(separation).sample(ROWS, rng=rng)
        predicted = predict(sample.features, train(sample.features, sample.noisy))
        for row, (labels, whose) in enumerate(((sample.noisy, "given"), (predicted, "predicted"))):
            axis = axes[row, column]
            for label, color in ((1.0, "tab:blue"), (-1.0, "tab:red")):
                for right, marker in ((True, "o"), (False, "x")):
                    shown = (sample.labels == label) & ((labels == sample.labels) == right)
                    axis.scatter(*sample.features[shown, :2].T, s=12, c=color, marker=marker, linewidths=0.8)
            axis.axvline(0.0, color="black", linewidth=0.8)
            wrong = float(np.mean(labels != sample.labels))
            axis.set_title(f"{reading}: {whose} labels, {wrong:.0%} wrong", fontsize=8)
    figure.tight_layout()
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is missing, print and draw it, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m papers.label_retraining.figure1", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 training sets instead of 2,000")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the JSON and the picture")
    options = parser.parse_args(arguments)
    draws = 50 if options.quick else 2000
    path = options.out / f"labels_figure1{'_quick' if options.quick else ''}.json"
    tasks = {
        f"{panel}|{reading}": partial(measure, place, draws=draws) for place, (panel, reading, _) in enumerate(SETTINGS)
    }
    found = measure_missing(path, tasks, settings={"draws": draws, "rows": ROWS})
    draw(path.with_suffix(".svg"))
    print(*map(describe, found["points"].values()), sep="\n")
    print(f"{len(tasks)} points: {path}, {path.with_suffix('.svg')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
