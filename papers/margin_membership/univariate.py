"""Reconstruction of training points from networks of one feature: exact, polished and gradient-trained ones.

200 sets: n uniform in 4..20, x standard normal, drawn again until no two points are closer than 1e-3, labels fair coin
flips, drawn again until both occur. The margin is known (1), as in the paper; for exact networks it is also found. All
sets have an exact network; the first 50 are also trained by `fit_margin`. Writes Figure 2 as a picture too.

    python -m papers.margin_membership.univariate            # all sets; resumes
    python -m papers.margin_membership.univariate --quick    # three sets, to try the code
    python -m papers.margin_membership.univariate --table    # writes the tables of docs/models_univariate.md
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
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
from papers.margin_membership.theory.univariate import move_breakpoint
from tacit.leak import clopper_pearson
from tacit.models.attacks.univariate.black_box import probe_function
from tacit.models.attacks.univariate.candidates import build_candidates
from tacit.models.attacks.univariate.function import to_piecewise_linear
from tacit.models.attacks.univariate.reconstruction import UnivariateReconstruction, reconstruct_univariate
from tacit.models.margin.certificate import kkt
from tacit.models.margin.fit import NotSeparated, fit_margin
from tacit.models.margin.univariate import fit_least_norm
from tacit.models.network import TwoLayerReLU
from tacit.privacy.files import write_atomically

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"
PAGE = Path(__file__).parents[2] / "docs" / "models_univariate.md"
SETS, TRAINED = 200, 50
WIDTH, STEPS, SCALE = 200, 4000, 1.0
FRESH = 1000
# y Phi(x) <= 1 + slack is on the margin; a point found within distance * (1 + |x|) of it is that point
KINDS = {"exact": (1e-6, 1e-6), "polished": (1e-4, 1e-3), "gradient": (0.02, 0.05)}

Floats = NDArray[np.float64]


def draw_set(index: int) -> tuple[Floats, Floats, np.random.Generator]:
    """Return the points and labels of one set, and the generator that goes on from there."""
    rng = np.random.default_rng([2024, index])
    n = int(rng.integers(4, 21))
    while True:
        x = np.sort(rng.normal(size=n))
        if np.diff(x).min() >= 1e-3:
            break
    while True:
        y = rng.choice([-1.0, 1.0], size=n)
        if abs(y.sum()) < n:
            return x, y, rng


def score(found: UnivariateReconstruction, network: TwoLayerReLU, x: Floats, y: Floats, *, kind: str) -> dict[str, Any]:
    """Count what was found; of two found points near the same training point only one is right."""
    slack, distance = KINDS[kind]
    on = y * network(x[:, None]) <= 1 + slack
    near = (np.abs(found.points[:, None] - x) <= distance * (1 + np.abs(x))) & (found.labels[:, None] == y)
    hit = near.any(axis=0)
    candidates = found.candidates
    hits = (np.abs(candidates.points[:, None] - x) <= distance * (1 + np.abs(x))).any(axis=1)
    return {
        "on_margin": int(on.sum()),
        "found": len(found.points),
        "right": int(hit.sum()),
        "recalled": int((hit & on).sum()),
        "enough": candidates.enough,
        "windows": len(candidates.windows),
        "candidates": len(candidates.points),
        "candidates_right": int(hits.sum()),
        "residual": found.residual,
        "trusted": found.trusted,
    }


def chance(x: Floats, y: Floats, *, kind: str, rng: np.random.Generator) -> int:
    """Return how many of FRESH normal points with coin-flip labels would count as right."""
    _, distance = KINDS[kind]
    points, labels = rng.normal(size=FRESH), rng.choice([-1.0, 1.0], size=FRESH)
    near = (np.abs(points[:, None] - x) <= distance * (1 + np.abs(x))) & (labels[:, None] == y)
    return int(near.any(axis=1).sum())


def run_exact(index: int) -> dict[str, Any]:
    """Attack the network of least norm: with its margin, without it, and through its outputs alone."""
    x, y, rng = draw_set(index)
    start = time.process_time()
    fit = fit_least_norm(x, y)
    fitted = time.process_time()
    found = reconstruct_univariate(fit.network, margin=1.0)
    attacked = time.process_time()
    unknown = reconstruct_univariate(fit.network)
    probed = probe_function(lambda at: fit.network(at[:, None]), low=-10.0, high=10.0)
    seen = build_candidates(probed.function, tolerance=1e-6)
    known = build_candidates(to_piecewise_linear(fit.network), tolerance=1e-8)
    same = len(seen.points) == len(known.points) and np.allclose(seen.points, known.points, atol=1e-6)
    on = y * fit.network(x[:, None]) <= 1 + KINDS["exact"][0]  # no other point may have a multiplier
    without = score(unknown, fit.network, x, y, kind="exact")
    return {
        "n": len(x),
        "gap": fit.gap,
        "certificate": kkt(fit.network, x[on, None], y[on]).residual,
        "breakpoints": len(to_piecewise_linear(fit.network).breakpoints),
        "chance": chance(x, y, kind="exact", rng=rng),
        **score(found, fit.network, x, y, kind="exact"),
        "unknown": {key: without[key] for key in ("found", "right", "recalled", "trusted")}
        | {"unique": not len(unknown.other_margins)},
        "black_box": {"queries": probed.queries, "same": bool(same), "unresolved": len(probed.unresolved)},
        "seconds": {"fit": fitted - start, "attack": attacked - fitted},
    }


def run_trained(index: int) -> dict[str, Any]:
    """Attack the gradient-trained network and the polished one, if training separates the set."""
    x, y, rng = draw_set(index)
    start = time.process_time()
    try:
        fit = fit_margin(x[:, None], y, width=WIDTH, rng=rng, steps=STEPS, initial_scale=SCALE)
    except NotSeparated:
        return {"n": len(x), "separated": False, "seconds": time.process_time() - start}
    assert fit.polished is not None
    assert fit.polished_certificate is not None
    result: dict[str, Any] = {"n": len(x), "separated": True}
    for kind, network, certificate in (
        ("gradient", fit.network, fit.certificate),
        ("polished", fit.polished, fit.polished_certificate),
    ):
        found = reconstruct_univariate(network, margin=1.0)
        result[kind] = score(found, network, x, y, kind=kind) | {
            "certificate": certificate.residual,
            "slackness": certificate.slackness,
            "chance": chance(x, y, kind=kind, rng=rng),
        }
    return result | {"seconds": time.process_time() - start}


def ratio(part: int, whole: int) -> str:
    """Return a share with its 95% Clopper-Pearson interval."""
    if not whole:
        return "-"
    interval = clopper_pearson(part, whole)
    return f"{part / whole:.3f} ({interval.low:.3f} to {interval.high:.3f}; {part} of {whole})"


def total(rows: Sequence[dict[str, Any]], key: str) -> int:
    """Return the sum of a count over sets."""
    return int(sum(row[key] for row in rows))


def median(values: Sequence[float]) -> float:
    """Return the median, or NaN of nothing."""
    return float(np.median(values)) if values else float("nan")


def summarize(document: dict[str, Any]) -> str:
    """Return the tables as Markdown."""
    exact = [row for key, row in document["sets"].items() if key.startswith("exact")]
    trained = [row for key, row in document["sets"].items() if key.startswith("trained")]
    separated = [row for row in trained if row["separated"]]
    kinds = {
        "exact": exact,
        "polished": [row["polished"] for row in separated],
        "gradient-trained": [row["gradient"] for row in separated],
    }
    close = [row for row in kinds["gradient-trained"] if row["residual"] <= 0.1]
    kinds["gradient-trained, residual found at most 0.1"] = close
    lines = [
        f"{document['date']}, {document['machine']['processor']}, {document['machine']['cores']} cores; "
        f"{document['seconds'] / 60:.1f} minutes of one core in all.",
        "",
        "| networks | sets | precision | recall of margin points | chance | median residual | trusted, and all right |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, rows in kinds.items():
        good = [row for row in rows if row["trusted"]]
        right = sum(row["right"] == row["found"] and row["recalled"] == row["on_margin"] for row in good)
        lines.append(
            f"| {name} | {len(rows)} | {ratio(total(rows, 'right'), total(rows, 'found'))} | "
            f"{ratio(total(rows, 'recalled'), total(rows, 'on_margin'))} | "
            f"{total(rows, 'chance') / max(1, FRESH * len(rows)):.4f} | "
            f"{median([row['residual'] for row in rows]):.1e} | {len(good)}, {right} |"
        )
    lines += [
        "",
        "| candidates of Algorithm 1, disjoint windows | sets with a candidate | fewer than 3 breakpoints | "
        "no window | least share of training points | share over all |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, rows in kinds.items():
        some = [row for row in rows if row["candidates"]]
        few = sum(not row["enough"] for row in rows)
        least = min((row["candidates_right"] / row["candidates"] for row in some), default=float("nan"))
        share = total(some, "candidates_right") / max(1, total(some, "candidates"))
        lines.append(f"| {name} | {len(some)} | {few} | {len(rows) - len(some) - few} | {least:.3f} | {share:.3f} |")
    unknown = [row["unknown"] for row in exact]
    trusted = [row for row in exact if row["unknown"]["trusted"]]
    sure = sum(row["unknown"]["right"] == row["unknown"]["found"] == row["on_margin"] for row in trusted)
    box = [row["black_box"] for row in exact]
    lines += [
        "",
        f"- Exact networks: largest duality gap {max(row['gap'] for row in exact):.1e}; largest stationarity residual "
        f"{max(row['residual'] for row in exact):.1e} on the points found, "
        f"{max(row['certificate'] for row in exact):.1e} by `kkt` on the training points on the margin; "
        f"{np.mean([row['seconds']['fit'] for row in exact]):.2f} s a fit, "
        f"{np.mean([row['seconds']['attack'] for row in exact]):.2f} s an attack.",
        f"- Margin not given: {sum(row['unique'] for row in unknown)} of {len(unknown)} networks have one margin that "
        f"explains the weights; precision {ratio(total(unknown, 'right'), total(unknown, 'found'))}, "
        f"{len(trusted)} trusted, of them {sure} all right.",
        f"- Outputs alone, asked for between -10 and 10: the same candidates for {sum(row['same'] for row in box)} of "
        f"{len(box)} networks (the others break beyond), "
        f"with {np.median([row['queries'] for row in box]):.0f} values asked for (median).",
        f"- `fit_margin` (width {WIDTH}, {STEPS} steps, first norm {SCALE:g}) separated {len(separated)} of "
        f"{len(trained)} sets (median n {median([row['n'] for row in separated]):.0f} of them, "
        f"{median([row['n'] for row in trained]):.0f} of all); the rest have no margin to attack.",
    ]
    return "\n".join(lines)


def write_page(document: dict[str, Any], page: Path) -> None:
    """Replace what stands between the markers."""
    if document["quick"]:
        raise SystemExit("a quick run's numbers do not belong on the page")
    pattern = r"(<!-- models_univariate: begin -->\n).*?(<!-- models_univariate: end -->)"
    text, count = re.subn(
        pattern, lambda found: f"{found[1]}{summarize(document)}\n{found[2]}", page.read_text("utf-8"), flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"the page must have the markers once, it has them {count} times")
    with write_atomically(page, force=True) as file:
        file.write(text.encode())


def draw_figure_2(path: Path) -> None:
    """Draw a step whose breakpoints are no training points, and a network of smaller norm with the same outputs.

    The norms go into a JSON file beside the picture.
    """
    mpl.rcParams["svg.hashsalt"] = "tacit"
    step = TwoLayerReLU(  # the last neuron is a shift, so that the step is from -1 to 1
        weights=np.array([[1.0], [1.0], [-1.0], [0.0]]),
        biases=np.array([4.0, -1.0, -1.0, 1.0]),
        outputs=np.array([1.0, -1.0, 1.0, -4.0]),
    )
    deltas = np.linspace(-0.9, 0.45, 271)
    family = [move_breakpoint(step, fixed=1, moved=2, whole=0, delta=delta) for delta in deltas]
    norms = np.array([network.squared_norm for network in family])
    better = family[int(np.argmin(norms))]
    x, at = np.array([-3.4, -2.6, 1.6, 3.0]), np.linspace(-3.9, 4, 400)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    left.axhline(1, color="0.8", linewidth=0.8)
    left.axhline(-1, color="0.8", linewidth=0.8)
    before = float(np.interp(0, deltas, norms))
    left.plot(at, step(at[:, None]), color="#1f5aa6", label=f"breakpoints at -1 and 1: squared norm {before:.2f}")
    left.plot(
        at, better(at[:, None]), ":", color="#c0562b", linewidth=2, label=f"one moved: squared norm {norms.min():.2f}"
    )
    left.plot(x, step(x[:, None]), "o", color="black", markersize=5, label="training points")
    left.set_xlabel("x")
    left.set_ylabel("Phi(x)")
    left.legend(fontsize=8)
    right.plot(deltas, norms, color="#1f5aa6")
    right.plot(0, before, "o", color="#1f5aa6")
    right.plot(deltas[np.argmin(norms)], norms.min(), "o", color="#c0562b")
    right.set_xlabel("delta")
    right.set_ylabel("squared norm of the balanced network")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    norm = {"before": before, "after": float(norms.min())}
    with write_atomically(path.with_suffix(".json"), force=True) as file:
        file.write(json.dumps({"date": datetime.now(UTC).date().isoformat(), "squared_norm": norm}).encode() + b"\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is missing, draw, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m papers.margin_membership.univariate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three sets, one of them trained")
    parser.add_argument("--table", action="store_true", help="only write the page's tables from what was kept")
    parser.add_argument("--restart", action="store_true", help="compute again what an earlier run left")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the JSON and the picture")
    options = parser.parse_args(arguments)
    path = options.out / ("models_univariate_quick.json" if options.quick else "models_univariate.json")
    if options.table:
        write_page(json.loads(path.read_text(encoding="utf-8")), PAGE)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    kept = {} if options.restart or not path.exists() else json.loads(path.read_text(encoding="utf-8"))
    sets, seconds = kept.get("sets", {}), kept.get("seconds", 0.0)
    todo = [("exact", i) for i in range(3 if options.quick else SETS)]
    todo += [("trained", i) for i in range(1 if options.quick else TRAINED)]
    for kind, index in track(todo, description="sets", console=Console(stderr=True)):
        if f"{kind} {index}" not in sets:
            start = time.process_time()
            sets[f"{kind} {index}"] = run_exact(index) if kind == "exact" else run_trained(index)
            seconds += time.process_time() - start
            save(path, sets, seconds=seconds, quick=options.quick)
    draw_figure_2(options.out / "models_figure2.svg")
    print(summarize(json.loads(path.read_text(encoding="utf-8"))))
    return 0


def save(path: Path, sets: dict[str, Any], *, seconds: float, quick: bool) -> None:
    """Write what was measured, with the date and the machine."""
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "quick": quick,
        "seconds": seconds,
        "sets": sets,
    }
    text = re.sub(r"\n {3,}|\n  (?=\})", " ", json.dumps(document, indent=1))
    with write_atomically(path, force=True) as file:
        file.write(text.encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
