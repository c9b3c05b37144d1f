"""Does a wider or a deeper CNN do worse under DP-SGD on MNIST? Paper 002, Appendix A.1: 26k against 52k parameters.

The paper says neither epsilon nor settings. The CNN of 26,010 parameters is the one of the DP-SGD tutorials; it is
widened to 13k, 52k and 104k, and deepened by 3 x 3 convolutions to 35k and 54k. Each is trained at epsilon 0.5, 1 and 3
(delta 1e-5, one record replaced) at three learning rates, and once without clipping and noise as the control.

Needs torch and NumPy only, so that it runs on a machine without the rest; the noise multipliers below come from
``tacit.models.training.accounting.find_noise`` (a test checks them). On a machine that has tacit and the data:

    python -m papers.private_fisher.dpsgd_width --export .cache/mnist.npz        # 11 MB, carried to the GPU

On the GPU, at most four minutes; what is missing is run by the same command once more:

    python papers/private_fisher/dpsgd_width.py --mnist .cache/mnist.npz --device cuda --minutes 4 --out width.json

Then, with that JSON as benchmarks/results/models_dpsgd_width.json,
``python -m papers.private_fisher.dpsgd_width --plot`` draws it, prints the table and writes it into
docs/models_protect.md. ``--quick`` runs a few small points on a CPU, to try the code.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"
PAGE = Path(__file__).parents[2] / "docs" / "models_protect.md"
BEGIN, END = "<!-- models_dpsgd_width: begin -->", "<!-- models_dpsgd_width: end -->"
ROWS, BATCH, STEPS, DELTA, CLIP, MOMENTUM = 60_000, 1024, 586, 1e-5, 1.0, 0.9
NOISE = {0.5: 5.824, 1.0: 3.0859, 3.0: 1.1934}
"""Noise multipliers of each epsilon at rate BATCH/ROWS and STEPS steps, rounded up."""
RATES = (0.1, 0.3, 1.0)
SEEDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A CNN: channels of the two convolutions, hidden units, 3 x 3 convolutions put between."""

    name: str
    channels: tuple[int, int]
    hidden: int
    extra: int = 0

    def build(self) -> nn.Sequential:
        """Return the module with fresh weights."""
        first, second = self.channels
        deeper = [layer for _ in range(self.extra) for layer in (nn.Conv2d(second, second, 3, padding=1), nn.ReLU())]
        return nn.Sequential(
            nn.Conv2d(1, first, 8, stride=2, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2, 1),
            nn.Conv2d(first, second, 4, stride=2),
            nn.ReLU(),
            *deeper,
            nn.MaxPool2d(2, 1),
            nn.Flatten(),
            nn.Linear(second * 16, self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, 10),
        )


