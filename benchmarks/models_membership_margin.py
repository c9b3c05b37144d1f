"""Membership at the margin and reconstruction: two-layer networks on 20 points of Section 4's distributions.

    python -m benchmarks.models_membership_margin            # all cells; goes on where it stopped, writes the page
    python -m benchmarks.models_membership_margin --quick    # two small cells, to try the code

For each distribution and dimension, networks are trained to the margin from independent draws, each attacked with its
20 training points and 1,000 fresh ones; the scores of all networks of a cell are pooled. Results go to
``results/models_membership_margin.json`` and ``.svg``, tables from it into ``docs/models_margin.md``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import describe_machine
from papers.margin_membership.theory import GaussianMixture, PointSource, Sphere, interpolate_labels
from papers.margin_membership.theory.orthogonal import BoundedMargin, measure_orthogonality
from tacit.leak import FixedThreshold, Leak, leak_from_scores
from tacit.models.attacks.margin import KnownMargin
from tacit.models.attacks.membership import measure_membership
from tacit.models.attacks.reconstruction import measure_similarity, reconstruct_points
from tacit.models.attacks.span import find_span
from tacit.models.margin.certificate import kkt
from tacit.models.margin.coverage import bound_outputs, effective_dimension, judge_coverage
from tacit.models.margin.fit import MarginFit, fit_margin
from tacit.privacy.files import write_atomically

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "models_membership_margin.json"
PAGE = ROOT / "docs" / "models_margin.md"
COMMAND = "python -m benchmarks.models_membership_margin"

POINTS, DIMENSIONS = 20, (20, 50, 100, 200, 1000)
PROVED_AT = (200, 300, 400, 500, 700, 1000, 10_000, 30_000, 40_000)
CANDIDATES = 100  # fresh points that stand beside the training points where ties tell the margin

Vector = NDArray[np.float64]


def _tilted(dimension: int) -> GaussianMixture:
    return GaussianMixture(means=np.full((1, dimension), dimension**-0.25))


SOURCES: dict[str, Callable[[int], PointSource]] = {
    "sphere": lambda d: Sphere(dimension=d),
    "N(mu, I), |mu| = d^(1/4)": _tilted,
    "+-mu, |mu| = d^0.35": lambda d: GaussianMixture.opposed(dimension=d, norm=d**0.35),
    "four Gaussians, |mu| = 2.15 d^(1/4)": lambda d: GaussianMixture.crossed(dimension=d, norm=2.15 * d**0.25),
}
"""2.15 d^(1/4) is where Appendix C's first condition |mu|^2 >= n^0.51 sqrt(d) begins for n = 20."""

ATTACKS = {
    "near": "near the margin",
    "near_gradient": "near the margin, gradient-trained",
    "size": "large output",
    "ties": "near the margin that ties tell",
    "span": "span of the weights, gradient-trained",
    "loss": "low loss",
    "linear": "linear interpolator, near 1",
    "linear_loss": "linear interpolator, low loss",
}


@dataclass(frozen=True, slots=True)
class Size:
    """How much is computed."""

    networks: int
    fresh: int
    width: int
    steps: int
    starts: int
    search_steps: int


FULL = Size(networks=6, fresh=1000, width=100, steps=1500, starts=4, search_steps=1000)
QUICK = Size(networks=2, fresh=200, width=20, steps=200, starts=2, search_steps=20)


def measure_cell(name: str, dimension: int, *, size: Size) -> dict[str, Any]:
    """Train the networks of one cell, attack them, and pool the scores."""
    began = time.process_time()
    rng = np.random.default_rng([*name.encode(), dimension])
    source = SOURCES[name](dimension)
    seen = [_one_network(source, size=size, rng=rng) for _ in range(size.networks)]
    pooled = {key: [np.concatenate([one["scores"][key][k] for one in seen]) for k in (0, 1)] for key in ATTACKS}
    attacks = {key: _summary(measure_membership(*pooled[key], rng=rng)) for key in ATTACKS}
    facts = {key: float(np.mean([one[key] for one in seen])) for key in seen[0] if key not in ("scores", "coverage")}
    coverage = [one["coverage"] for one in seen]
    return facts | {
        "source": name,
        "dimension": dimension,
        "networks": size.networks,
        "coverage": {word: coverage.count(word) for word in sorted(set(coverage))},
        "attacks": attacks,
        "seconds": time.process_time() - began,
    }


