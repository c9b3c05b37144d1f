"""What all teams together learn from the live scores that they share, and how well these rank models.

Run ``python -m benchmarks.scoring_together``. For as many rows as are behind the live scores of four sets, and for each
limit X: how many exact (accuracy) or rounded (log loss) answers the server gives all teams; the points of balanced
advantage that Bayes' rule by message passing gains from that many exact answers about coins, asked about all rows or a
quarter of them; and Kendall's tau between rounded and exact log losses of 50 models. Exact accuracies rank as they are.
Attacks of more than 8 million numbers are left out. Results: ``benchmarks/results/scoring_together.json``.
"""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from benchmarks.__main__ import HERE, describe_machine
from tacit.scores.attacks.posterior import ScoreReading, label_posterior
from tacit.scores.metrics import Accuracy, LogLoss
from tacit.scores.policies import Exact, Rounded
from tacit.server.coalition import answers_within

SETS = {"Titanic": 660, "Satellite": 1_930, "Adult": 14_653, "400 rows": 400}
LIMITS = (3.0, 10.0, 30.0)
MODELS = 50
_MOST = 8_000_000
_RIGHT = np.array([[0.0, 1.0], [1.0, 0.0]])  # what a prediction costs with each label


def gained(rows: int, answers: int, *, share: float, rng: np.random.Generator) -> float:
    """Return the points that Bayes' rule over exact answers gains on coins, with random predictions for a share."""
    truth, asked = rng.integers(0, 2, rows), int(rows * share)
    readings = []
    for _ in range(answers):
        choice = np.zeros(rows, dtype=np.int8)
        choice[:asked] = rng.integers(0, 2, asked)
        cost = float(_RIGHT[choice, truth].sum())
        readings.append(ScoreReading(choice, cost, cost, 0.0))
    after = label_posterior(readings, np.full((rows, 2), 0.5), losses=_RIGHT)
    guess = np.where(after[:, 0] == after[:, 1], rng.integers(0, 2, rows), after.argmax(axis=1))
    return 100 * float((guess == truth).mean() * 2 - 1)


def tau(rows: int, *, rng: np.random.Generator) -> float:
    """Return Kendall's tau between log losses rounded to 2 decimals and exact ones, of 50 models."""
    truth = rng.integers(0, 2, rows)
    exact = []
    for quality in np.linspace(0.0, 2.0, MODELS):
        logits = quality * (2 * truth - 1) + rng.normal(size=rows)
        exact.append(LogLoss().measure(truth, LogLoss().check(1 / (1 + np.exp(-logits)), rows=rows)).exact)
    return float(kendalltau(exact, np.round(exact, 2)).statistic)


def measure(rows: int, limit: float, *, seeds: int) -> dict[str, Any]:
    """Return one row of the table."""
    accuracy = answers_within(limit, Accuracy(), Exact(), rows=rows, rarest=0.5)
    loss = answers_within(limit, LogLoss(), Rounded(decimals=2), rows=rows, rarest=0.5)
    found = {
        share: [gained(rows, accuracy, share=share, rng=np.random.default_rng(seed)) for seed in range(seeds)]
        for share in (1.0, 0.25)
        if 0 < accuracy * rows <= _MOST
    }
    return {
        "rows": rows,
        "limit": limit,
        "answers_accuracy": accuracy,
        "answers_log_loss": loss,
        "points": {str(share): [float(np.mean(one)), float(np.std(one) / seeds**0.5)] for share, one in found.items()},
        "tau_log_loss": float(np.mean([tau(rows, rng=np.random.default_rng(seed)) for seed in range(seeds)])),
    }


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "scoring_together.json")
    told = parser.parse_args()
    table = [{"set": name, **measure(rows, limit, seeds=told.seeds)} for name, rows in SETS.items() for limit in LIMITS]
    found = {"date": date.today().isoformat(), "machine": describe_machine(), "seeds": told.seeds, "table": table}
    told.out.write_text(json.dumps(found, indent=1) + "\n")
    for row in table:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
