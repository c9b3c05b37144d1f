"""Rare labels under much noise: the default against the fixed penalty that is best in hindsight.

100,000 made-up rows of 20 features, of which five say something; 0.2 to 3% are positive. Labels are released once by
randomized response. The default, a LabelPrivateClassifier of a logistic regression, chooses its penalty by the released
labels; beside it stands the fit of each fixed penalty. Judged by the AUC of 100,000 other rows.

    python -m benchmarks.labels_faint                  # all cells; resumes
    python -m benchmarks.labels_faint --quick --out FILE
    python -m benchmarks.labels_faint --table          # writes the table of docs/labels_simpler.md
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.cells import fill_in_processes, parse_options, read_cells, write_table
from tacit.data.classes import Classes
from tacit.labels.fitting.likelihood import LikelihoodRegression, NoSignalWarning
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.plan import Plan
from tacit.labels.releases.arrays import release_codes

OUT = Path(__file__).parent / "results" / "labels_faint.json"
PAGE = Path(__file__).parents[1] / "docs" / "labels_simpler.md"
PLACES = ((0.002, 1.0), (0.002, 3.0), (0.005, 1.0), (0.005, 3.0), (0.03, 0.5), (0.03, 1.0), (0.03, 3.0))
PENALTIES = (1e3, 1e2, 10.0, 1.0, 0.1)
ROWS, SEEDS, ALLOWED = 100_000, 100, 0.02
SLOPES = (1.2, -0.9, 0.7, 0.5, -0.4)


def main(arguments: list[str] | None = None) -> None:
    options = parse_options(arguments, name="labels_faint", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="faint", make=table)
        return
    document = read_cells(options.out, quick=options.quick)
    rows, seeds = (2_000, 1) if options.quick else (ROWS, SEEDS)
    missing = [(key, found) for key, found in plan(rows, seeds) if key not in document["cells"]]
    fill_in_processes(
        missing, document, measure=measure, out=options.out, workers=options.workers, minutes=options.minutes
    )


def plan(rows: int, seeds: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every cell, seed by seed."""
    for seed in range(seeds):
        for share, epsilon in PLACES:
            yield f"{share:g}/{epsilon:g}/{seed}", {"share": share, "epsilon": epsilon, "seed": seed, "rows": rows}


def made_up(rows: int, share: float, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return features, and labels of which this share is 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 20))
    z = X[:, : len(SLOPES)] @ SLOPES
    level = brentq(lambda level: expit(z + level).mean() - share, -20, 5)
    return X, (rng.random(rows) < expit(z + level)).astype(np.int64)


def measure(*, share: float, epsilon: float, seed: int, rows: int) -> dict[str, Any]:
    """Return the AUC of the default and of each fixed penalty, and whether the default says that it sees nothing."""
    (X, y), (judge_by, truth) = made_up(rows, share, seed), made_up(rows, share, seed + 1_000_000)
    declared = Plan(label="y", epsilon=epsilon, classes=("0", "1"))
    release = release_codes(
        y,
        plan=declared,
        coding=Classes(values=("0", "1")),
        guarantee=declared.guarantee(),
        rng=np.random.default_rng(seed),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LabelPrivateClassifier(LogisticRegression(), random_state=seed).fit(X, release)
    cell: dict[str, Any] = {"default": _auc(model, judge_by, truth)}
    cell["no_signal"] = any(issubclass(one.category, NoSignalWarning) for one in caught)
    for penalty in PENALTIES:
        fixed = LikelihoodRegression(penalty=penalty).fit_likelihoods(X, release.evidence.likelihood)
        cell[f"{penalty:g}"] = _auc(fixed, judge_by, truth)
    return cell


def _auc(model: Any, X: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    return round(float(roc_auc_score(truth, model.predict_proba(X)[:, 1])), 5)


def table(document: Mapping[str, Any]) -> str:
    """One line for a share and an epsilon: the mean AUC of the default, and of the penalty that is best on it."""
    cells = document["cells"]
    lines = [
        "| positive | epsilon | seeds | default: AUC | best fixed penalty | its AUC | behind | sees no signal |",
        "|" + " --- |" * 8,
    ]
    for share, epsilon in PLACES:
        found = [cell for key, cell in cells.items() if key.rpartition("/")[0] == f"{share:g}/{epsilon:g}"]
        if not found:
            continue
        means = {penalty: float(np.mean([cell[f"{penalty:g}"] for cell in found])) for penalty in PENALTIES}
        best, ours = max(means, key=means.__getitem__), [cell["default"] for cell in found]
        behind, silent = means[best] - np.mean(ours), np.mean([cell["no_signal"] for cell in found])
        shown = f"{behind:.3f}" if behind <= ALLOWED else f"**{behind:.3f}**"
        lines.append(
            f"| {share:.1%} | {epsilon:g} | {len(found)} | {np.mean(ours):.3f} ± {np.std(ours):.3f} | {best:g} | "
            f"{means[best]:.3f} | {shown} | {silent:.0%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
