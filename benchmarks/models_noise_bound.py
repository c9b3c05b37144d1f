"""How much of the epsilon of DP-SGD one run proves: by coins for rows, by coins for pairs, and by its own curve.

At the size of the bundled audit (1,797 digits, half of them trained on, epsilon 3) each record's gradient has a
direction of its own and the largest norm, and the attacker has the likelihood ratio of every record: what a release of
all steps shows at most. Opposite records of a pair are the pair that the guarantee is about; records of a table point
in directions of their own.

    python -m benchmarks.models_noise_bound            # 40 runs of each; a minute on one core
    python -m benchmarks.models_noise_bound --quick    # one run, to try the code
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.__main__ import describe_machine
from tacit.models.attacks.coins import CoinDesign, PairCoins, RowCoins
from tacit.models.training.accounting import find_noise, sampling
from tacit.privacy.files import write_atomically
from tacit.privacy.loss import SampledGaussianLoss

OUT = Path(__file__).parent / "results" / "models_noise_bound.json"
PAIRS, EPSILON, DELTA = 898, 3.0, 1e-5
EPOCHS, BATCH = 20, 200

Floats = NDArray[np.float64]


def evidence(loss: SampledGaussianLoss, gradients: Floats, *, rng: np.random.Generator) -> Floats:
    """Return ln p(steps | +1) - ln p(steps | 0) and the same for -1, along a direction in which a record moves them."""
    found = np.zeros((2, len(gradients)))
    for _ in range(loss.steps):
        seen = (rng.random(len(gradients)) < loss.rate) * gradients + loss.noise * rng.normal(size=len(gradients))
        for place, sign in enumerate((1, -1)):
            found[place] += np.log1p(loss.rate * np.expm1((2 * sign * seen - 1) / (2 * loss.noise**2)))
    return found


def scores(records: str, loss: SampledGaussianLoss, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the scores of the records that were trained on, and of those that were not."""
    if records == "opposite":
        with_it, opposite = evidence(loss, np.ones(PAIRS), rng=rng)
        return with_it, opposite
    return evidence(loss, np.ones(PAIRS), rng=rng)[0], evidence(loss, np.zeros(PAIRS), rng=rng)[0]


def measure(loss: SampledGaussianLoss, *, runs: int) -> list[dict[str, Any]]:
    """Return the bounds of every design."""
    designs: tuple[tuple[str, str, CoinDesign], ...] = (
        ("rows", "own directions", RowCoins()),
        ("pairs", "own directions", PairCoins()),
        ("pairs, the curve", "own directions", PairCoins(steps=loss)),
        ("pairs", "opposite", PairCoins()),
        ("pairs, the curve", "opposite", PairCoins(steps=loss)),
    )
    rows = []
    for coins, records, design in designs:
        rng = np.random.default_rng([*records.encode()])  # the same runs for each design
        bounds = [
            design.bound(*scores(records, loss, rng=rng), rng=np.random.default_rng(run), level=0.95, delta=DELTA).value
            for run in range(runs)
        ]
        rows.append({"coins": coins, "records": records, "mean": float(np.mean(bounds)), "largest": max(bounds)})
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Simulate all designs and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one run, to try the code")
    parser.add_argument("--out", type=Path, default=OUT, help="the JSON")
    options = parser.parse_args(arguments)
    rate, steps = sampling(PAIRS, epochs=EPOCHS, batch_size=BATCH)
    loss = find_noise(epsilon=EPSILON, delta=DELTA, rate=rate, steps=steps)
    runs = 1 if options.quick else 40
    rows = measure(loss, runs=runs)
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "pairs": PAIRS,
        "epsilon": EPSILON,
        "delta": DELTA,
        "noise": loss.noise,
        "steps": steps,
        "runs": runs,
        "rows": rows,
    }
    with write_atomically(options.out, force=True) as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")
    for row in rows:
        sys.stdout.write(f"{row['records']:15} {row['coins']:17} {row['mean']:.2f} (largest {row['largest']:.2f})\n")


if __name__ == "__main__":
    main()
