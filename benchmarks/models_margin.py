"""KKT certificates of networks trained by gradients and of those polished from them.

n = 20 points uniform on sqrt(d) S^(d-1) with coin-flip labels, width 1,000, d = 100 and 1,000: relative stationarity
residual, slackness, norm, width, processor seconds, and the share of fresh points under the margin, each network apart.

    python -m benchmarks.models_margin            # about a minute on a free core; writes the table of the docs
    python -m benchmarks.models_margin --quick --out DIR
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import describe_machine
from tacit.models.margin.certificate import kkt
from tacit.models.margin.polish import polish_network
from tacit.models.margin.train import initial_network, train
from tacit.models.network import TwoLayerReLU
from tacit.privacy.files import write_atomically

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "docs" / "models_learn.md"
BEGIN, END = "<!-- models_margin: begin -->", "<!-- models_margin: end -->"
SEEDS = (0, 1, 2)
FRESH = 5_000

T = TypeVar("T")
Matrix = NDArray[np.float64]


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result and the processor seconds, which a busy machine does not change much."""
    begun = process_time()
    return work(), process_time() - begun


def on_sphere(rng: np.random.Generator, count: int, dimension: int) -> Matrix:
    """Draw uniformly from sqrt(d) S^(d-1)."""
    x = rng.standard_normal((count, dimension))
    return np.asarray(x * np.sqrt(dimension) / np.linalg.norm(x, axis=1, keepdims=True))


def case(dimension: int, seed: int, *, width: int, steps: int) -> list[dict[str, Any]]:
    """Train one network, polish it, and certify both; at tolerance 0 no kink is free."""
    rng = np.random.default_rng([dimension, seed])
    X, y = on_sphere(rng, 20, dimension), rng.choice([-1.0, 1.0], size=20)
    start = initial_network(width=width, dimension=dimension, scale=1e-3, rng=rng)
    (trained, _), seconds = timed(lambda: train(X, y, start, steps=steps))
    network = trained.scaled(1 / float((y * trained(X)).min()))
    polished, polish_seconds = timed(lambda: polish_network(network, X, y))
    fresh = on_sphere(rng, FRESH, dimension)
    return [
        {"dimension": dimension, "seed": seed, "network": name, "steps": steps, "seconds": taken}
        | certified(made, X, y, tolerance=tolerance)
        | {"fresh_under_margin": float((np.abs(made(fresh)) < (y * made(X)).min()).mean())}
        for name, made, taken, tolerances in (
            ("gradient-trained", network, seconds, (1e-7, 1e-3, 1e-2)),
            ("polished", polished, polish_seconds, (0.0, 1e-7)),
        )
        for tolerance in tolerances
    ]


def certified(network: TwoLayerReLU, X: Matrix, y: Matrix, *, tolerance: float) -> dict[str, Any]:
    """Return the certificate's numbers."""
    found, seconds = timed(lambda: kkt(network, X, y, tolerance=tolerance))
    return {
        "tolerance": tolerance,
        "residual": found.residual,
        "slackness": found.slackness,
        "largest_margin": found.largest_margin,
        "support": int(found.support.sum()),
        "kinks": found.kinks,
        "width": network.width,
        "squared_norm": network.squared_norm,
        "certificate_seconds": seconds,
    }


def table(document: dict[str, Any]) -> str:
    """Return the worst of the seeds as Markdown."""
    rows, machine = document["rows"], document["machine"]
    lines = [
        f"Measured {document['date']}, {machine['processor']}, {machine['cores']} shared cores; "
        f"{rows[0]['steps']} steps, the worst of {len({row['seed'] for row in rows})} seeds.",
        "",
        "| d | network | kinks at | residual | slackness | kinks | width | squared norm | fresh under m | CPU s |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    kinds = dict.fromkeys((row["dimension"], row["network"], row["tolerance"]) for row in rows)
    for dimension, network, tolerance in kinds:
        same = [r for r in rows if (r["dimension"], r["network"], r["tolerance"]) == (dimension, network, tolerance)]
        worst = {key: max(row[key] for row in same) for key in ("residual", "slackness", "kinks", "width", "seconds")}
        norm, under = max(row["squared_norm"] for row in same), min(row["fresh_under_margin"] for row in same)
        lines.append(
            f"| {dimension:,} | {network} | {tolerance:g} | {worst['residual']:.1e} | {worst['slackness']:.1e} "
            f"| {worst['kinks']:,} | {worst['width']:,} | {norm:.4f} | {under:.4f} | {worst['seconds']:.1f} |"
        )
    return "\n".join(lines)


def write_docs(text: str, docs: Path) -> None:
    """Put the table between its marks."""
    page = docs.read_text(encoding="utf-8")
    docs.write_text(page.split(BEGIN)[0] + BEGIN + "\n\n" + text + "\n\n" + END + page.split(END)[1], encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="KKT certificates of trained and polished networks")
    parser.add_argument("--quick", action="store_true", help="one small network")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file")
    options = parser.parse_args(arguments)
    cases = [(30, 0)] if options.quick else [(d, seed) for d in (100, 1000) for seed in SEEDS]
    width, steps = (50, 300) if options.quick else (1_000, 2_000)
    rows: list[dict[str, Any]] = []
    for dimension, seed in track(cases, description="certificates", console=Console(stderr=True)):
        rows += case(dimension, seed, width=width, steps=steps)
    date = datetime.now(UTC).date().isoformat()
    document = {"date": date, "quick": options.quick, "machine": describe_machine(), "rows": rows}
    options.out.mkdir(parents=True, exist_ok=True)
    with write_atomically(options.out / "models_margin.json", force=True) as file:
        file.write((json.dumps(document, indent=1) + "\n").encode())
    if options.out == RESULTS and not options.quick:
        write_docs(table(document), DOCS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
