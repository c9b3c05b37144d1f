"""Figure 3 of "Learning from Aggregated Data: Curated Bags versus Random Bags", run again on what is to be had.

(a) Test log loss as parts are added: networks from individual labels and from bag totals, and linear crosses.
(b) Test log loss against epsilon for several numbers of parts, with totals made consistent and without.
(c) Random bags against their size, beside curated bags of the same columns.

Criteo (10,000 rows in time order: the last fifth is the test set), Adult (its own split), TalkingData (100,000 rows in
time order, 227 positives: scale and imbalance) and a generated set of known truth. All columns are made categorical,
numeric ones by declared edges. The feature pairs were fixed without looking at labels.

    python -m papers.label_bags.figure3            # resumes; about half an hour of one core
    python -m papers.label_bags.figure3 --quick    # one set, few points
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import describe_machine
from benchmarks.data_sets import adult, criteo, talkingdata
from papers.label_bags.bags import curate, draw
from papers.label_bags.theory import ProportionLoss
from tacit.bags.learners import (
    MLP,
    AdditiveModel,
    BatchTraining,
    EasyLabels,
    FeatureCross,
    Lbfgs,
    RandomBagModel,
    UnbiasedObjective,
)
from tacit.bags.learners.random_bags import BagObjective
from tacit.bags.losses import LogisticLoss
from tacit.bags.mechanisms.consistency import make_consistent
from tacit.bags.mechanisms.noise import LaplaceTotalsNoise
from tacit.bags.partition import BagTotals, RandomBags
from tacit.leak.performance import ClassPerformance
from tacit.privacy.files import write_atomically

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
DOCS = Path(__file__).parents[2] / "docs" / "bags_learn.md"
BEGIN, END = "<!-- bags_figure3: begin -->", "<!-- bags_figure3: end -->"
PARTS = (1, 2, 4, 8)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SIZES = (2, 4, 16, 64)
NOISE_PARTS = (2, 4, 8)
REPEATS = 3
SINGLE = "single columns, totals"
STRENGTHS = (1e-4, 1e-3, 1e-2)
SOLVER = Lbfgs(tolerance=1e-6)
NETWORK = BatchTraining(epochs=5, batch_rows=512, rate=0.01, device="cpu")
BAG_OBJECTIVES: dict[str, BagObjective | EasyLabels] = {
    "proportions": ProportionLoss(),
    "soft labels": EasyLabels(),
    "unbiased risk": UnbiasedObjective(),
}

LIKE = (SINGLE, SINGLE, SINGLE, "network, totals")  # the curated model beside each method of panel (c)

Frame = pd.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One point of a panel."""

    panel: str
    data: str
    method: str
    parts: int = 8
    epsilon: float | None = None
    size: int | None = None
    repeat: int = 0

    @property
    def name(self) -> str:
        """Return what the point is known by in the results."""
        return "|".join(str(value) for value in asdict(self).values())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Training and test rows, pairs of columns in the order in which parts are added, true probabilities if known."""

    train: pa.Table
    test: pa.Table
    pairs: tuple[tuple[str, str], ...]
    truth: NDArray[np.float64] | None = None

    @property
    def columns(self) -> list[str]:
        """All columns of the pairs."""
        return sorted({name for pair in self.pairs for name in pair})


def bucketed(frame: Frame, edges: Mapping[str, Sequence[float]]) -> Frame:
    """Return the frame with numeric columns as the names of their half-open buckets, missing ones as such."""
    made = frame.copy()
    for name, cuts in edges.items():
        codes = np.searchsorted(np.asarray(cuts, dtype=float), frame[name].to_numpy(dtype=float), side="right")
        made[name] = np.where(frame[name].isna(), "missing", np.char.add("b", codes.astype(str)))
    return made.fillna("missing")


def split(frame: Frame, test: NDArray[np.bool_], pairs: Sequence[tuple[str, str]], **known: Any) -> Split:
    """Cut a frame into training and test tables."""
    columns = sorted({name for pair in pairs for name in pair})
    kept = frame[[*columns, "label"]].astype(dict.fromkeys(columns, str))
    tables = [pa.Table.from_pandas(kept[part], preserve_index=False) for part in (~test, test)]
    return Split(train=tables[0], test=tables[1], pairs=tuple(pairs), **known)


@cache
def criteo_rows() -> Split:
    """Criteo, the last fifth of the rows as the test set."""
    frame = criteo().table.to_pandas()
    doubling = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    frame = bucketed(frame, {f"I{i}": doubling for i in range(1, 14)})
    pairs = [
        ("C14", "C17"),
        ("I6", "C23"),
        ("I7", "I11"),
        ("C5", "C9"),
        ("I13", "C20"),
        ("I1", "C25"),
        ("C6", "C8"),
        ("I9", "C22"),
    ]
    return split(frame, np.arange(len(frame)) >= 8000, pairs)


@cache
def adult_rows() -> Split:
    """Adult, with its own test set."""
    frame = adult().table.to_pandas()
    frame["label"] = frame["income"].astype(str).str.startswith(">50K").astype(int)
    edges = {
        "age": list(range(20, 75, 5)),
        "hours_per_week": [20, 35, 40, 45, 60],
        "capital_gain": [1, 3000, 5000, 7000, 10000],
        "capital_loss": [1, 1500, 1700, 1900, 2200],
    }
    pairs = [
        ("workclass", "education"),
        ("age", "sex"),
        ("occupation", "hours_per_week"),
        ("marital_status", "race"),
        ("capital_gain", "capital_loss"),
        ("relationship", "native_country"),
        ("age", "education"),
        ("marital_status", "occupation"),
    ]
    return split(bucketed(frame, edges), (frame["split"] == "test").to_numpy(), pairs)


@cache
def talkingdata_rows() -> Split:
    """TalkingData, the last fifth in time as the test set."""
    frame = talkingdata().table.to_pandas().sort_values("click_time", kind="stable").reset_index(drop=True)
    frame["label"] = frame["is_attributed"].astype(int)
    frame["hour"] = pd.to_datetime(frame["click_time"]).dt.hour
    frame["block"] = frame["ip"] // 4096
    pairs = [
        ("app", "channel"),
        ("device", "os"),
        ("app", "os"),
        ("channel", "hour"),
        ("block", "device"),
        ("app", "device"),
        ("channel", "os"),
        ("app", "hour"),
    ]
    return split(frame, np.arange(len(frame)) >= 80_000, pairs)


@cache
def generated_rows(rows: int = 40_000, tested: int = 15_000) -> Split:
    """A Criteo-like set: heavy-tailed vocabularies, buckets, and a truth that is a sum over the eight pairs."""
    rng = np.random.default_rng(2023)
    sizes = {f"K{i}": (5, 10, 20, 40, 80, 160, 320, 640)[i] for i in range(8)} | {f"N{i}": 12 for i in range(8)}
    frame = Frame({name: np.minimum(rng.zipf(1.5, size=rows) - 1, size - 1) for name, size in sizes.items()})
    pairs = [(f"K{i}", f"N{i}") for i in range(8)]
    f = np.full(rows, -1.2)
    for k, n in pairs:
        table = rng.normal(scale=0.45, size=(sizes[k], sizes[n]))
        f += (table - table[0, 0])[frame[k], frame[n]]
    probability = 1 / (1 + np.exp(-f))
    frame["label"] = (rng.random(rows) < probability).astype(int)
    test = np.arange(rows) >= rows - tested
    return split(frame.astype(dict.fromkeys(sizes, str)), test, pairs, truth=probability[test])


SETS = {
    "Criteo": criteo_rows,
    "Adult": adult_rows,
    "TalkingData": talkingdata_rows,
    "generated": generated_rows,
}


def release_of(data: Split, *, parts: int, individual: bool = False) -> BagTotals:
    """Return exact totals by the first pairs; individual labels are the totals of bags of one row."""
    table = data.train
    if individual:
        table = table.append_column("row", pa.array(np.arange(table.num_rows)))
        columns = sorted({name for pair in data.pairs[:parts] for name in pair})
        return curate(table, by=[(*columns, "row")], label="label", loss=LogisticLoss())
    return curate(table, by=data.pairs[:parts], label="label", loss=LogisticLoss())


def additive(data: Split, release: BagTotals, *, parts: int, network: bool, seed: int) -> AdditiveModel:
    """Fit one part a pair; the seed is that of a network's weights and batches."""
    made = [MLP(pair) if network else FeatureCross(pair) for pair in data.pairs[:parts]]
    table = data.train
    if "row" in release.partitions[0].columns:
        table = table.append_column("row", pa.array(np.arange(table.num_rows)))
    return AdditiveModel(parts=made, solver=NETWORK if network else SOLVER, random_state=seed).fit(release, table)


