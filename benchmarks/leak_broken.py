"""How often broken mechanisms are found, how often honest ones are suspected, and what canaries prove.

The broken ones are randomized response on 10,000 labels of two classes: epsilon 1.25 where 1 is claimed, draws reused
in blocks of 200, one seed for two releases, 10% of one class bare, and labels that are sorted. Each test has the level
5%. Canaries: 1,000 of them, each included with probability 1/2, with scores that Gaussian noise of mu = 0.5 hides, so
that the true epsilon at delta 1e-5 is known; proved at 95% by one point of the curve, and by the curve of Gaussian
noise, with the best of four numbers of guesses, and with one that was fixed beforehand.

    python -m benchmarks.leak_broken            # all cells; resumes
    python -m benchmarks.leak_broken --quick --out FILE
    python -m benchmarks.leak_broken --table    # writes the table of docs/leak.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.cells import fill_cells, parse_options, write_table
from tacit.labels import Plan, protect
from tacit.labels.attacks.guess import guess_labels, guess_labels_in_order
from tacit.labels.attacks.randomization import test_independence as p_of_shared_draws
from tacit.labels.attacks.randomization import test_randomization as compare_with_claim
from tacit.labels.mechanisms import RandomizedResponse
from tacit.leak import epsilon_one_run, gaussian_epsilon, mu_one_run

OUT = Path(__file__).parent / "results" / "leak_broken.json"
PAGE = Path(__file__).parents[1] / "docs" / "leak.md"
ROWS, LEVEL, HONEST, PARTS = 10_000, 0.05, 1000, 10
CANARIES, MU, DELTA = 1000, 0.5, 1e-5
SHARES = (0.05, 0.1, 0.2, 0.5)
FIXED = 0.2
Labels = NDArray[np.int64]


def respond(labels: Labels, rng: np.random.Generator, *, epsilon: float = 1.0) -> Labels:
    """Randomize labels of two classes."""
    return RandomizedResponse(epsilon=epsilon, classes=2).randomize(labels, rng=rng)


def is_suspected(labels: Labels, released: Labels) -> bool:
    """Whether one release is not what randomized response at epsilon 1 makes, at the level."""
    return not compare_with_claim(labels, released, epsilon=1.0, classes=[0, 1]).acted(significance=LEVEL)


def finds_order(labels: Labels, rng: np.random.Generator) -> bool:
    """Whether the attack reads labels off the order of the rows."""
    release = protect(pa.table({"y": labels}), Plan(label="y", epsilon=1, classes=("0", "1")), rng=rng)
    return guess_labels_in_order(release, guess_labels(release)) is not None


def keeps_too_much(labels: Labels, rng: np.random.Generator) -> bool:
    """Epsilon 1.25 where 1 is claimed."""
    return is_suspected(labels, respond(labels, rng, epsilon=1.25))


def reuses_draws(labels: Labels, rng: np.random.Generator) -> bool:
    """Draws reused in blocks of 200."""
    block = respond(np.zeros(200, dtype=np.int64), rng) == 1
    return is_suspected(labels, np.where(np.resize(block, len(labels)), 1 - labels, labels))


def shares_a_seed(labels: Labels, rng: np.random.Generator) -> bool:
    """One seed for two releases."""
    seed = int(rng.integers(2**31))
    first, second = (respond(labels, np.random.default_rng(seed)) for _ in range(2))
    return p_of_shared_draws(labels, first, second, epsilon=1.0) < LEVEL


def leaves_some_bare(labels: Labels, rng: np.random.Generator) -> bool:
    """10% of one class bare."""
    bare = (labels == 1) & (rng.random(len(labels)) < 0.1)
    return is_suspected(labels, np.where(bare, labels, respond(labels, rng)))


def leaks_the_order(labels: Labels, rng: np.random.Generator) -> bool:
    """Labels in the order of the rows."""
    return finds_order(np.sort(labels), rng)


BROKEN: dict[str, tuple[Callable[[Labels, np.random.Generator], bool], int]] = {
    "epsilon 1.25, claimed 1": (keeps_too_much, 200),
    "draws reused in blocks of 200": (reuses_draws, 200),
    "one seed for two releases": (shares_a_seed, 200),
    "10% of one class bare": (leaves_some_bare, 200),
    "labels sorted": (leaks_the_order, 50),
}


def is_honest_suspected(labels: Labels, rng: np.random.Generator) -> bool:
    """One honest release, and its draws."""
    return is_suspected(labels, respond(labels, rng))


def are_two_honest_suspected(labels: Labels, rng: np.random.Generator) -> bool:
    """Two honest releases of the same labels."""
    first, second = (respond(labels, rng) for _ in range(2))
    return p_of_shared_draws(labels, first, second, epsilon=1.0) < LEVEL


ALARMS = {
    "one honest release": is_honest_suspected,
    "two honest releases": are_two_honest_suspected,
    "labels in random order": finds_order,
}
CASES = {name: case for name, (case, _) in BROKEN.items()} | ALARMS


def main(arguments: list[str] | None = None) -> None:
    """Measure every cell, or write the page's table."""
    options = parse_options(arguments, name="leak_broken", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="leak_broken", make=table)
        return
    fill_cells(options.out, _plan(quick=options.quick), measure=measure, quick=options.quick)


