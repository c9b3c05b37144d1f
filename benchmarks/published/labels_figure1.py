"""Figure 1 of "Retraining with Predicted Hard Labels": accuracy before and after retraining, in both readings.

Appendix A says gamma^2 = 0.5 and 0.3; the printed accuracies, of one training set each, fit gamma = 0.5 and 0.3. Here
are 2,000 training sets of 300 rows for each reading. What is drawn and how: examples/labels_figure1.py.

    python -m benchmarks.published.labels_figure1            # seconds; resumes
    python -m benchmarks.published.labels_figure1 --quick    # 50 training sets
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from benchmarks.published.kept import measure_missing

from tacit.labels.theory import predict_first_round, retraining_gain, simulate_accuracies
from tacit.privacy.files import write_atomically

FOLDER = Path(__file__).parents[1] / "results"
EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "labels_figure1.py"))


def measure(place: int, *, draws: int) -> dict[str, Any]:
    """Return one panel in one reading: accuracies before and after, over training sets."""
    panel, reading, separation = EXAMPLE["SETTINGS"][place]
    mixture = EXAMPLE["figure1_mixture"](separation)
    seen = simulate_accuracies(mixture, rows=EXAMPLE["ROWS"], draws=draws, rng=np.random.default_rng([1, place]))
    mean, deviation = seen.mean(axis=0), seen.std(axis=0, ddof=1)
    expected = predict_first_round(mixture, rows=EXAMPLE["ROWS"])
    return {
        "panel": panel,
        "reading": reading,
        "before": {"mean": float(mean[0]), "deviation": float(deviation[0]), "predicted": float(expected[0])},
        "after": {"mean": float(mean[1]), "deviation": float(deviation[1]), "predicted": float(expected[1])},
        "gain": float(retraining_gain(mixture)),
    }


def draw(path: Path) -> None:
    """Draw one training set of each panel in the reading that fits."""
    mpl.rcParams["svg.hashsalt"] = "tacit"
    figure = EXAMPLE["draw_panels"](EXAMPLE["SETTINGS"][2:], np.random.default_rng(0))
    with write_atomically(path, force=True) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is missing, draw, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.labels_figure1", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 training sets instead of 2,000")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the JSON and the picture")
    options = parser.parse_args(arguments)
    draws = 50 if options.quick else 2000
    path = options.out / f"labels_figure1{'_quick' if options.quick else ''}.json"
    tasks = {
        f"{panel}|{reading}": partial(measure, place, draws=draws)
        for place, (panel, reading, _) in enumerate(EXAMPLE["SETTINGS"])
    }
    measure_missing(path, tasks, settings={"draws": draws, "rows": EXAMPLE["ROWS"]})
    draw(path.with_suffix(".svg"))
    print(f"{len(tasks)} points: {path}, {path.with_suffix('.svg')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
