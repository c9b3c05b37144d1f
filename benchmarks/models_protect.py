"""What three protections are worth: attacks on the same rows, undefended and protected, with accuracy beside.

MNIST, odd digits against even ones: a fair coin puts each of 400 images in or out; a two-layer ReLU network is trained
on those that are in, to its margin (undefended), stopped before its margins tie, on randomized labels (epsilon 3 for
one label), and by DP-SGD (epsilon 3, delta 1e-5 for one record). A loss threshold, and LiRA with 8 shadow models
trained the same way, guess the coins. Points: the same for 400 Gaussian points with coin-flip labels in 2,000
dimensions, where theory says that an undefended network gives them away; a rule at the margin, found from ties, is
tried too. The coins make the bounds on epsilon valid.

    python -m benchmarks.models_protect            # all points; resumes; about ten minutes on one core
    python -m benchmarks.models_protect --quick    # small, to try the code
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import describe_machine
from tacit.leak import Leak
from tacit.models.attacks.coins import RowCoins
from tacit.models.attacks.lira import OnlineLira, PooledSpread
from tacit.models.attacks.loss_threshold import LossThreshold
from tacit.models.attacks.margin import KnownMargin
from tacit.models.attacks.membership import measure_membership
from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.attacks.targets import attack_confidence
from tacit.models.releases.dp_sgd import train_dp_sgd
from tacit.models.training.early_stop import margin_snapshots, stop_before_ties
from tacit.privacy.files import write_atomically
from tacit.privacy.noise import randomize_codes

OUT = Path(__file__).parent / "results" / "models_protect.json"
EPSILON, DELTA, WIDTH = 3.0, 1e-5, 50
Matrix = NDArray[np.float64]
Network = Callable[[Matrix], Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the run is."""

    rows: int = 400
    test: int = 5000
    dimension: int = 2000
    shadows: int = 8
    steps: int = 600
    seeds: int = 2


def to_margin(X: Matrix, y: Matrix, rng: np.random.Generator, sizes: Sizes) -> Network:
    """Undefended: trained to its margin."""
    return list(margin_snapshots(X, y, width=WIDTH, rng=rng, steps=sizes.steps, every=sizes.steps, initial_scale=0.01))[
        -1
    ]


def early_stop(X: Matrix, y: Matrix, rng: np.random.Generator, sizes: Sizes) -> Network:
    """The same, stopped before the margins tie."""
    path = margin_snapshots(X, y, width=WIDTH, rng=rng, steps=sizes.steps, every=25, initial_scale=0.01)
    return stop_before_ties(path, X, y).model


def label_private(X: Matrix, y: Matrix, rng: np.random.Generator, sizes: Sizes) -> Network:
    """On randomized labels: epsilon 3 for one label, nothing for a record."""
    noisy = randomize_codes((y > 0).astype(np.int64), epsilon=EPSILON, classes=2, rng=rng)
    return to_margin(X, 2.0 * noisy - 1.0, rng, sizes)