def _one_network(source: PointSource, *, size: Size, rng: np.random.Generator) -> dict[str, Any]:
    X, y = source.draw(POINTS, rng=rng)
    while len(np.unique(y)) < 2:
        X, y = source.draw(POINTS, rng=rng)
    fresh, labels = source.draw(size.fresh, rng=rng)
    fit = fit_margin(X, y, width=size.width, rng=rng, steps=size.steps)
    outputs = fit.best(fresh)
    return {
        "scores": _scores(fit, X, y, fresh, labels),
        "coverage": str(judge_coverage(X, y, fresh=fresh)),
        "effective_dimension": effective_dimension(X),
        "accuracy": np.mean(labels * outputs > 0),  # an output of 0, all neurons off, is wrong
        "on_margin": np.mean(np.abs(fit.best(X)) < 1.001),
        "below_margin": np.mean(np.abs(outputs) < 1),
        "residual_gradient": fit.certificate.residual,
        "residual_polished": kkt(fit.best, X, y).residual,
        "rank": find_span(fit.network).rank,
    }


def _scores(fit: MarginFit, X: Vector, y: Vector, fresh: Vector, labels: Vector) -> dict[str, tuple[Vector, Vector]]:
    """Return scores of training points and of fresh points for every attack."""
    inside, outside = fit.best(X), fit.best(fresh)
    ties = KnownMargin.from_ties(np.concatenate([inside, outside[:CANDIDATES]]))
    span, linear = find_span(fit.network), interpolate_labels(X, y)

    def by(rule: KnownMargin, members: Vector, nonmembers: Vector) -> tuple[Vector, Vector]:
        return rule.score(members), rule.score(nonmembers)

    known = KnownMargin(margin=1.0)
    return {
        "near": by(known, inside, outside),
        "near_gradient": by(known, fit.network(X), fit.network(fresh)),
        "size": by(BoundedMargin(least=0.8), inside, outside),
        "ties": by(ties, inside, outside),
        "span": (span.score(X), span.score(fresh)),
        "loss": (y * inside, labels * outside),
        "linear": by(known, linear(X), linear(fresh)),
        "linear_loss": (y * linear(X), labels * linear(fresh)),
    }


def _summary(leak: Leak) -> dict[str, Any]:
    assert leak.roc is not None
    point = leak.roc.at_0_1_percent
    return {
        "auc": leak.roc.auc,
        "tpr": point.tpr,
        "tpr_interval": [point.interval.low, point.interval.high],
        "advantage": leak.advantage,
        "advantage_interval": [leak.advantage_interval.low, leak.advantage_interval.high],
    }


SEARCHES: dict[str, dict[str, Any]] = {
    "stationarity alone (Haim et al.)": {"margin_weight": 0.0, "radius": None},
    "and the margin": {"margin_weight": 0.1, "radius": None},
    "and the margin, norm of the points known": {"margin_weight": 0.1, "radius": 10**0.5},
}


