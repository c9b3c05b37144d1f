"""Figure 1 of "Provable Privacy Attacks on Trained Shallow Neural Networks", and what its attack finds.

20 points uniform on sqrt(d) S^(d-1) with fair coin flips as labels, a two-layer network trained to its margin m:
(a) the share of training points on the margin (within 1%), (b) the share of 5,000 fresh points on or above it, (c) the
median of |Phi| / m of training and fresh points. Then, over all draws together, membership by |Phi| / m (known
margin), by nearness | |Phi| / m - 1 |, by the loss (the label is known too), and the first two against the linear
interpolator of least squares. Draws that no network separated within the steps are counted apart.

    python -m papers.margin_membership.figure1             # width 1,000, 20 draws: five minutes on two free cores
    python -m papers.margin_membership.figure1 --quick     # a few small networks
    python papers/margin_membership/figure1.py --device cuda --full --out DIR    # the paper's size, on one GPU
    python -m papers.margin_membership.figure1 --draw      # SVG and tables from the JSON files, no training

Each run resumes: a dimension already in the JSON file with the same settings is not trained again. Training needs only
NumPy and PyTorch, so that it runs where tacit itself is not installed; drawing needs tacit.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs" / "models_learn.md"
BEGIN, END = "<!-- models_figure1: begin -->", "<!-- models_figure1: end -->"
DIMENSIONS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
ATTACKED = (20, 50, 100, 200, 1000)
ON_MARGIN = 0.01  # a training point this near the margin, relatively, is on it
FPR = 0.001

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The size of a run; what resumes only what has the same one."""

    width: int
    draws: int
    tests: int
    steps: int
    hard_steps: int
    points: int = 20
    initial_scale: float = 1e-3
    seed: int = 4

    def steps_at(self, dimension: int) -> int:
        """Return the steps; a few dimensions need more of them to separate coin flips."""
        return self.hard_steps if dimension <= 5 else self.steps


FULL = Plan(width=10_000, draws=50, tests=5_000, steps=4_000, hard_steps=40_000)
REDUCED = Plan(width=1_000, draws=20, tests=5_000, steps=1_000, hard_steps=2_000)
QUICK = Plan(width=50, draws=2, tests=200, steps=300, hard_steps=300)


def load(name: str) -> ModuleType:
    """Load a module of ``tacit.models.margin`` by its file: it imports nothing of tacit."""
    path = ROOT / "src" / "tacit" / "models" / "margin" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"figure1_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def on_sphere(rng: np.random.Generator, count: int, dimension: int) -> Matrix:
    """Draw uniformly from sqrt(d) S^(d-1), with a 1 appended for the bias."""
    x = rng.standard_normal((count, dimension))
    x *= np.sqrt(dimension) / np.linalg.norm(x, axis=1, keepdims=True)
    return np.column_stack([x, np.ones(count)])


def run_dimension(plan: Plan, dimension: int, *, device: str) -> dict[str, Any]:
    """Train the networks of all draws at once and look at their outputs; draws depend on the dimension alone."""
    begun, begun_cpu = time.perf_counter(), time.process_time()
    rngs = [np.random.default_rng([plan.seed, dimension, draw]) for draw in range(plan.draws)]
    points = np.stack([on_sphere(rng, plan.points, dimension) for rng in rngs])
    signs = np.stack([rng.choice([-1.0, 1.0], size=plan.points) for rng in rngs])
    train, labels = torch.from_numpy(points).to(device), torch.from_numpy(signs).to(device)
    neurons, outputs = starts(plan, dimension, rngs, device=device)
    basis = torch.linalg.qr(train.mT)[0]
    first = torch.bmm(neurons, basis)
    gradient = load("gradient")
    found = gradient.ascend(
        torch.bmm(train, basis),
        labels,
        first,
        outputs,
        loss=gradient.ExponentialMarginLoss(),
        steps=plan.steps_at(dimension),
    )
    neurons.baddbmm_(found.neurons - first, basis.mT)
    trained = time.perf_counter() - begun
    margin = found.margins.amin(1)
    fresh = [on_sphere(rng, plan.tests, dimension) for rng in rngs]
    fresh_signs = np.stack([rng.choice([-1.0, 1.0], size=plan.tests) for rng in rngs])
    raw = np.stack([predict(x, w, v, device=device) for x, w, v in zip(fresh, neurons, found.outputs, strict=True)])
    margins, least = found.margins.cpu().numpy(), margin.cpu().numpy()[:, None]
    kept = least[:, 0] > 0
    result: dict[str, Any] = {
        "dimension": dimension,
        "separated": int(kept.sum()),
        "below_theorem": int((found.below_at >= 0).sum()),
        "seconds_training": trained,
    }
    if kept.any():
        inside, outside = (margins / least)[kept], (raw / least)[kept]
        result |= panels(inside, outside)
        result["attacks"] = attacks(inside, outside, fresh_signs[kept])
        linear = [linear_outputs(p, y, x) for p, y, x, k in zip(points, signs, fresh, kept, strict=True) if k]
        result["attacks"] |= linear_attacks(*(np.stack(part) for part in zip(*linear, strict=True)))
    taken = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - begun_cpu}
    return result | taken