def panel_a(task: Task, data: Split) -> dict[str, Any]:
    """Individual labels against totals, networks against crosses; and crosses of one column, as in panel (c)."""
    if task.method == SINGLE:
        alone = AdditiveModel(parts=[FeatureCross((name,)) for name in data.columns], solver=SOLVER)
        return scores(alone.fit(release_of(data, parts=task.parts), data.train), data)
    individual = task.method == "network, individual labels"
    release = release_of(data, parts=task.parts, individual=individual)
    made = additive(data, release, parts=task.parts, network="network" in task.method, seed=task.repeat)
    return scores(made, data)


def panel_b(task: Task, data: Split, rng: np.random.Generator) -> dict[str, Any]:
    """Noised totals, consistent or as they are."""
    assert task.epsilon is not None
    release = curate(
        data.train,
        by=data.pairs[: task.parts],
        label="label",
        loss=LogisticLoss(),
        noise=LaplaceTotalsNoise(epsilon=task.epsilon),
        rng=rng,
    )
    if "consistent" in task.method:
        release = make_consistent(release).release
    made = additive(data, release, parts=task.parts, network="network" in task.method, seed=task.repeat)
    return scores(made, data)


def panel_c(task: Task, data: Split, rng: np.random.Generator) -> dict[str, Any]:
    """Random bags: as many memberships as there are rows."""
    assert task.size is not None
    bags = data.train.num_rows // task.size
    release = draw(data.train, size=task.size, bags=bags, label="label", loss=LogisticLoss(), rng=rng)
    kind, _, objective = task.method.partition(", ")
    if kind == "network":
        model = RandomBagModel(
            BAG_OBJECTIVES[objective],
            hidden=(32,),
            l2=0.0,
            training=NETWORK,
            random_state=task.repeat,
            columns=data.columns,
            most_values=100,
        )
        return scores(model.fit(release, data.train), data)
    strength = best_strength(release, data, objective)
    model = RandomBagModel(BAG_OBJECTIVES[objective], l2=strength, columns=data.columns, steps=120)
    return scores(model.fit(release, data.train), data) | {"l2": strength}