def measure_reconstruction(name: str, *, size: Size) -> dict[str, Any]:
    """Reconstruct 6 points in 10 dimensions from the weights of gradient-trained networks."""
    began = time.process_time()
    source = Sphere(dimension=10)
    distances, away, residuals, spreads = [], [], [], []
    for network in range(size.networks // 2):
        rng = np.random.default_rng([17, network])  # the same networks for every search
        X, y = source.draw(6, rng=rng)
        y[:3], y[3:] = 1.0, -1.0
        fit = fit_margin(X, y, width=size.width // 2, rng=rng, steps=2 * size.steps, polish=False)
        found = reconstruct_points(
            fit.network, points=6, rng=rng, starts=size.starts, steps=size.search_steps, **SEARCHES[name]
        )
        similarity = measure_similarity(found.points, X, fresh=source.draw(size.fresh, rng=rng)[0])
        distances.append(similarity.distances)
        away.append(similarity.fresh_distances)
        residuals.append(found.residual)
        spreads.append(found.spread)
    leak = leak_from_scores(-np.concatenate(distances), -np.concatenate(away), threshold=FixedThreshold(-0.5))
    return {
        "search": name,
        "networks": size.networks // 2,
        "distance": float(np.mean(distances)),
        "fresh_distance": float(np.mean(away)),
        "residual": float(np.mean(residuals)),
        "spread": float(np.mean(spreads)),
        "within_half": leak.rate,
        "fresh_within_half": leak.baseline,
        "advantage_interval": [leak.advantage_interval.low, leak.advantage_interval.high],
        "seconds": time.process_time() - began,
    }


def measure_proofs(dimension: int, *, draws: int) -> dict[str, Any]:
    """Count the draws of 20 points on the sphere that are proved to lie on the margin, whatever the network."""
    began = time.process_time()
    rng = np.random.default_rng([23, dimension])
    drawn = [Sphere(dimension=dimension).draw(POINTS, rng=rng) for _ in range(draws)]
    return {
        "dimension": dimension,
        "draws": draws,
        "corrected": sum(measure_orthogonality(X).holds for X, _ in drawn),
        "with_labels": sum(bound_outputs(X, y).holds for X, y in drawn),
        "seconds": time.process_time() - began,
    }


def tables(document: dict[str, Any]) -> dict[str, str]:
    """Return the page's tables by the name of their place."""
    cells, found = document["cells"].values(), document["reconstruction"].values()
    measured = f"\nMeasured {document['date']} on {document['machine']['cores']} cores by `{COMMAND}`.\n"
    return {
        "proofs": _proofs_table(list(document["proofs"].values())) + measured,
        "networks": _networks_table(list(cells)) + measured,
        "rates": _attacks_table(list(cells), lambda seen: f"{seen['tpr']:.3f}, {seen['auc']:.4f}") + measured,
        "advantages": _attacks_table(list(cells), _advantage) + measured,
        "reconstruction": _reconstruction_table(list(found)) + measured,
    }


def _proofs_table(rows: list[dict[str, Any]]) -> str:
    lines = ["| d | Theorem 4.2, corrected | labels and all inner products |", "| ---: | ---: | ---: |"]
    lines += [
        f"| {row['dimension']:,} | {row['corrected']} of {row['draws']} | {row['with_labels']} of {row['draws']} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _networks_table(cells: list[dict[str, Any]]) -> str:
    lines = [
        "| points | d | effective d | right on fresh points | members at the margin | fresh below it | "
        "directions of the weights | coverage |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for cell in cells:
        words = ", ".join(f"{word} {count}" for word, count in cell["coverage"].items())
        lines.append(
            f"| {_named(cell)} | {cell['dimension']} | {cell['effective_dimension']:.0f} | {cell['accuracy']:.1%} | "
            f"{cell['on_margin']:.1%} | {cell['below_margin']:.2%} | {cell['rank']:.1f} | {words} |"
        )
    return "\n".join(lines) + "\n"


def _attacks_table(cells: list[dict[str, Any]], shown: Callable[[dict[str, Any]], str]) -> str:
    """One row a cell, one column an attack."""
    lines = ["| points | d | " + " | ".join(ATTACKS.values()) + " |", "| --- |" + " ---: |" * (1 + len(ATTACKS))]
    for cell in cells:
        values = " | ".join(shown(cell["attacks"][key]) for key in ATTACKS)
        lines.append(f"| {_named(cell)} | {cell['dimension']} | {values} |")
    return "\n".join(lines) + "\n"


def _named(cell: dict[str, Any]) -> str:
    return str(cell["source"]).replace("|", "\\|")  # else it would end the table's cell


def _reconstruction_table(found: list[dict[str, Any]]) -> str:
    lines = [
        "| search | residual | distance to a training point | to a fresh point | training points within 0.5 | "
        "fresh points within 0.5 | starts apart |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['search']} | {row['residual']:.3f} | {row['distance']:.2f} | {row['fresh_distance']:.2f} | "
        f"{row['within_half']:.1%} | {row['fresh_within_half']:.1%} | {row['spread']:.2f} |"
        for row in found
    ]
    return "\n".join(lines) + "\n"


def draw(document: dict[str, Any], path: Path) -> None:
    """Draw the true-positive rate at 0.1% false positives against the dimension, a panel a distribution."""
    mpl.rcParams["svg.hashsalt"] = "tacit"
    names = list(dict.fromkeys(cell["source"] for cell in document["cells"].values()))
    figure, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 4.5), sharey=True, layout="constrained")
    for axis, name in zip(np.atleast_1d(axes), names, strict=True):
        cells = [cell for cell in document["cells"].values() if cell["source"] == name]
        for (key, words), style in zip(
            ATTACKS.items(), ("-o", "--o", "-s", ":^", "-v", "-x", ":+", "--x"), strict=True
        ):
            rates = [cell["attacks"][key]["tpr"] for cell in cells]
            axis.plot([cell["dimension"] for cell in cells], rates, style, label=words, markersize=4)
        axis.set(title=name, xscale="log", xlabel="dimension")
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set_ylabel("TPR at 0.1% FPR")
    figure.legend(*np.atleast_1d(axes)[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _advantage(seen: dict[str, Any]) -> str:
    low, high = seen["advantage_interval"]
    return f"{seen['advantage']:.3f} ({low:.2f} to {high:.2f})"


def write_page(document: dict[str, Any], page: Path) -> None:
    """Put the tables between their marks on the page."""
    text = page.read_text(encoding="utf-8")
    for place, table in tables(document).items():
        begin, end = (f"<!-- models_membership_margin {place}: {word} -->" for word in ("begin", "end"))
        head, mark, rest = text.partition(begin)
        if mark:
            text = head + begin + "\n\n" + table + "\n" + end + rest.partition(end)[2]
    with write_atomically(page, force=True) as file:
        file.write(text.encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, write the page, return the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two small cells; the page is left alone")
    parser.add_argument("--restart", action="store_true", help="measure again what an earlier run left")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file")
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else FULL
    names = [(name, d) for name in SOURCES for d in DIMENSIONS]
    searches = list(SEARCHES)
    if options.quick:
        names, searches = [("sphere", 50), ("+-mu, |mu| = d^0.35", 200)], searches[1:2]
    document = _load(options.out, size=size, restart=options.restart)
    console = Console(stderr=True)
    for name, d in track(names, description="networks", console=console):
        if (key := f"{name}|{d}") not in document["cells"]:
            document["cells"][key] = measure_cell(name, d, size=size)
            _save(options.out, document)
    for d in PROVED_AT[:2] if options.quick else PROVED_AT:
        if str(d) not in document["proofs"]:
            document["proofs"][str(d)] = measure_proofs(d, draws=2 if options.quick else 50)
            _save(options.out, document)
    for name in track(searches, description="reconstructions", console=console):
        if name not in document["reconstruction"]:
            document["reconstruction"][name] = measure_reconstruction(name, size=size)
            _save(options.out, document)
    draw(document, options.out.with_suffix(".svg"))
    if not options.quick and options.out == RESULTS:
        write_page(document, PAGE)
    seconds = sum(part["seconds"] for kind in ("cells", "proofs", "reconstruction") for part in document[kind].values())
    print(f"{len(document['cells'])} cells, {seconds:.0f} s of computation: {options.out}")
    return 0


def _load(path: Path, *, size: Size, restart: bool) -> dict[str, Any]:
    settings = {name: getattr(size, name) for name in Size.__slots__}
    document: dict[str, Any] = {} if restart or not path.exists() else json.loads(path.read_text(encoding="utf-8"))
    if document.get("settings") != settings:
        document = {"settings": settings, "points": POINTS, "cells": {}, "reconstruction": {}}
    document.setdefault("proofs", {})
    return document


def _save(path: Path, document: dict[str, Any]) -> None:
    document |= {"date": datetime.now(UTC).date().isoformat(), "machine": describe_machine()}
    with write_atomically(path, force=True) as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