def _plan(*, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, (_, runs) in BROKEN.items():
        yield name, {"case": name, "runs": 1 if quick else runs, "start": 0}
    for name in ALARMS:
        for part in range(PARTS):
            yield f"{name}, part {part}", {"case": name, "runs": 1 if quick else HONEST // PARTS, "start": part}
    yield "canaries", {"case": "canaries", "runs": 2 if quick else 1000, "start": 0}


def measure(*, case: str, runs: int, start: int) -> dict[str, Any]:
    """Return how many runs are suspected; of canaries, what is proved on average."""
    rng = np.random.default_rng([len(case), start])
    if case == "canaries":
        proved = np.array([proved_by_canaries(rng) for _ in range(runs)])
        true = gaussian_epsilon(MU, delta=DELTA)
        means = dict(zip(("point", "curve", "fixed"), proved.mean(axis=0).tolist(), strict=True))
        return {"true": true, **means, "above": [int(n) for n in (proved > true).sum(axis=0)]}
    return {"suspected": sum(bool(CASES[case](rng.integers(0, 2, ROWS), rng)) for _ in range(runs))}


def proved_by_canaries(rng: np.random.Generator) -> tuple[float, float, float]:
    """Return the epsilons that one run proves: by one point of the curve, by the curve, and by it for one share."""
    coins = rng.random(CANARIES) < 0.5
    order = np.argsort(rng.normal(MU * coins))
    guesses = np.round(np.multiply(SHARES, CANARIES)).astype(np.int64)
    right = np.array([coins[order[-(r - r // 2) :]].sum() + (~coins[order[: r // 2]]).sum() for r in guesses])
    level = 1 - 0.05 / len(SHARES)
    point = epsilon_one_run(right, guesses, CANARIES, delta=DELTA, level=level)
    one = SHARES.index(FIXED)
    curve, fixed = (
        gaussian_epsilon(mu_one_run(right[part], guesses[part], CANARIES), delta=DELTA)
        for part in (slice(None), slice(one, one + 1))
    )
    return float(np.max(point)), curve, fixed


def table(document: dict[str, Any]) -> str:
    """Return the tables of the page."""
    cells = document["cells"]
    lines = ["| 10,000 labels | runs | suspected |", "| --- | --- | --- |"]
    for name in CASES:
        own = [cell for cell in cells.values() if cell["case"] == name]
        runs, found = (sum(cell[key] for cell in own) for key in ("runs", "suspected"))
        lines.append(f"| {name} | {runs:,} | {found:,} |")
    one = cells["canaries"]
    above = ", ".join(map(str, one["above"]))
    lines += [
        "",
        f"{CANARIES:,} canaries in Gaussian noise of mu = {MU:g}, delta {DELTA:g}: of epsilon {one['true']:.2f}, "
        f"{one['point']:.2f} is proved by one point of the curve, {one['curve']:.2f} by the curve with the best of "
        f"{len(SHARES)} numbers of guesses, and {one['fixed']:.2f} by the curve with {FIXED * CANARIES:.0f} guesses, "
        f"fixed beforehand (means of {one['runs']:,} runs; above the true epsilon in {above}).",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
