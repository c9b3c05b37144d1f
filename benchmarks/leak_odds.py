"""How often the verdict on the change of odds is right: randomized response on made-up labels, many draws each.

A class has a given share of the rows, the attacker believes the shares, and the limit is 10. The verdict should be
above at a large epsilon however rare the class is, below at a small epsilon on many rows, and too few rows to tell on
few. At epsilon log 10 the limit is met exactly: a verdict is then decided by chance, which may happen in at most 5% of
the runs. The last rows repeat this for an attacker who takes the mechanism for weaker or stronger than it is.

    python -m benchmarks.leak_odds            # all cells; resumes
    python -m benchmarks.leak_odds --quick --out FILE
    python -m benchmarks.leak_odds --table    # writes the table of docs/leak.md
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cells import fill_cells, parse_options, write_table
from tacit.leak import LeakVerdict, OddsChange, compare_odds, odds_changes

OUT = Path(__file__).parent / "results" / "leak_odds.json"
PAGE = Path(__file__).parents[1] / "docs" / "leak.md"
LIMIT = 10.0
AT = math.log(LIMIT)
CASES: tuple[tuple[int, int, float, float, int], ...] = (  # rows, of the class, epsilon, belief in epsilon, runs
    *((3_000, 12, epsilon, 1.0, 150) for epsilon in (5.0, 8.0, 40.0)),
    *((300, own, 0.5, 1.0, 200) for own in (1, 12, 100)),
    *((100_000, own, 0.5, 1.0, 50) for own in (400, 30_000)),
    *((4_000, own, AT, 1.0, 400) for own in (40, 400, 2_000)),
    *((4_000, 400, AT, belief, 400) for belief in (0.5, 2.0)),
)
SAID = {LeakVerdict.ABOVE: "above", LeakVerdict.BELOW: "below", LeakVerdict.UNKNOWN: "too few"}


def main(arguments: list[str] | None = None) -> None:
    """Measure every cell, or write the page's table."""
    options = parse_options(arguments, name="leak_odds", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="leak_odds", make=table)
        return
    fill_cells(options.out, _plan(quick=options.quick), measure=measure, quick=options.quick)


def _plan(*, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for rows, own, epsilon, belief, runs in CASES:
        settings = {"rows": rows, "own": own, "epsilon": epsilon, "belief": belief, "runs": 2 if quick else runs}
        yield f"{rows}/{own}/{epsilon:.3g}/{belief:g}", settings


def measure(*, rows: int, own: int, epsilon: float, belief: float, runs: int) -> dict[str, Any]:
    """Return how often each verdict was reached, how often the rarer class was worse off, and its mean suspicion."""
    start = int.from_bytes(hashlib.sha256(f"{rows} {own} {epsilon} {belief}".encode()).digest()[:4])
    truth = (np.arange(rows) < own).astype(np.int64)
    found = [_changes(truth, epsilon, belief, np.random.default_rng([start, run])) for run in range(runs)]
    verdicts = Counter(SAID[compare_odds(changes, limit=LIMIT)] for changes in found)
    rarer = [next(change for change in changes if change.name == "rare") for changes in found]
    flagged, mistaken = (float(np.mean([getattr(one, n) for one in rarer])) for n in ("flagged", "falsely_flagged"))
    suspicion = own / rows * flagged / (own / rows * flagged + (1 - own / rows) * mistaken)
    worst = sum(changes[0].name == "rare" for changes in found)
    return {"verdicts": dict(verdicts), "rarer_worse": worst, "suspicion": suspicion}


def _changes(
    truth: NDArray[np.int64], epsilon: float, belief: float, rng: np.random.Generator
) -> tuple[OddsChange, ...]:
    shares = np.bincount(truth) / len(truth)
    kept = rng.random(len(truth)) < 1 / (1 + math.exp(-epsilon))
    released = np.where(kept, truth, 1 - truth)
    after = shares * np.where(released[:, None] == np.arange(2), math.exp(epsilon * belief), 1.0)
    return odds_changes(shares, after / after.sum(axis=1, keepdims=True), truth, names=["common", "rare"])


def table(document: dict[str, Any]) -> str:
    """Return the table of the page."""
    lines = [
        "| rows | of the class | epsilon | believed | runs | above | below | too few rows | suspicion |",
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for cell in document["cells"].values():
        said = [str(cell["verdicts"].get(verdict, 0)) for verdict in SAID.values()]
        epsilon = "log 10" if cell["epsilon"] == AT else f"{cell['epsilon']:g}"
        believed = f"{cell['belief']:g} epsilon" if cell["belief"] != 1 else "epsilon"
        told = f"{100 * cell['own'] / cell['rows']:.3g}% to {100 * cell['suspicion']:.3g}%"
        words = [f"{cell['rows']:,}", f"{cell['own']:,}", epsilon, believed, f"{cell['runs']:,}", *said, told]
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
