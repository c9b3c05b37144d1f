"""Learning from random bags under noise: what the penalty and the objective that follow the noise are worth.

Random bags with noise of the discrete Laplace mechanism, every row in one bag at most. Two linear models from the same
release, judged by the log loss of test rows:

    blind      the release is said to have no noise: the unbiased risk with a penalty of 0.001, whatever the noise
    default    RandomBagModel() as it is, which knows the variance of the noise

Beside them the log loss of the training rows' rates, which nobody has who sees only the release. No set is an untouched
test of the rule: see docs/bags_learn.md for what was chosen after looking.

    TACIT_DATA=folder python -m benchmarks.bags_noise            # all cells; resumes
    python -m benchmarks.bags_noise --quick --out FILE
    python -m benchmarks.bags_noise --table                      # writes the table of docs/bags_learn.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.cells import fill_cells, parse_options, write_table
from benchmarks.data_sets import adult, criteo
from papers.label_bags.bags import draw
from tacit.bags.learners import RandomBagModel
from tacit.bags.losses import CategoricalLoss, LogisticLoss, SemilinearLoss
from tacit.bags.mechanisms.noise import LaplaceTotalsNoise
from tacit.bags.partition import BagTotals
from tacit.data import satellite

OUT = Path(__file__).parent / "results" / "bags_noise.json"
PAGE = Path(__file__).parents[1] / "docs" / "bags_learn.md"
EPSILONS, SEEDS = (0.3, 1.0, 3.0), 3
LAYOUTS = ((None, 4), (None, 30), (1000, 10), (50, 10))  # bags, None for as many as rows allow, and their size
FIRST = 100  # the first trials of the rule had the seeds from 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """Training and test rows with a column "label", and its loss."""

    train: pa.Table
    test: pa.Table
    loss: SemilinearLoss

    @property
    def constant(self) -> float:
        """The log loss on test rows of the training rows' rates."""
        rates = self.loss.statistic(self.train["label"].to_numpy()).mean(axis=0)
        truth = self.test["label"].to_numpy()
        return float(self.loss.value(np.tile(self.loss.link(rates[None, :]), (len(truth), 1)), truth).mean())


def _problem(frame: pd.DataFrame, test: np.ndarray, *, rows: int | None = None) -> Problem:
    classes = int(frame["label"].max()) + 1
    train, judged = (pa.Table.from_pandas(frame[at], preserve_index=False) for at in (~test, test))
    loss = LogisticLoss() if classes == 2 else CategoricalLoss(classes=classes)
    return Problem(train=train.slice(0, rows), test=judged, loss=loss)


@cache
def adult_income() -> Problem:
    """Adult, its own split."""
    frame = adult().table.to_pandas()
    frame["label"] = frame.pop("income").astype(str).str.startswith(">50K").astype(int)
    return _problem(frame, (frame.pop("split") == "test").to_numpy())


@cache
def adult_occupation() -> Problem:
    """Adult's occupation, with "not told" as one of its 15 values, from the other columns; 12,000 training rows."""
    frame = adult().table.to_pandas()
    frame["label"] = frame.pop("occupation").astype(str).astype("category").cat.codes.astype(int)
    return _problem(frame, (frame.pop("split") == "test").to_numpy(), rows=12_000)


@cache
def satellite_rows() -> Problem:
    """Satellite, 6 classes, every fourth row for the test."""
    data = satellite()
    frame = data.table.to_pandas()
    frame["label"] = frame.pop(data.label).astype(str).astype("category").cat.codes.astype(int)
    return _problem(frame, np.arange(len(frame)) % 4 == 0)


