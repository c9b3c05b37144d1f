"""Table 1 of "Reconstructing Test Labels from Noisy Loss Scores": which losses tell all labels, under which noise.

For each loss: the noise up to which one score of N = 3 rows tells all labels, with the gap worked out exactly; 1,000
label sets of N = 4, 12 and 20 rows read from one noisy score each, by the paper's search over all K^N labelings and by
digits, both timed; and a set of 200 rows read from several scores with noise of 1e-4.

    python -m papers.score_attacks.table1            # a minute; resumes
    python -m papers.score_attacks.table1 --quick    # N = 4 alone, 50 label sets
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from papers.kept import measure_missing
from papers.score_attacks.figures import SEARCH, label_inf, read_digits
from papers.score_attacks.losses import ItakuraSaito, Mahalanobis, NormLike
from papers.score_attacks.separation import largest_noise, separate, table_1
from tacit.scores.attacks import infer_labels, plan_attack
from tacit.scores.losses import (
    ClippedCrossEntropy,
    InvertibleLoss,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
)
from tacit.scores.metrics import UnboundedLoss
from tacit.scores.policies import Bounded

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"
CLASSES = 3
LOSSES: dict[str, InvertibleLoss] = {
    "Binary Cross Entropy": ClippedCrossEntropy(),
    "K-ary Cross Entropy": ClippedCrossEntropy(classes=CLASSES),
    "Softmax Cross Entropy": SoftmaxCrossEntropy(classes=CLASSES),
    "Sigmoid Cross Entropy": SigmoidCrossEntropy(),
    "Itakura-Saito Divergence": ItakuraSaito(),
    "Squared Euclidean": SquaredError(),
    "Norm-like Divergence": NormLike(alpha=3.0),
    "Mahalanobis Divergence": Mahalanobis(matrix=((1.0, 0.0), (0.0, 1.0))),
}
TAU = 1e-4
TAU_ONE = 1e-5  # where float64 still holds the predictions for 20 rows
WHOLE_SET = 200


def measure(name: str, *, rows: Sequence[int], sets: int) -> dict[str, Any]:
    """Return one line of the table."""
    loss = LOSSES[name]
    rng = np.random.default_rng(list(name.encode()))
    (exact,) = (line for line in table_1(3, classes=CLASSES) if line.name == name)
    return {
        "classes": loss.classes,
        "largest_noise": None if math.isinf(exact.largest_noise) else exact.largest_noise,
        "tau": exact.tau,
        "gap": float(exact.gap),
        "unnoised_gap": float(exact.unnoised_gap),
        "one_query": {str(n): one_query(loss, n, sets=sets, rng=rng) for n in rows if loss.classes**n <= SEARCH},
        "many_queries": many_queries(loss, rng=rng),
    }


def one_query(loss: InvertibleLoss, rows: int, *, sets: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the shares of label sets read without a mistake, and the seconds that one takes."""
    tau = min(TAU_ONE, 0.9 * largest_noise(loss, rows))
    losses = np.asarray(loss.row_losses(separate(loss, rows, tau).predictions), dtype=np.float64)
    truth = rng.integers(0, loss.classes, size=(sets, rows))
    noise = tau * rng.uniform(-1, 1, size=sets)
    found = {
        "search": label_inf(losses, truth, rows=rows, noise=noise),
        "digits": read_digits(losses, truth, noise=noise),
    }
    result: dict[str, Any] = {"tau": tau}
    for name, guess in found.items():
        result[name] = 0.0 if guess is None else float((guess == truth).all(axis=1).mean())
    begun = time.perf_counter()
    label_inf(losses, truth[:1], rows=rows, noise=noise[:1])
    middle = time.perf_counter()
    read_digits(losses, truth[:1], noise=noise[:1])
    return result | {"search_seconds": middle - begun, "digits_seconds": time.perf_counter() - middle}


def many_queries(loss: InvertibleLoss, *, rng: np.random.Generator) -> dict[str, Any]:
    """Return the queries that a whole set takes, and the share of its labels that come out right."""
    truth = rng.integers(0, loss.classes, WHOLE_SET)

    def host(predictions: Any) -> float:
        return float(loss.score(truth, predictions)) + TAU * float(rng.uniform(-1, 1))

    made = plan_attack(UnboundedLoss(loss=loss), rows=WHOLE_SET, policy=Bounded(tau=TAU))
    outcome = infer_labels(host, made)
    return {"queries": outcome.queries, "share": float((outcome.labels == truth).mean()), "seconds": outcome.seconds}


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is missing, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m papers.score_attacks.table1", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 rows and 50 label sets")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the JSON")
    options = parser.parse_args(arguments)
    rows, sets = ((4,), 50) if options.quick else ((4, 12, 20), 1000)
    path = options.out / f"scores_table1{'_quick' if options.quick else ''}.json"
    tasks = {name: partial(measure, name, rows=rows, sets=sets) for name in LOSSES}
    measure_missing(path, tasks, settings={"rows": list(rows), "sets": sets, "tau": TAU, "whole_set": WHOLE_SET})
    print(f"{len(tasks)} losses: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