def best_strength(release: BagTotals, data: Split, objective: str) -> float:
    """Return the penalty under which a fifth of the bags, held out, have the best proportion loss: no label is used."""
    bags = release.random
    assert bags is not None
    cut = max(2, len(bags) // 5)
    inside = RandomBags(rows=bags.rows[cut:], labels=bags.labels[cut:])
    fields = {name: getattr(release, name) for name in BagTotals.__slots__} | {"random": inside}
    losses = {}
    for l2 in STRENGTHS:
        model = RandomBagModel(BAG_OBJECTIVES[objective], l2=l2, columns=data.columns, steps=60)
        p = model.fit(BagTotals(**fields), data.train).predict_proba(data.train)[:, 1]
        means = np.clip(p[bags.rows[:cut]].mean(axis=1), 1e-6, 1 - 1e-6)
        a = bags.labels[:cut, 0]
        losses[l2] = -np.mean(a * np.log(means) + (1 - a) * np.log1p(-means))
    return min(losses, key=lambda l2: losses[l2])


def scores(model: AdditiveModel | RandomBagModel, data: Split) -> dict[str, Any]:
    """Return what the model is worth on the test rows."""
    result = model.evaluate(data.test, data.test["label"].to_numpy())
    assert isinstance(result, ClassPerformance)
    assert result.auc is not None
    return {
        "log_loss": result.log_loss.value,
        "auc": result.auc.value,
        "calibration_error": result.calibration_error,
    }


def reference(data: Split) -> dict[str, Any]:
    """Return the log loss of the training rate, and that of the truth where it is known."""
    y, rate = data.test["label"].to_numpy(), data.train["label"].to_numpy().mean()
    constant = -np.mean(np.where(y == 1, np.log(rate), np.log(1 - rate)))
    known = None if data.truth is None else -np.mean(np.where(y == 1, np.log(data.truth), np.log(1 - data.truth)))
    return {"constant": constant, "truth": known, "train": data.train.num_rows, "test": data.test.num_rows}


def tasks(*, quick: bool) -> Iterator[Task]:
    """Yield the points of all panels; crosses on exact totals have nothing random."""
    for data in ("generated",) if quick else SETS:
        yield Task(panel="reference", data=data, method="reference")
        repeats = 1 if quick else REPEATS
        for parts in (1,) if quick else PARTS:
            for method in ("network, individual labels", "network, totals"):
                yield from repeated(repeats, panel="a", data=data, method=method, parts=parts)
            yield Task(panel="a", data=data, method="crosses, totals", parts=parts)
        yield Task(panel="a", data=data, method=SINGLE)
        yield from noised(data, quick=quick)
        for size in (4,) if quick else SIZES:
            for method in (*(f"linear, {objective}" for objective in BAG_OBJECTIVES), "network, proportions"):
                yield from repeated(repeats, panel="c", data=data, method=method, size=size)


def noised(data: str, *, quick: bool) -> Iterator[Task]:
    """Yield the points of panel (b); sets beside Criteo have fewer."""
    draws = 1 if quick else REPEATS if data == "Criteo" else 2
    large = data == "TalkingData"
    for epsilon in (1.0,) if quick else EPSILONS if data == "Criteo" else EPSILONS[::2]:
        for parts in (2,) if quick else NOISE_PARTS[::2] if large else NOISE_PARTS:
            for method in ("crosses",) if large else ("crosses", "crosses, consistent"):
                yield from repeated(draws, panel="b", data=data, method=method, parts=parts, epsilon=epsilon)
        times, parts = (1, 2) if quick else (REPEATS, 8)
        yield from repeated(times, panel="b", data=data, method="network", parts=parts, epsilon=epsilon)


def repeated(times: int, **fields: Any) -> Iterator[Task]:
    """Yield a point once for each seed."""
    return (Task(**fields, repeat=repeat) for repeat in range(times))


def run_task(task: Task) -> dict[str, Any]:
    """Compute one point; its random draws depend on the point alone, so a resumed run equals an unbroken one."""
    # the method does not change the noise: with and without consistency it is the same
    epsilon, size = int(100 * (task.epsilon or 0)), task.size or 0
    rng = np.random.default_rng([len(task.data), task.parts, epsilon, size, task.repeat])
    data = SETS[task.data]()
    begun = time.perf_counter()
    if task.panel == "reference":
        found = reference(data)
    elif task.panel == "a":
        found = panel_a(task, data)
    else:
        found = (panel_b if task.panel == "b" else panel_c)(task, data, rng)
    return asdict(task) | found | {"seconds": time.perf_counter() - begun}


def chosen(points: Sequence[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    """Return the points that have these values."""
    return [point for point in points if all(point.get(key) == value for key, value in wanted.items())]


def mean_loss(points: Sequence[dict[str, Any]], **wanted: Any) -> float:
    """Return the mean log loss of the points that have these values; NaN where there is none."""
    found = [point["log_loss"] for point in chosen(points, **wanted)]
    return float(np.mean(found)) if found else float("nan")


def plot(points: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the three panels of every set into one SVG file."""
    mpl.rcParams["svg.hashsalt"] = "tacit"
    names = [name for name in SETS if chosen(points, data=name, panel="c")]
    figure, axes = plt.subplots(len(names), 3, figsize=(15, 4.3 * len(names)), layout="constrained", squeeze=False)
    for row, name in zip(axes, names, strict=True):
        base = chosen(points, data=name, panel="reference")[0]
        for axis in row:
            axis.axhline(base["constant"], color="#999999", linewidth=1, label="the rate alone")
            if base["truth"] is not None:
                axis.axhline(base["truth"], color="#222222", linewidth=1, linestyle=":", label="the truth")
        _plot_parts(row[0], points, name)
        _plot_noise(row[1], points, name)
        _plot_bags(row[2], points, name)
        row[0].set_ylabel(f"{name}: test log loss")
        losses = [point["log_loss"] for point in chosen(points, data=name) if "log_loss" in point]
        for axis in row:
            axis.set_ylim(min(losses) - 0.02 * base["constant"], min(max(losses), 1.4 * base["constant"]))
            axis.grid(alpha=0.3)
            axis.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _plot_parts(axis: Any, points: Sequence[dict[str, Any]], name: str) -> None:
    styles = {"network, individual labels": "-o", "network, totals": "--x", "crosses, totals": ":s"}
    for method, style in styles.items():
        found = chosen(points, panel="a", data=name, method=method)
        parts = sorted({p["parts"] for p in found})
        axis.plot(parts, [mean_loss(found, parts=k) for k in parts], style, label=method)
    axis.set_title("(a) parts, exact totals")
    axis.set_xlabel("parts")


def _plot_noise(axis: Any, points: Sequence[dict[str, Any]], name: str) -> None:
    found = chosen(points, panel="b", data=name)
    for method, style in (("crosses", "-"), ("crosses, consistent", "--"), ("network", ":")):
        for parts in sorted({p["parts"] for p in found if p["method"] == method}):
            epsilons = sorted({p["epsilon"] for p in found})
            losses = [mean_loss(found, method=method, parts=parts, epsilon=e) for e in epsilons]
            axis.plot(epsilons, losses, style, marker="o", markersize=3, label=f"{method}, {parts} parts")
    axis.set_xscale("log")
    axis.set_title("(b) noised totals")
    axis.set_xlabel("epsilon")


def _plot_bags(axis: Any, points: Sequence[dict[str, Any]], name: str) -> None:
    found = chosen(points, panel="c", data=name)
    for method in dict.fromkeys(p["method"] for p in found):
        sizes = sorted({p["size"] for p in found})
        losses = [mean_loss(found, method=method, size=size) for size in sizes]
        axis.plot(sizes, losses, marker="o", markersize=3, label=f"random, {method}")
    for method, style in (("network, totals", "--"), (SINGLE, ":")):
        best = mean_loss(points, panel="a", data=name, method=method, parts=max(PARTS))
        axis.axhline(best, linestyle=style, color="#3c7d4a", label=f"curated, {method}")
    axis.set_xscale("log", base=2)
    axis.set_title("(c) random bags")
    axis.set_xlabel("rows in a bag")


def tables(document: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    points = list(document["points"].values())
    machine = document["machine"]
    lines = [f"Measured {document['date']}, {machine['processor']}, {machine['cores']} shared cores.", ""]
    for name in SETS:
        base = chosen(points, panel="reference", data=name)
        if not base:
            continue
        truth = "" if base[0]["truth"] is None else f", of the true probabilities {base[0]['truth']:.4f}"
        lines += [
            f"#### {name}",
            "",
            f"{base[0]['train']:,} training rows, {base[0]['test']:,} test rows. Test log loss of the training rate "
            f"{base[0]['constant']:.4f}{truth}.",
            "",
        ]
        for table in (_table_a, _table_b, _table_c):
            lines += table(points, name)
    return "\n".join(lines)


def _table_a(points: Sequence[dict[str, Any]], name: str) -> list[str]:
    found = chosen(points, panel="a", data=name)
    methods = [m for m in dict.fromkeys(p["method"] for p in found) if m != SINGLE]
    rows = [
        [str(parts), *(f"{mean_loss(found, method=m, parts=parts):.4f}" for m in methods)]
        for parts in sorted({p["parts"] for p in found})
    ]
    return _markdown(["parts", *methods], rows)


def _table_b(points: Sequence[dict[str, Any]], name: str) -> list[str]:
    found = chosen(points, panel="b", data=name)
    if not found:
        return []
    kinds = sorted({(p["method"], p["parts"]) for p in found}, key=lambda kind: (kind[1], kind[0]))
    rows = [
        [f"{e:g}", *(f"{mean_loss(found, method=m, parts=parts, epsilon=e):.4f}" for m, parts in kinds)]
        for e in sorted({p["epsilon"] for p in found})
    ]
    return _markdown(["epsilon", *(f"{m}, {parts} parts" for m, parts in kinds)], rows)


def _table_c(points: Sequence[dict[str, Any]], name: str) -> list[str]:
    found = chosen(points, panel="c", data=name)
    if not found:
        return []
    methods = list(dict.fromkeys(p["method"] for p in found))
    rows = [
        [str(size), *(f"{mean_loss(found, method=m, size=size):.4f}" for m in methods)]
        for size in sorted({p["size"] for p in found})
    ]
    curated = [f"{mean_loss(points, panel='a', data=name, method=m, parts=max(PARTS)):.4f}" for m in LIKE]
    return _markdown(["rows in a random bag", *methods], [*rows, ["curated, the same kind of model", *curated]])


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "| " + " | ".join("---" for _ in head) + " |",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def put_into(page: Path, text: str) -> None:
    """Replace what is between the markers of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is missing, draw, put the tables on the page, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m papers.label_bags.figure3", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few points of one set; the page is left alone")
    parser.add_argument("--restart", action="store_true", help="compute again what an earlier run left")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the JSON and the plot")
    parser.add_argument("--page", type=Path, default=DOCS, help="the page whose tables are replaced")
    options = parser.parse_args(arguments)
    path = options.out / ("bags_figure3_quick.json" if options.quick else "bags_figure3.json")
    options.out.mkdir(parents=True, exist_ok=True)
    done = {} if options.restart or not path.exists() else json.loads(path.read_text(encoding="utf-8"))["points"]
    todo = list(tasks(quick=options.quick))
    for task in track(todo, description="points", console=Console(stderr=True)):
        if task.name not in done:
            done[task.name] = run_task(task)
            _save(path, done)
    document = _save(path, {task.name: done[task.name] for task in todo})
    plot(list(document["points"].values()), path.with_suffix(".svg"))
    if not options.quick:
        put_into(options.page, tables(document))
    seconds = sum(point["seconds"] for point in document["points"].values())
    print(f"{len(todo)} points, {seconds:.0f} s of computation: {path}, {path.with_suffix('.svg')}")
    return 0


def _save(path: Path, points: dict[str, dict[str, Any]]) -> dict[str, Any]:
    document = {"date": datetime.now(UTC).date().isoformat(), "machine": describe_machine(), "points": points}
    with write_atomically(path, force=True) as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")
    return document


if __name__ == "__main__":
    sys.exit(main())