def starts(
    plan: Plan, dimension: int, rngs: Sequence[np.random.Generator], *, device: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw the first networks as ``tacit.models.margin`` does: balanced, Gaussian, of norm ``initial_scale``."""
    neurons = torch.empty((plan.draws, plan.width, dimension + 1), dtype=torch.float64, device=device)
    outputs = torch.empty((plan.draws, plan.width), dtype=torch.float64, device=device)
    for k, rng in enumerate(rngs):
        drawn = rng.standard_normal((plan.width, dimension + 1))
        drawn *= plan.initial_scale / np.sqrt(2 * plan.width * (dimension + 1))
        neurons[k] = torch.from_numpy(drawn)
        outputs[k] = torch.from_numpy(np.linalg.norm(drawn, axis=1) * rng.choice([-1.0, 1.0], size=plan.width))
    return neurons, outputs


def predict(points: Matrix, neurons: torch.Tensor, outputs: torch.Tensor, *, device: str) -> Matrix:
    """Return Phi of each point."""
    hidden = torch.from_numpy(points).to(device) @ neurons.mT
    return np.asarray((hidden.clamp_(min=0) @ outputs).cpu().numpy())


def panels(inside: Matrix, outside: Matrix) -> dict[str, Any]:
    """Return the three panels: a mean and a standard error over draws of each."""
    sizes = np.abs(outside)
    return {
        "on_margin": spread((inside <= 1 + ON_MARGIN).mean(axis=1)),
        "on_margin_0.1%": spread((inside <= 1 + ON_MARGIN / 10).mean(axis=1)),
        "at_or_above": spread((sizes >= 1).mean(axis=1)),
        "under": spread((sizes < 1).mean(axis=1)),
        "train_median": spread(np.median(inside, axis=1)),
        "test_median": spread(np.median(sizes, axis=1)),
        "test_quantile_95": spread(np.quantile(sizes, 0.95, axis=1)),
    }


def spread(values: Matrix) -> dict[str, float]:
    """Return the mean and its standard error."""
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return {"mean": float(values.mean()), "error": error}


def attacks(inside: Matrix, outside: Matrix, fresh_signs: Matrix) -> dict[str, Any]:
    """Return what three scores tell; margins of members are y Phi / m already."""
    return {
        "network, known margin": measure(np.abs(inside), np.abs(outside)),
        "network, nearness": measure(-np.abs(np.abs(inside) - 1), -np.abs(np.abs(outside) - 1)),
        "network, loss": measure(inside, fresh_signs * outside),
    }


def linear_outputs(points: Matrix, signs: Matrix, fresh: Matrix) -> tuple[Matrix, Matrix]:
    """Return the outputs of the least-squares interpolator of least norm on members and fresh points."""
    weights = np.linalg.lstsq(points, signs)[0]
    return points @ weights, fresh @ weights


def linear_attacks(inside: Matrix, outside: Matrix) -> dict[str, Any]:
    """Return what the interpolator's outputs tell: its members are at +-1 once d + 1 >= n."""
    return {
        "linear, size": measure(np.abs(inside), np.abs(outside)),
        "linear, nearness": measure(-np.abs(np.abs(inside) - 1), -np.abs(np.abs(outside) - 1)),
    }


def measure(members: Matrix, nonmembers: Matrix) -> dict[str, Any]:
    """Return AUC, the true-positive rate at 0.1% false positives and the best threshold's advantage, with counts."""
    inside, outside = np.sort(members.ravel()), np.sort(nonmembers.ravel())
    ranks = np.searchsorted(outside, inside, "left") + np.searchsorted(outside, inside, "right")
    bar = outside[len(outside) - 1 - int(FPR * len(outside))]
    tpr = 1 - np.searchsorted(inside, inside, "left") / len(inside)  # at a threshold on each member's score
    fpr = 1 - np.searchsorted(outside, inside, "left") / len(outside)
    return {
        "auc": float(ranks.sum() / (2 * len(inside) * len(outside))),
        "found_at_0.1%": int((inside > bar).sum()),
        "members": len(inside),
        "nonmembers": len(outside),
        "advantage": float((tpr - fpr).max()),
    }


def run(plan: Plan, path: Path, dimensions: Iterable[int], *, device: str) -> dict[str, Any]:
    """Run what the file does not hold yet, and write it after each dimension."""
    document = read(path, plan) or {
        "date": datetime.now(UTC).date().isoformat(),
        "plan": asdict(plan),
        "machine": describe(device),
        "points": {},
    }
    for dimension in dimensions:
        if str(dimension) not in document["points"]:
            found = run_dimension(plan, dimension, device=device)
            document["points"][str(dimension)] = found
            write(path, document)
            print(f"d = {dimension}: {found['separated']} separated, {found['seconds']:.1f} s", file=sys.stderr)
    return document


def read(path: Path, plan: Plan) -> dict[str, Any] | None:
    """Return a file's points if they are of this plan."""
    if not path.exists():
        return None
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document if document["plan"] == asdict(plan) else None


def write(path: Path, document: dict[str, Any]) -> None:
    """Write the file whole; tacit's own writer is not to be had on a bare machine."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    os.replace(unfinished, path)


def describe(device: str) -> dict[str, Any]:
    """Return what the times depend on."""
    name = torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
    return {"device": name, "cores": os.cpu_count(), "python": platform.python_version(), "torch": torch.__version__}


def draw(folder: Path, docs: Path) -> None:
    """Write the plot and the tables of every results file in the folder."""
    text = []
    for name in ("models_figure1", "models_figure1_reduced"):
        path = folder / f"{name}.json"
        if path.exists():
            document = json.loads(path.read_text(encoding="utf-8"))
            plot(document, path.with_suffix(".svg"))
            text.append(table(document))
    page = docs.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    docs.write_text(before + BEGIN + "\n\n" + "\n\n".join(text) + "\n\n" + END + after, encoding="utf-8")


def plot(document: dict[str, Any], path: Path) -> None:
    """Draw the three panels."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tacit"
    from matplotlib import pyplot as plt

    points = separated(document)
    d = [point["dimension"] for point in points]
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.3), layout="constrained")
    curves = (
        ("(a) training points on the margin", {"within 1%": "on_margin", "within 0.1%": "on_margin_0.1%"}),
        ("(b) fresh points on or above the margin", {"share": "at_or_above"}),
        (
            "(c) |Phi| / m",
            {"training, median": "train_median", "fresh, median": "test_median", "fresh, 95%": "test_quantile_95"},
        ),
    )
    for axis, (title, lines) in zip(axes, curves, strict=True):
        for label, key in lines.items():
            mean, error = ([point[key][part] for point in points] for part in ("mean", "error"))
            axis.errorbar(d, mean, yerror(error), marker="o", markersize=4, capsize=2, label=label)
        axis.set_xscale("log")
        axis.set_title(title)
        axis.set_xlabel("dimension")
        axis.grid(alpha=0.3)
        axis.legend()
    axes[2].set_yscale("log")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def yerror(errors: Sequence[float]) -> list[float]:
    """Return two standard errors, none where there is one draw."""
    return [0.0 if np.isnan(error) else 2 * error for error in errors]


