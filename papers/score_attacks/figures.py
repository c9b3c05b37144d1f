"""Figures 1, 2 and 3 of "Reconstructing Test Labels from Noisy Loss Scores": the protocol, run again.

LABELINF is the paper's exhaustive search on the paper's prediction vectors, computed in float64 as printed: Theorem 3
with k = 1..K, and with k = 0..K-1 as labels count. Digit decoding is tacit's. Noise is uniform in (-tau, tau). The
figures' values are not in the paper's text, so the results are compared with its words: see docs/scores_figures.md.

    python -m papers.score_attacks.figures            # all points, 1,000 label sets each; resumes
    python -m papers.score_attacks.figures --quick    # a few points, to try the code
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
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
from papers.score_attacks.separation import Digits
from tacit.data import iris, satellite, titanic
from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import write_atomically
from tacit.scores.attacks.answers import HostAnswers
from tacit.scores.attacks.channel import LossChannel
from tacit.scores.attacks.digits import DigitDesign
from tacit.scores.losses import FLOAT64, ClippedCrossEntropy, InvertibleLoss, SigmoidCrossEntropy, SoftmaxCrossEntropy
from tacit.scores.policies import Bounded

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"
SETS = 1000
SEARCH = 1 << 21  # labelings that an exhaustive search goes through at most
MOST_ROWS = 60  # digit decoding goes no further in Figures 1 and 2
TAUS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
TAUS_MANY = (1e-4, 1e-2, 1.0)
DATA = {"Titanic": titanic, "Iris": iris, "Satellite": satellite}

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Design = Callable[[int, int, int, float], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One point of a figure: how labels are asked for, from which score, under which noise."""

    figure: str
    data: str
    method: str
    tau: float
    asked: int = 0

    @property
    def name(self) -> str:
        """Return what the point is known by in the results."""
        return "|".join(str(value) for value in asdict(self).values())


def exponents(asked: int, classes: int, rows: int, tau: float, *, first: int = 1) -> Floats:
    """Return 2^((n-1)K+k) N tau for n = 1..M and k counted from ``first``."""
    return np.array([[math.ldexp(rows * tau, n * classes + k + first) for k in range(classes)] for n in range(asked)])


def theorem_3(asked: int, classes: int, rows: int, tau: float, *, first: int = 1) -> Floats:
    """Row losses of theta_nk in proportion to 3^(2^((n-1)K+k) N tau)."""
    weights = np.power(3.0, exponents(asked, classes, rows, tau, first=first))
    losses: Floats = -np.log(weights / weights.sum(axis=1, keepdims=True))
    return losses


def theorem_3_from_zero(asked: int, classes: int, rows: int, tau: float) -> Floats:
    """Row losses of Theorem 3 with k = 0..K-1: the gap is tau ln 3, not 2 tau ln 3."""
    return theorem_3(asked, classes, rows, tau, first=0)


def theorem_14(asked: int, classes: int, rows: int, tau: float) -> Floats:
    """Row losses of theta_i = x/(1 + x), x = 3^(2^i N tau): Titanic** of Figure 1."""
    assert classes == 2
    x = np.power(3.0, [math.ldexp(rows * tau, i + 1) for i in range(asked)])
    theta = x / (1 + x)
    losses: Floats = -np.log(np.stack([1 - theta, theta], axis=1))
    return losses


def softmax_of_theta(asked: int, classes: int, rows: int, tau: float) -> Floats:
    """Row losses of logits ln theta (Appendix J), softmax taken again."""
    weights = np.exp(-theorem_3(asked, classes, rows, tau))
    losses: Floats = -np.log(weights / weights.sum(axis=1, keepdims=True))
    return losses


def sigmoid_of_theta(asked: int, classes: int, rows: int, tau: float) -> Floats:
    """Row losses of logits ln(theta/(1 - theta)) (Appendix B), sigmoid taken again."""
    theta = np.exp(-theorem_3(asked, classes, rows, tau)[:, 1])
    theta = 1 / (1 + np.exp(-np.log(theta / (1 - theta))))
    losses: Floats = -np.log(np.stack([1 - theta, theta], axis=1))
    return losses


def stable_logits(asked: int, classes: int, rows: int, tau: float) -> Floats:
    """Row losses of Theorem 3's logits themselves, in the stable form that torch computes."""
    return SoftmaxCrossEntropy(classes=classes).row_losses(exponents(asked, classes, rows, tau) * math.log(3))


