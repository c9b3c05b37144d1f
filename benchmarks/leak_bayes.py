"""Our attackers beside the exact Bayes attacker on generated data, surface by surface.

The best balanced advantage T - F* is that of the exact attacker, who knows the law of the data. The calibration error
is the mean distance of beliefs and rates in tenths of the rows. The exact attackers are those of the tests:
tests/labels/test_bayes.py, tests/bags/test_attack_bayes.py, tests/scores/test_attack_optimal.py,
tests/features/test_attack_bayes.py and tests/models/test_bayes_optimal.py, which assert the same.

    python -m benchmarks.leak_bayes            # all cells; resumes
    python -m benchmarks.leak_bayes --quick --out FILE
    python -m benchmarks.leak_bayes --table    # writes the table of docs/leak.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.cells import fill_cells, parse_options, write_table
from tests.bags import test_attack_bayes as bags
from tests.features import test_attack_bayes as features
from tests.labels import test_bayes as labels
from tests.models import test_bayes_optimal as models
from tests.scores import test_attack_optimal as scores

OUT = Path(__file__).parent / "results" / "leak_bayes.json"
PAGE = Path(__file__).parents[1] / "docs" / "leak.md"
LABELS = ("rr", "laplace", "unbiased", "prior")
EPSILONS = (0.5, 1.0, 3.0)
ROWS = {0.5: 100_000, 1.0: 30_000, 3.0: 10_000}


def main(arguments: list[str] | None = None) -> None:
    """Measure every cell, or write the page's table."""
    options = parse_options(arguments, name="leak_bayes", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="leak_bayes", make=table)
        return
    fill_cells(options.out, _plan(quick=options.quick), measure=measure, quick=options.quick)


def _plan(*, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for metric in scores.TERMS:
        for each in (0.3, 1.0, 3.0):
            runs = 2 if quick else 60
            yield f"scores/{metric}/{each:g}", {"surface": "scores", "what": metric, "epsilon": each, "runs": runs}
    for noise in bags.NOISES:
        for design in bags.DESIGNS:
            runs = 5 if quick else 200
            yield f"bags/{design}/{noise}", {"surface": "bags", "what": design, "epsilon": noise, "runs": runs}
    for count, noise in features.LINKED:
        runs = 20 if quick else 1000
        yield (
            f"linkage/{count}/{noise:g}",
            {"surface": "features", "what": "linkage", "epsilon": [count, noise], "runs": runs},
        )
    for count, noise, rows in features.MEMBERS[:2] if quick else features.MEMBERS:
        scale = [count, noise, rows]
        yield (
            f"membership/{count}/{noise:g}",
            {"surface": "features", "what": "membership", "epsilon": scale, "runs": 6},
        )
    if not quick:
        yield "models/one step", {"surface": "models", "what": "one noisy step", "epsilon": models.NOISE, "runs": 40}
    for epsilon in reversed(EPSILONS):
        for mechanism in LABELS:
            rows = 2000 if quick else ROWS[epsilon]
            name = f"labels/{mechanism}/{epsilon:g}"
            yield name, {"surface": "labels", "what": mechanism, "epsilon": epsilon, "runs": rows}


def measure(*, surface: str, what: str, epsilon: Any, runs: int) -> dict[str, Any]:
    """Return the balanced advantage of the exact attacker and of ours, and the calibration error of ours."""
    best, ours, error = _SURFACES[surface](what, epsilon, runs)
    return {"best": float(best), "ours": float(ours), "calibration_error": float(error)}


def _labels(mechanism: str, epsilon: float, rows: int) -> tuple[float, float, float]:
    """Five classes of a logistic model of three features; of the class where ours is worst."""
    P, y, exact, found = labels.attacked(mechanism, 5, epsilon, rows=rows, seed=0)
    best, ours = labels.advantages(exact, P, P, y), labels.advantages(found.beliefs, found.prior, P, y)
    worst = int(np.argmax(np.abs(best - ours)))
    return best[worst], ours[worst], labels.calibration_error(found.beliefs, y)


def _bags(design: str, noise: str, blocks: int) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)
    bag = bags.DESIGNS[design]
    made = bags.released(bag, bags.chances(blocks, bag, rng), bags.NOISES[noise], rng)
    advantages = (bags.balanced_advantage(made, beliefs) for beliefs in (made.exact, made.ours))
    return *advantages, bags.calibration_error(made, made.ours)


def _scores(metric: str, epsilon: float, runs: int) -> tuple[float, float, float]:
    """Ten submissions on twelve rows; epsilon is that of each score."""
    asked = {"epsilon": 10 * epsilon, "submissions": 10, "classes": 2, "rows": 12, "repetitions": runs, "seed": 1}
    with pytest.MonkeyPatch.context() as patch:
        prior, after, exact = scores.attacked(metric, **asked, monkeypatch=patch)
    advantages = (scores.balanced_advantage(prior, beliefs, exact) for beliefs in (exact, after))
    return *advantages, scores.calibration_error(after, exact)


def _features(attack: str, scale: list[float], runs: int) -> tuple[float, float, float]:
    """Linkage of six rows, and how calibrated the links of 300 rows are; or membership, with odds of one before."""
    if attack == "linkage":
        best, ours, _ = features.linked(*scale, runs=runs)
        less = (1 - best) / 5, (1 - ours) / 5  # wrong links are to five others
        return best - less[0], ours - less[1], features.link_calibration_error(*scale)
    found = list(features.found(int(scale[0]), scale[1], int(scale[2]), runs=runs))
    best, ours = (np.mean([features.balanced_advantage(*run[way]) for run in found]) for way in (0, 1))
    return float(best), float(ours), features.membership_calibration_error([run[1] for run in found])


def _models(_: str, __: float, runs: int) -> tuple[float, float, float]:
    trials = models.made_trials(targets=runs)
    lira = models.CalibratedLira(shadows=trials[2])
    best, ours = (models.advantage(trials, attack) for attack in (models.ByBayes(*trials[:2]), lira))
    return best, ours, models.calibration_error(*models.beliefs(trials, lira))


_SURFACES = {"labels": _labels, "bags": _bags, "features": _features, "scores": _scores, "models": _models}


def table(document: dict[str, Any]) -> str:
    """Return the table of the page, labels first."""
    lines = ["| release | epsilon or noise | exact attacker | ours | calibration error |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for surface in _SURFACES:
        found = [cell for cell in document["cells"].values() if cell["surface"] == surface]
        lines += [_line(cell) for cell in sorted(found, key=lambda cell: (str(cell["what"]), str(cell["epsilon"])))]
    return "\n".join(lines)


def _told(scale: Any) -> str:
    if isinstance(scale, list):
        return f"{scale[0]} features, noise {scale[1]:g}"
    return f"{scale:g}" if isinstance(scale, float) else str(scale)


def _line(cell: dict[str, Any]) -> str:
    scale = _told(cell["epsilon"])
    numbers = " | ".join(f"{cell[key]:.3f}" for key in ("best", "ours", "calibration_error"))
    return f"| {cell['surface']}: {cell['what'].replace('_', ' ')} | {scale} | {numbers} |"


if __name__ == "__main__":
    main()