def dp_sgd(X: Matrix, y: Matrix, rng: np.random.Generator, _: Sizes) -> Network:
    """By DP-SGD: epsilon 3 for one record."""
    torch.manual_seed(int(rng.integers(2**31)))
    layers = [torch.nn.Linear(X.shape[1], WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1, bias=False)]
    made = train_dp_sgd(
        torch.nn.Sequential(*layers),
        X,
        y,
        epsilon=EPSILON,
        delta=DELTA,
        clip=1.0,
        epochs=10,
        batch_size=max(2, len(X) // 5),
        learning_rate=0.2,
        rng=rng,
    )
    return lambda rows: made.module(torch.as_tensor(rows).float()).detach().numpy()[:, 0].astype(np.float64)


ARMS = {"undefended": to_margin, "early stop": early_stop, "label-private": label_private, "DP-SGD": dp_sgd}


@lru_cache(maxsize=1)
def images() -> tuple[Matrix, Matrix]:
    """MNIST in [0, 1], centered by a public number; odd digits are +1."""
    from benchmarks.data_sets import mnist

    data = mnist()
    return data.images.reshape(len(data), -1) / 255.0 - 0.13, 2.0 * (data.labels % 2) - 1.0


def on_images(arm: str, seed: int, sizes: Sizes) -> dict[str, Any]:
    """Train a target and its shadows, guess the coins."""
    X, y = images()
    rng = np.random.default_rng([seed, 1])
    chosen = rng.permutation(len(X))[: sizes.rows + sizes.test]
    (X, y), (test, truth) = ((X[part], y[part]) for part in (chosen[: sizes.rows], chosen[sizes.rows :]))
    member = rng.random(len(X)) < 0.5
    first = np.argsort(rng.random((sizes.shadows // 2, len(X))), axis=1) < len(X) // 2
    halves = np.concatenate([first, ~first])  # every row is in half of the shadow models
    networks = [ARMS[arm](X[rows], y[rows], rng, sizes) for rows in (member, *halves)]
    confidence = np.stack([y * network(X) for network in networks])
    shadows = ShadowConfidences(confidence=confidence[1:], member=halves)
    found = {
        name: attack_confidence(confidence[0], member, attack=attack, rng=rng, coins=RowCoins(), delta=DELTA)
        for name, attack in (("loss", LossThreshold()), ("lira", OnlineLira(shadows=shadows, spread=PooledSpread())))
    }
    return {
        "accuracy": float((truth * networks[0](test) > 0).mean()),
        "training_accuracy": float((confidence[0][member] > 0).mean()),
        **{name: _measures(leak) for name, leak in found.items()},
    }


def on_points(arm: str, seed: int, sizes: Sizes) -> dict[str, Any]:
    """Guess the coins of Gaussian points by the loss and by the margin."""
    rng = np.random.default_rng([seed, 2])
    X, y = rng.normal(size=(sizes.rows, sizes.dimension)), rng.choice([-1.0, 1.0], sizes.rows)
    member = rng.random(len(X)) < 0.5
    network = ARMS[arm](X[member], y[member], rng, sizes)
    outputs = network(X)
    rule = KnownMargin.from_ties(outputs)  # without the coins, or the bound on epsilon would not hold
    scores = {"loss": y * outputs, "margin": rule.score(outputs)}
    found = {
        name: measure_membership(score[member], score[~member], rng=rng, coins=RowCoins(), delta=DELTA)
        for name, score in scores.items()
    }
    right = float((y * outputs > 0)[member].mean())
    return {"training_accuracy": right, **{name: _measures(leak) for name, leak in found.items()}}


TABLES = {"mnist": on_images, "points": on_points}


def _measures(leak: Leak) -> dict[str, float]:
    assert leak.roc is not None
    return {
        "auc": leak.roc.auc,
        "tpr_at_0.1%_fpr": leak.roc.at_0_1_percent.tpr,
        "advantage": leak.advantage,
        "epsilon_at_least": leak.epsilon_lower_bound,
    }


def summarize(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean of every number over the seeds, and the largest bound on epsilon."""
    rows = []
    for table, arm in dict.fromkeys((point["table"], point["arm"]) for point in points):
        found = [point for point in points if (point["table"], point["arm"]) == (table, arm)]
        row: dict[str, Any] = {"table": table, "arm": arm, "seeds": len(found)}
        for key, value in found[0].items():
            if isinstance(value, dict):
                mean = {name: float(np.mean([point[key][name] for point in found])) for name in value}
                mean["epsilon_at_least"] = max(point[key]["epsilon_at_least"] for point in found)
                row[key] = mean
            elif "accuracy" in key:
                row[key] = float(np.mean([point[key] for point in found]))
        rows.append(row)
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Run what is missing, save after every point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small, to try the code")
    parser.add_argument("--out", type=Path, help="the JSON; points in it are not run again")
    options = parser.parse_args(arguments)
    sizes = Sizes(rows=60, test=200, dimension=200, shadows=4, steps=100, seeds=1) if options.quick else Sizes()
    out = options.out or (OUT.with_name("models_protect_quick.json") if options.quick else OUT)
    points = {point["name"]: point for point in json.loads(out.read_text())["points"]} if out.exists() else {}
    wanted = [(table, arm, seed) for seed in range(sizes.seeds) for table in TABLES for arm in ARMS]
    for table, arm, seed in track(wanted, console=Console(stderr=True), description="protections"):
        name = f"{table}|{arm}|{seed}"
        if name not in points:
            started = time.perf_counter()
            found = TABLES[table](arm, seed, sizes)
            seconds = time.perf_counter() - started
            points[name] = {"name": name, "table": table, "arm": arm, "seed": seed, **found, "seconds": seconds}
            _write(out, list(points.values()))
    _write(out, list(points.values()))
    sys.stdout.write(f"{len(points)} points in {out}\n")


def _write(out: Path, points: list[dict[str, Any]]) -> None:
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "epsilon": EPSILON,
        "delta": DELTA,
        "rows": summarize(points),
        "points": points,
    }
    with write_atomically(out, force=True) as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