DESIGNS: dict[str, Design] = {
    "Theorem 3": theorem_3,
    "Theorem 3, k from 0": theorem_3_from_zero,
    "Theorem 14": theorem_14,
    "softmax": softmax_of_theta,
    "softmax, stable logits": stable_logits,
    "sigmoid": sigmoid_of_theta,
    "sigmoid, stable logits": stable_logits,
}
LOSSES: dict[str, Callable[[int], InvertibleLoss]] = {
    "digits": lambda classes: ClippedCrossEntropy(classes=classes),
    "digits on logits": lambda classes: SoftmaxCrossEntropy(classes=classes),
    "digits on a logit": lambda _: SigmoidCrossEntropy(),
}


def label_inf(losses: Floats, truth: Labels, *, rows: int, noise: Floats) -> Labels | None:
    """Return, for each label set, the labeling whose score is nearest to the noisy one, of all K^M; None if NaN.

    The other ``rows - M`` rows are neutral: their losses are known.
    """
    asked, classes = losses.shape
    known = (rows - asked) * math.log(classes)
    with np.errstate(invalid="ignore"):
        totals = np.zeros(1)
        for row in losses:
            totals = (totals[:, None] + row[None, :]).ravel()
        scores = (totals + known) / rows
        answers = (losses[np.arange(asked), truth].sum(axis=1) + known) / rows + noise
    if np.isnan(scores).any():
        return None
    order = np.argsort(scores)
    nearest = order[_nearest(scores[order], answers)]
    return np.stack(np.unravel_index(nearest, (classes,) * asked), axis=1).astype(np.int64)


def _nearest(ascending: Floats, wanted: Floats) -> Labels:
    right = np.searchsorted(ascending, wanted).clip(1, len(ascending) - 1) if len(ascending) > 1 else 0
    with np.errstate(invalid="ignore"):
        left_is_nearer = wanted - ascending[right - 1] <= ascending[right] - wanted
    return np.asarray(np.where(left_is_nearer, right - 1, right))


def read_digits(losses: Floats, truth: Labels, *, noise: Floats) -> Labels:
    """Return the labels read from the largest loss difference down, in O(N) a label set."""
    rows, classes = losses.shape
    weights = losses[:, 1] - losses[:, 0]
    left = (losses[np.arange(rows), truth].sum(axis=1) / rows + noise) * rows - losses[:, 0].sum()
    found = np.zeros_like(truth)
    for i in reversed(range(rows)):
        found[:, i] = np.floor((left + weights[0] / 2) / weights[i]).clip(0, classes - 1)
        left -= found[:, i] * weights[i]
    return found