SHAPES = (
    Shape(name="26k", channels=(16, 32), hidden=32),
    Shape(name="52k, wider", channels=(22, 46), hidden=46),
    Shape(name="54k, deeper", channels=(16, 32), hidden=32, extra=3),
    Shape(name="104k, wider", channels=(32, 65), hidden=65),
    Shape(name="13k, narrower", channels=(11, 23), hidden=22),
    Shape(name="35k, deeper", channels=(16, 32), hidden=32, extra=1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One training: shape, epsilon (None: no clipping, no noise), learning rate, seed."""

    shape: str
    epsilon: float | None
    rate: float
    seed: int

    @property
    def name(self) -> str:
        """Return what the point is known by in the results."""
        return "|".join(str(value) for value in asdict(self).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits:
    """MNIST on the device: images in [0, 1], centered by public numbers."""

    train: torch.Tensor
    labels: torch.Tensor
    test: torch.Tensor
    truth: torch.Tensor

    @classmethod
    def read(cls, path: Path, *, device: str, rows: int) -> Digits:
        """Read what ``--export`` wrote."""
        with np.load(path) as file:
            parts = {name: torch.from_numpy(file[name]).to(device) for name in file.files}

        def images(name: str) -> torch.Tensor:
            return (parts[name].float() / 255 - 0.5)[:, None]

        return cls(
            train=images("train")[:rows],
            labels=parts["labels"].long()[:rows],
            test=images("test"),
            truth=parts["truth"].long(),
        )


def clipped_sums(module: nn.Sequential, X: torch.Tensor, y: torch.Tensor, *, clip: float) -> list[torch.Tensor]:
    """Return, for each parameter, the sum over rows of the row's gradient scaled to a norm of at most ``clip``.

    A row's gradient of a layer is the product of the layer's input and of the loss's gradient at its output: both
    come from one pass for all rows. A convolution is a product of the patches it sees.
    """
    inputs, outputs = [], []
    value = X
    for layer in module:
        seen, value = value, layer(value)
        if isinstance(layer, nn.Conv2d | nn.Linear):
            if isinstance(layer, nn.Conv2d):
                assert not isinstance(layer.padding, str)
                seen = functional.unfold(seen, layer.kernel_size, padding=layer.padding, stride=layer.stride)
            else:
                seen = seen[:, :, None]
            inputs.append(seen.detach())
            outputs.append(value)
    loss = functional.cross_entropy(value, y, reduction="sum")
    slopes = [slope.reshape(*slope.shape[:2], -1) for slope in torch.autograd.grad(loss, outputs)]
    squares = reduce(torch.add, map(_squares, inputs, slopes))
    factors = (clip / (squares.sqrt() + 1e-6)).clamp(max=1.0) if math.isfinite(clip) else torch.ones_like(squares)
    sums = []
    layers = [layer for layer in module if isinstance(layer, nn.Conv2d | nn.Linear)]
    for layer, seen, slope in zip(layers, inputs, slopes, strict=True):
        scaled = slope * factors[:, None, None]
        flat = scaled.transpose(0, 1).reshape(scaled.shape[1], -1)  # outputs x (rows and places)
        sums.append((flat @ seen.transpose(1, 2).reshape(-1, seen.shape[1])).reshape(layer.weight.shape))
        sums.append(flat.sum(1))
    return sums


def _squares(seen: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Return the squared norm of each row's gradient of one layer, weight and bias."""
    return torch.bmm(slope, seen.transpose(1, 2)).square().sum((1, 2)) + slope.sum(2).square().sum(1)


def train(task: Task, digits: Digits, *, steps: int, batch: int) -> dict[str, Any]:
    """Return accuracy on the test images after all steps."""
    device = digits.train.device
    torch.manual_seed(1000 * task.seed + 7)
    draw = torch.Generator(device=device).manual_seed(task.seed)  # an experiment that repeats, not a release
    shape = next(one for one in SHAPES if one.name == task.shape)
    module = shape.build().to(device)
    parameters = list(module.parameters())
    optimizer = torch.optim.SGD(parameters, lr=task.rate, momentum=MOMENTUM)
    clip = math.inf if task.epsilon is None else CLIP
    deviation = 0.0 if task.epsilon is None else NOISE[task.epsilon] * CLIP
    started = time.perf_counter()
    for _ in range(steps):
        drawn = torch.rand(len(digits.train), device=device, generator=draw) < batch / len(digits.train)
        sums = clipped_sums(module, digits.train[drawn], digits.labels[drawn], clip=clip)
        flat = torch.cat([total.reshape(-1) for total in sums])
        flat += deviation * torch.randn(len(flat), device=device, generator=draw)
        for p, part in zip(parameters, torch.split(flat / batch, [p.numel() for p in parameters]), strict=True):
            p.grad = part.view_as(p)
        optimizer.step()
    with torch.no_grad():
        right = sum(
            int((module(digits.test[i : i + 2000]).argmax(1) == digits.truth[i : i + 2000]).sum())
            for i in range(0, len(digits.test), 2000)
        )
    return {
        **asdict(task),
        "parameters": sum(p.numel() for p in parameters),
        "accuracy": right / len(digits.test),
        "seconds": time.perf_counter() - started,
    }


def tasks(*, quick: bool) -> Iterator[Task]:
    """Return all points, seed by seed, so that a run cut short is balanced."""
    for seed in range(1 if quick else SEEDS):
        for shape in SHAPES[:3] if quick else SHAPES:
            for epsilon in (3.0, None) if quick else (3.0, 1.0, 0.5, None):
                for rate in (0.3,) if quick else RATES[:2] if epsilon is None else RATES:
                    yield Task(shape=shape.name, epsilon=epsilon, rate=rate, seed=seed)


def summarize(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean and deviation over seeds of each shape, epsilon and rate."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for point in points:
        groups.setdefault(tuple(point[key] for key in ("epsilon", "shape", "parameters", "rate")), []).append(point)
    rows = []
    for (epsilon, shape, parameters, rate), found in sorted(
        groups.items(), key=lambda g: (g[0][0] or math.inf, *g[0][1:])
    ):
        values = [point["accuracy"] for point in found]
        row = {"epsilon": epsilon, "shape": shape, "parameters": parameters, "rate": rate, "seeds": len(found)}
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        rows.append({**row, "accuracy": float(np.mean(values)), "deviation": deviation})
    return rows


def export(path: Path) -> None:
    """Write MNIST as one compressed file of arrays."""
    from benchmarks.data_sets import mnist

    train, test = mnist(), mnist(train=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path,
        train=train.images,
        labels=train.labels.astype(np.uint8),
        test=test.images,
        truth=test.labels.astype(np.uint8),
    )


def show(document: dict[str, Any]) -> str:
    """Return a Markdown table: accuracy of each shape at its best rate, and at the next rate above 26k's best."""
    groups: dict[tuple[Any, str], dict[float, dict[str, Any]]] = {}
    for row in document["rows"]:
        groups.setdefault((row["epsilon"], row["shape"]), {})[row["rate"]] = row
    lines = ["| epsilon | network | parameters | best rate | accuracy | too high a rate | accuracy there |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for (epsilon, shape), by_rate in sorted(groups.items(), key=lambda g: (g[0][0] or math.inf, _size(g[1]))):
        common = _best(groups[epsilon, "26k"])["rate"]
        high = min((rate for rate in by_rate if rate > common), default=common)
        best = _best(by_rate)
        seen, fixed = (f"{one['accuracy']:.2%} ± {one['deviation']:.2%}" for one in (best, by_rate[high]))
        size = f"{best['parameters']:,}"
        lines.append(f"| {epsilon or 'none'} | {shape} | {size} | {best['rate']} | {seen} | {high} | {fixed} |")
    return "\n".join(lines)


def write_page(document: dict[str, Any], page: Path) -> None:
    """Put the table between its markers on the page."""
    text = page.read_text()
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END)
    seeds = sorted({row["seeds"] for row in document["rows"]})
    measured = f"Measured {document['date']} on one {document['device']}; mean and deviation over {seeds[0]}"
    measured += f" to {seeds[-1]} seeds." if len(seeds) > 1 else " seeds."
    page.write_text(f"{text[:before]}\n\n{show(document)}\n\n{measured}\n\n{text[after:]}")


def _best(by_rate: dict[float, dict[str, Any]]) -> dict[str, Any]:
    return max(by_rate.values(), key=lambda row: row["accuracy"])


def _size(by_rate: dict[float, dict[str, Any]]) -> int:
    return int(next(iter(by_rate.values()))["parameters"])


def plot(document: dict[str, Any], path: Path) -> None:
    """Draw accuracy against parameters: one panel an epsilon, the best rate of each shape."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    epsilons = sorted({row["epsilon"] for row in document["rows"]}, key=lambda value: value or math.inf)
    figure, axes = plt.subplots(1, len(epsilons), figsize=(3.4 * len(epsilons), 3.4), layout="constrained")
    for axis, epsilon in zip(np.atleast_1d(axes), epsilons, strict=True):
        for kind in ("wid", "deep"):
            best: dict[int, dict[str, Any]] = {}
            for row in document["rows"]:
                other = {"wid": "deep", "deep": "w"}[kind]
                if row["epsilon"] == epsilon and other not in row["shape"].partition(",")[2]:
                    held = best.get(row["parameters"])
                    best[row["parameters"]] = row if held is None or row["accuracy"] > held["accuracy"] else held
            sizes = sorted(best)
            means, spreads = ([best[size][key] for size in sizes] for key in ("accuracy", "deviation"))
            axis.errorbar(sizes, means, spreads, marker="o", label="width" if kind == "wid" else "depth")
        axis.set(title="no privacy" if epsilon is None else f"epsilon {epsilon:g}", xlabel="parameters")
    np.atleast_1d(axes)[0].set_ylabel("test accuracy, best rate")
    np.atleast_1d(axes)[0].legend()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Run what is missing, save after every point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few small points, to try the code")
    parser.add_argument("--mnist", type=Path, default=Path(".cache/mnist.npz"), help="what --export wrote")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after the point that passes this")
    parser.add_argument("--out", type=Path, help="the JSON; points in it are not run again")
    parser.add_argument("--export", type=Path, metavar="FILE", help="write MNIST there and end")
    parser.add_argument("--plot", action="store_true", help="draw the JSON beside it, print a table, and end")
    options = parser.parse_args(arguments)
    out = options.out or FOLDER / f"models_dpsgd_width{'_quick' if options.quick else ''}.json"
    if options.export:
        export(options.export)
    elif options.plot:
        document = json.loads(out.read_text())
        document["rows"] = summarize(document["points"])
        _write(out, document)
        plot(document, out.with_suffix(".svg"))
        sys.stdout.write(show(document) + "\n")
        if not (options.out or options.quick):
            write_page(document, PAGE)
    else:
        run(out, options)


def run(out: Path, options: argparse.Namespace) -> None:
    """Train every missing point until the time is over."""
    points = {p["name"]: p for p in json.loads(out.read_text())["points"]} if out.exists() else {}
    rows, batch, steps = (400, 40, 5) if options.quick else (ROWS, BATCH, STEPS)
    digits = Digits.read(options.mnist, device=options.device, rows=rows)
    wanted = list(tasks(quick=options.quick))
    started = time.monotonic()
    for done, task in enumerate(wanted, start=1):
        if task.name in points:
            continue
        points[task.name] = {"name": task.name, **train(task, digits, steps=steps, batch=batch)}
        found = points[task.name]
        sys.stderr.write(f"{done}/{len(wanted)} {task.name}: {found['accuracy']:.4f} in {found['seconds']:.1f} s\n")
        _write(out, {**_header(options, rows, batch, steps), "points": list(points.values())})
        if time.monotonic() - started > 60 * options.minutes:
            break
    document = {**_header(options, rows, batch, steps), "rows": summarize(list(points.values()))}
    _write(out, {**document, "points": list(points.values())})
    sys.stdout.write(f"{len(points)} of {len(wanted)} points in {out}\n")


def _header(options: argparse.Namespace, rows: int, batch: int, steps: int) -> dict[str, Any]:
    on_gpu = options.device.startswith("cuda")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "device": torch.cuda.get_device_name() if on_gpu else platform.machine(),
        "libraries": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
        "settings": {
            "rows": rows,
            "batch": batch,
            "steps": steps,
            "delta": DELTA,
            "clip": CLIP,
            "momentum": MOMENTUM,
            "noise": NOISE,
            "neighbors": "one record replaced",
        },
    }


def _write(path: Path, document: dict[str, Any]) -> None:
    # tacit, which writes files whole, is not on the GPU's machine
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(json.dumps(document, indent=1) + "\n")
    os.replace(unfinished, path)


if __name__ == "__main__":
    main()