def separated(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the dimensions in which a network separated its points."""
    found = sorted(document["points"].values(), key=lambda point: point["dimension"])
    return [point for point in found if point["separated"]]


def table(document: dict[str, Any]) -> str:
    """Return the panels and the attacks as Markdown."""
    plan, machine = document["plan"], document["machine"]
    seconds, cpu = (sum(p.get(key, 0.0) for p in document["points"].values()) for key in ("seconds", "cpu_seconds"))
    shared = f" on a shared machine, {cpu:.0f} s of processor time" if cpu else ""
    lines = [
        f"Measured {document['date']}: width {plan['width']:,}, {plan['draws']} draws, {plan['tests']:,} fresh points, "
        f"{machine['device']}, {seconds:.0f} s in all{shared}. Standard errors over draws in brackets.",
        "",
        "| d | separated | on the margin (1%) | fresh under the margin | fresh, median of the size / m |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for point in separated(document):
        cells = [f"{point[key]['mean']:.3f} ({point[key]['error']:.3f})" for key in ("on_margin", "under")]
        cells += [f"{point['test_median']['mean']:.3f}"]
        share = f"{point['separated']} of {plan['draws']}"
        lines.append(f"| {point['dimension']} | {share} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "| d | attack | AUC | TPR at 0.1% FPR (95% interval) | advantage |",
        "| ---: | --- | ---: | ---: | ---: |",
    ]
    for point in separated(document):
        if point["dimension"] in ATTACKED:
            lines += [attack_row(point["dimension"], name, found) for name, found in point["attacks"].items()]
    return "\n".join(lines)


def attack_row(dimension: int, name: str, found: dict[str, Any]) -> str:
    """Return one row; the interval takes members as independent."""
    from tacit.leak.intervals import clopper_pearson

    right, members = found["found_at_0.1%"], found["members"]
    interval = clopper_pearson(right, members, level=0.95)
    tpr = f"{right / members:.3f} ({interval.low:.3f} to {interval.high:.3f})"
    return f"| {dimension} | {name} | {found['auc']:.4f} | {tpr} | {found['advantage']:.3f} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Figure 1 of paper 004, run again")
    parser.add_argument("--full", action="store_true", help="the paper's size: width 10,000, 50 draws")
    parser.add_argument("--quick", action="store_true", help="a few small networks")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file")
    parser.add_argument("--draw", action="store_true", help="no training: plots and tables from the JSON files")
    options = parser.parse_args(arguments)
    if options.draw:
        draw(options.out, DOCS)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    plan, name = (FULL, "models_figure1") if options.full else (REDUCED, "models_figure1_reduced")
    if options.quick:
        plan, name = QUICK, "models_figure1_quick"
    dimensions = (10, 100) if options.quick else DIMENSIONS[::-1]
    run(plan, options.out / f"{name}.json", dimensions, device=options.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
