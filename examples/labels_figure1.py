"""Figure 1 of the retraining paper, in both readings of its text.

Appendix A says gamma^2 = 0.5 and 0.3. The printed accuracies, 89% -> 97.67% and 68% -> 68%, fit gamma = 0.5 and 0.3
instead, and so does the rule that retraining a weak classifier helps if and only if gamma^2 E(1+u)^2 > 1.

    python examples/labels_figure1.py --out figure1.svg
    python examples/labels_figure1.py --quick
"""

import argparse
import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from tacit.labels.theory import (
    MarginMixture,
    UniformMargin,
    predict,
    predict_first_round,
    retraining_gain,
    simulate_accuracies,
    train,
)
from tacit.privacy import TacitError
from tacit.privacy.files import write_atomically

ROWS = 300
PRINTED = {"a": (0.89, 0.9767), "b": (0.68, 0.68)}
SETTINGS = [
    ("a", "gamma^2 = 0.5", math.sqrt(0.5)),
    ("b", "gamma^2 = 0.3", math.sqrt(0.3)),
    ("a", "gamma = 0.5", 0.5),
    ("b", "gamma = 0.3", 0.3),
]


def figure1_mixture(separation):
    """Appendix A: d = 50, p = 0.4, u uniform on [0, 4]."""
    return MarginMixture.isotropic(dimension=50, separation=separation, flip=0.4, margin=UniformMargin(high=4.0))


def draw_panels(columns, rng):
    """Top: the given labels; bottom: those that the trained model predicts. Crosses are wrong."""
    figure, axes = plt.subplots(2, len(columns), figsize=(3.2 * len(columns), 5.6), sharey=True)
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


def report(draws, rng):
    """Print the four pairs of accuracies: drawn, predicted, printed."""
    print(f"{ROWS} rows, d = 50, p = 0.4, u uniform on [0, 4]; mean and deviation over {draws} training sets")
    for panel, reading, separation in SETTINGS:
        mixture = figure1_mixture(separation)
        seen = simulate_accuracies(mixture, rows=ROWS, draws=draws, rng=rng)
        (before, after), (sd_before, sd_after) = seen.mean(axis=0), seen.std(axis=0)
        expected = predict_first_round(mixture, rows=ROWS)
        print(
            f"1{panel}, {reading:13} {before:.1%} -> {after:.1%} (sd {sd_before:.1%}, {sd_after:.1%}); "
            f"n and d large: {expected[0]:.1%} -> {expected[1]:.1%}; "
            f"printed: {PRINTED[panel][0]:.2%} -> {PRINTED[panel][1]:.2%}; gain {retraining_gain(mixture):.2f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("figure1.svg"), help="the picture to write, .svg or .png")
    parser.add_argument("--force", action="store_true", help="write over an existing picture")
    parser.add_argument("--quick", action="store_true", help="50 training sets instead of 2,000")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers")
    chosen = parser.parse_args()
    form = chosen.out.suffix.lstrip(".")
    if form not in ("svg", "png"):
        parser.error(f"--out must end in .svg or .png, got {chosen.out}")
    rng = np.random.default_rng(chosen.seed)
    figure = draw_panels(SETTINGS, rng)
    try:
        with write_atomically(chosen.out, force=chosen.force) as file:
            figure.savefig(file, format=form)
    except TacitError as error:
        parser.error(str(error))
    report(50 if chosen.quick else 2000, rng)
    print(f"wrote {chosen.out}")


if __name__ == "__main__":
    main()