@cache
def criteo_rows() -> Problem:
    """Criteo, the last fifth in time for the test."""
    frame = criteo().table.to_pandas()
    return _problem(frame, np.arange(len(frame)) >= len(frame) * 4 // 5)


@cache
def generated(rows: int = 12_000, classes: int = 31, columns: int = 20) -> Problem:
    """A multinomial logit of normal columns with weights of deviation 1/2; the last third for the test."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, columns))
    y = np.argmax(X @ rng.normal(scale=0.5, size=(columns, classes)) + rng.gumbel(size=(rows, classes)), axis=1)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(columns)]).assign(label=y)
    return _problem(frame, np.arange(rows) >= rows * 2 // 3)


SETS: dict[str, Callable[[], Problem]] = {
    "Adult, income": adult_income,
    "Adult, occupation": adult_occupation,
    "Satellite": satellite_rows,
    "Criteo": criteo_rows,
    "generated": generated,
}


def measure(problem: Problem, *, bags: int | None, size: int, epsilon: float, seed: int) -> dict[str, Any]:
    """Learn from one release in both ways."""
    most = problem.train.num_rows // size
    release = draw(
        problem.train,
        size=size,
        bags=min(bags or most, most),
        joins=1,
        label="label",
        loss=problem.loss,
        noise=LaplaceTotalsNoise(epsilon=epsilon),
        rng=np.random.default_rng(FIRST + seed),
    )
    truth = problem.test["label"].to_numpy()
    blind = RandomBagModel().fit(without_noise(release), problem.train)
    model = RandomBagModel().fit(release, problem.train)
    return {
        "bags": release.bags,
        "constant": problem.constant,
        "blind": blind.mean_loss(problem.test, truth),
        "default": model.mean_loss(problem.test, truth),
        "objective": repr(model.objective_),
        "l2": model.l2_,
    }


def without_noise(release: BagTotals) -> BagTotals:
    """Return the release with the same labels, said to be exact."""
    assert release.random is not None
    return replace(release, random=replace(release.random, variance=0.0))


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the table."""
    options = parse_options(arguments, name="bags_noise", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="bags_noise", make=table)
        return

    def measure_on(set: str, **cell: Any) -> dict[str, Any]:
        return measure(generated(600, 4, 3) if options.quick else SETS[set](), **cell)

    fill_cells(options.out, _plan(quick=options.quick), measure=measure_on, quick=options.quick)


def _plan(*, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every cell, seed by seed: an interrupted run has whole tables of fewer seeds."""
    for seed in range(1 if quick else SEEDS):
        for name in ("generated",) if quick else SETS:
            for bags, size in LAYOUTS[:2] if quick else LAYOUTS:
                for epsilon in EPSILONS:
                    cell = {"set": name, "bags": bags, "size": size, "epsilon": epsilon, "seed": seed}
                    yield f"{name}/{bags}/{size}/{epsilon:g}/{seed}", cell


def table(document: dict[str, Any]) -> str:
    """Return the means over seeds as Markdown, a line for each kind of bags and epsilon."""
    groups: dict[tuple[str, int, int, float], list[dict[str, Any]]] = {}
    for cell in sorted(document["cells"].values(), key=lambda cell: list(SETS).index(cell["set"])):
        groups.setdefault((cell["set"], cell["bags"], cell["size"], cell["epsilon"]), []).append(cell)
    machine = document["machine"]
    lines = [
        f"`TACIT_DATA=folder python -m benchmarks.bags_noise`, {document['date']}, {machine['processor']}.",
        "",
        "| set | rates | bags | rows per bag | epsilon | noise ignored | default | soft labels | l2 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (name, bags, size, epsilon), cells in groups.items():
        means = [f"{np.mean([cell[key] for cell in cells]):.3f}" for key in ("constant", "blind", "default")]
        soft = sum(cell["objective"].startswith("Easy") for cell in cells)
        l2 = " to ".join(f"{value:.2g}" for value in sorted({min(c["l2"] for c in cells), max(c["l2"] for c in cells)}))
        lines.append(
            f"| {name} | {means[0]} | {bags:,} | {size} | {epsilon:g} | {means[1]} | {means[2]} "
            f"| {soft} of {len(cells)} | {l2} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