def largest_length(task: Task, labels: Labels, *, sets: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the largest N up to which every label set is recovered by all of its labels, and by half of them."""
    classes = int(labels.max()) + 1
    result: dict[str, Any] = {"all": 0, "half": 0, "stopped by": "accuracy"}
    whole = True
    for rows in range(1, MOST_ROWS + 1):
        truth = np.stack([rng.choice(labels, size=rows, replace=False) for _ in range(sets)])
        noise = task.tau * rng.uniform(-1, 1, size=sets)
        if task.method in DESIGNS and classes**rows > SEARCH:
            return result | {"stopped by": f"search over {SEARCH} labelings"}
        found = _recover(task, classes, truth, noise)
        if found is None:
            return result | {"stopped by": "range of float64"}
        shares = (found == truth).mean(axis=1)
        whole &= bool(shares.min() == 1)
        if shares.min() < 0.5:
            return result
        result |= {"half": rows} | ({"all": rows} if whole else {})
    return result | {"stopped by": f"{MOST_ROWS} rows"}


def _recover(task: Task, classes: int, truth: Labels, noise: Floats) -> Labels | None:
    rows = truth.shape[1]
    if task.method in DESIGNS:
        with np.errstate(all="ignore"):
            losses = DESIGNS[task.method](rows, classes, rows, task.tau)
        return label_inf(losses, truth, rows=rows, noise=noise)
    loss = LOSSES[task.method](classes)
    try:
        predictions = Digits().predictions(loss, rows, asked=rows, tau=task.tau, precision=FLOAT64)
    except InvalidInput:
        return None
    return read_digits(loss.row_losses(predictions), truth, noise=noise)


def many_queries(task: Task, labels: Labels, *, sets: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the share of labels that blocks of M rows recover, scored over the block and over the whole set."""
    classes, asked = int(labels.max()) + 1, task.asked
    blocks = len(labels) // asked
    shares: dict[str, float | None] = {}
    for reading, rows in (("block", asked), ("whole set", len(labels))):
        right = total = 0
        with np.errstate(all="ignore"):
            losses = DESIGNS[task.method](asked, classes, rows, task.tau)
        for _ in range(-(-sets // blocks)):
            truth = rng.permutation(labels)[: blocks * asked].reshape(blocks, asked)
            found = label_inf(losses, truth, rows=rows, noise=task.tau * rng.uniform(-1, 1, size=blocks))
            if found is None:
                break
            right, total = right + int((found == truth).sum()), total + truth.size
        shares[reading] = right / total if total else None
    return {"queries": -(-len(labels) // asked), "share": shares}


def digits_on_whole_set(task: Task, labels: Labels, *, sets: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the number of queries of tacit's attack on the whole set, and the share it recovers."""
    loss = ClippedCrossEntropy(classes=int(labels.max()) + 1)
    answers = HostAnswers(policy=Bounded(tau=task.tau))
    design = DigitDesign(channel=LossChannel(loss=loss, rows=len(labels), answers=answers), settle=False)
    try:
        per_query = design.lengths[0]
    except InvalidInput:
        return {"queries": None, "share": 0.0}
    right = total = 0
    while total < sets * per_query:
        truth = rng.permutation(labels)
        found = _attack(design, truth, noise=lambda: task.tau * float(rng.uniform(-1, 1)))
        right, total = right + int((found == truth).sum()), total + len(truth)
    return {"queries": design.queries, "share": right / total}


def _attack(design: DigitDesign, truth: Labels, *, noise: Callable[[], float]) -> Labels:
    steps = design.steps()
    query = next(steps)
    while True:
        try:
            query = steps.send(float(design.channel.loss.score(truth, query.predictions)) + noise())
        except StopIteration as end:
            return np.asarray(end.value)


def tasks(*, quick: bool) -> Iterator[Task]:
    """Yield every point of the figures."""
    taus = (1e-2, 1.0) if quick else TAUS
    for tau in taus:
        for data in ("Titanic", "Iris") if quick else DATA:
            for method in ("Theorem 3", "digits", "softmax", "softmax, stable logits", "digits on logits"):
                yield Task(figure="1", data=data, method=method, tau=tau)
        yield Task(figure="1", data="Titanic", method="Theorem 14", tau=tau)
        for method in ("sigmoid", "sigmoid, stable logits", "digits on a logit"):
            yield Task(figure="2", data="Titanic", method=method, tau=tau)
    for tau in (1e-2,) if quick else TAUS_MANY:
        for data in ("Titanic",) if quick else DATA:
            most = {"Titanic": 14, "Iris": 9, "Satellite": 5}[data]
            yield Task(figure="3", data=data, method="digits", tau=tau)
            for asked in range(1, (3 if quick else most) + 1):
                for method in ("Theorem 3", "Theorem 3, k from 0", "softmax"):
                    yield Task(figure="3", data=data, method=method, tau=tau, asked=asked)
                if data == "Titanic":
                    yield Task(figure="2", data=data, method="sigmoid", tau=tau, asked=asked)


def run_task(task: Task, *, sets: int) -> dict[str, Any]:
    """Compute one point; its random draws depend on the point alone, so a resumed run equals an unbroken one."""
    rng = np.random.default_rng(list(task.name.encode()))
    start = time.perf_counter()
    labels = DATA[task.data]().codes
    compute = many_queries if task.asked else digits_on_whole_set if task.figure == "3" else largest_length
    return asdict(task) | compute(task, labels, sets=sets, rng=rng) | {"seconds": time.perf_counter() - start}


def draw(points: list[dict[str, Any]], path: Path) -> None:
    """Draw all panels into one SVG file."""
    mpl.rcParams["svg.hashsalt"] = "tacit"
    figure, axes = plt.subplots(2, 3, figsize=(15, 8.5), layout="constrained")
    _draw_lengths(axes[0, 0], points, key="all", methods=("Theorem 3", "Theorem 14", "digits"))
    _draw_lengths(axes[0, 1], points, key="half", methods=("Theorem 3", "Theorem 14", "digits"))
    _draw_lengths(axes[0, 2], points, key="half", methods=("softmax", "softmax, stable logits", "digits on logits"))
    _draw_lengths(axes[1, 0], points, key="half", methods=("sigmoid", "sigmoid, stable logits", "digits on a logit"))
    _draw_shares(axes[1, 1], points, method="sigmoid")
    _draw_shares(axes[1, 2], points, method="Theorem 3")
    titles = (
        "1(a) cross-entropy: N recovered whole, always",
        "1(b) cross-entropy: N with half the labels right, always",
        "1(c) softmax cross-entropy: N with half right, always",
        "2(a) sigmoid cross-entropy: N with half right, always",
        "2(b) sigmoid cross-entropy, Titanic: share of labels right",
        "3 cross-entropy: share of labels right",
    )
    for axis, title in zip(axes.flat, titles, strict=True):
        axis.set_title(title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, ncols=2)
    figure.supxlabel(
        "Share 0: float64 cannot hold the predictions. 21, 13 and 8 labels: the search's limit; 60: the run's. "
        "Shares are scored over the block asked about; stars: digits, scored over the whole set.",
        fontsize=9,
    )
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


COLORS = {"Titanic": "#1f5aa6", "Iris": "#c0562b", "Satellite": "#3c7d4a"}
STYLES = ("-o", ":s", "--^")


def _draw_lengths(axis: Any, points: list[dict[str, Any]], *, key: str, methods: tuple[str, ...]) -> None:
    for data, color in COLORS.items():
        for method, style in zip(methods, STYLES, strict=True):
            chosen = [p for p in points if (p["data"], p["method"]) == (data, method) and key in p]
            if chosen:
                line = sorted((p["tau"], p[key]) for p in chosen)
                axis.plot(*zip(*line, strict=True), style, color=color, label=f"{data}, {method}", markersize=4)
    axis.set_xscale("log")
    axis.set_ylim(0, 1.5 * axis.get_ylim()[1])  # room for the legend
    axis.set_xlabel("noise tau")
    axis.set_ylabel("labels in one query")


def _draw_shares(axis: Any, points: list[dict[str, Any]], *, method: str) -> None:
    marks = dict(zip(TAUS_MANY, ("-o", "--s", ":^"), strict=True))
    for data, color in COLORS.items():
        for tau, style in marks.items():
            wanted = (data, method, tau)
            chosen = [p for p in points if (p["data"], p["method"], p["tau"]) == wanted and p["asked"]]
            line = sorted((p["queries"], p["share"]["block"] or 0.0) for p in chosen)
            if line:
                axis.plot(*zip(*line, strict=True), style, color=color, label=f"{data}, tau {tau:g}", markersize=4)
    for point in points:
        if method == "Theorem 3" and (point["figure"], point["method"]) == ("3", "digits") and point["queries"]:
            axis.plot(point["queries"], 1.04 * point["share"], "*", color=COLORS[point["data"]], markersize=8)
    axis.set_xscale("log")
    axis.set_xlabel("queries")
    axis.set_ylabel("share of labels right")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is missing, draw, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m papers.score_attacks.figures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few points of 50 label sets; nothing is kept")
    parser.add_argument("--restart", action="store_true", help="compute again what an earlier run left")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the JSON and the plot")
    options = parser.parse_args(arguments)
    sets = 50 if options.quick else SETS
    path = options.out / ("scores_figures_quick.json" if options.quick else "scores_figures.json")
    options.out.mkdir(parents=True, exist_ok=True)
    done = {} if options.restart else _load(path, sets=sets)
    todo = list(tasks(quick=options.quick))
    for task in track(todo, description="points", console=Console(stderr=True)):
        if task.name not in done:
            done[task.name] = run_task(task, sets=sets)
            _save(path, done, sets=sets)
    points = [done[task.name] for task in todo]
    _save(path, {task.name: done[task.name] for task in todo}, sets=sets)
    draw(points, path.with_suffix(".svg"))
    seconds = sum(point["seconds"] for point in points)
    print(f"{len(points)} points, {seconds:.0f} s of computation: {path}, {path.with_suffix('.svg')}")
    return 0


def _load(path: Path, *, sets: int) -> dict[str, dict[str, Any]]:
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return document["points"] if document.get("sets") == sets else {}


def _save(path: Path, points: dict[str, dict[str, Any]], *, sets: int) -> None:
    date = datetime.now(UTC).date().isoformat()
    document = {"date": date, "machine": describe_machine(), "sets": sets, "search": SEARCH, "points": points}
    with write_atomically(path, force=True) as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
