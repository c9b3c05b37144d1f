"""What retraining does to rare labels: Adult with fewer and fewer rows of the rarer class, logistic regression.

Rows of the rarer class are left out at random, of the training and of the test rows alike, until they have a given
share. Features are scaled, or, of the first 10,000 rows, as they are in the table, which is hard for the learner.
Labels are released by randomized response; four ways to go on from the same release:

    corrected      forward correction alone (rounds=0)
    consensus      then trained again on the predictions that agree with the released labels, come what may
    default        the same, unless the predictions forget half of the classes (SkipIfCollapsed)
    likelihood     one fit by the likelihood of the released labels, which choose its penalty (LikelihoodRegression)

Judged on the test rows by AUC and log loss: whoever ranks rows by a rare label needs these, not accuracy. A model that
is trained again is too sure, and softened by the release; its log loss without that stands beside.

    TACIT_DATA=folder python -m benchmarks.labels_rare            # all cells; resumes
    python -m benchmarks.labels_rare --quick --out FILE
    python -m benchmarks.labels_rare --table                      # writes the table of docs/labels_accuracy.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.cells import parse_options, read_cells, write_cells, write_table
from benchmarks.data_sets import adult
from benchmarks.labels_accuracy.problems import SETS, Split
from tacit.labels import Plan, protect
from tacit.labels.fitting.likelihood import LikelihoodRegression
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.retrain import ConsensusRows

OUT = Path(__file__).parent / "results" / "labels_rare.json"
PAGE = Path(__file__).parents[1] / "docs" / "labels_accuracy.md"
SHARES, EPSILONS, SEEDS = {"scaled": (0.24, 0.1, 0.03), "as they are": (0.1, 0.03)}, (1.0, 2.0, 3.0), 3
ROWS = {"scaled": None, "as they are": 10_000}
LOGISTIC = LogisticRegression(max_iter=300)
METHODS: Mapping[str, Mapping[str, Any]] = {
    "corrected": {"estimator": LOGISTIC, "rounds": 0},
    "consensus": {"estimator": LOGISTIC, "retrain": ConsensusRows()},
    "default": {"estimator": LOGISTIC},
    "likelihood": {"estimator": LikelihoodRegression(random_state=0), "rounds": 0},
}
WORDS = {
    "corrected": "forward correction alone",
    "consensus": "then consensus",
    "default": "tacit's default",
    "likelihood": "by likelihood",
}


def main(arguments: list[str] | None = None) -> None:
    options = parse_options(arguments, name="labels_rare", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="rare", make=table)
        return
    document = read_cells(options.out, quick=options.quick)
    for key, features, share, epsilon, seed in _plan(1 if options.quick else SEEDS):
        if key not in document["cells"]:
            whole = _made_up() if options.quick else _adult(features)
            split = thin(whole, share=share, rng=np.random.default_rng(seed)).first(ROWS[features])
            document["cells"][key] = measure(split, epsilon=epsilon, seed=seed)
            print(key, document["cells"][key], file=sys.stderr)
            write_cells(options.out, document)


def _plan(seeds: int) -> Iterator[tuple[str, str, float, float, int]]:
    """Yield every cell, seed by seed: an interrupted run has whole tables of fewer seeds."""
    for seed in range(seeds):
        for features, shares in SHARES.items():
            for share in shares:
                for epsilon in EPSILONS:
                    yield f"{features}/{share:g}/{epsilon:g}/{seed}", features, share, epsilon, seed


@cache
def _adult(features: str) -> Split:
    scaled = SETS["adult"]()
    if features == "scaled":
        return scaled
    data = adult()
    X = data.X
    return Split(X=X[: len(scaled.y)], y=scaled.y, judge_by=X[len(scaled.y) :], truth=scaled.truth)


def thin(split: Split, *, share: float, rng: np.random.Generator) -> Split:
    """Leave out rows of the rarer class until it has this share."""
    kept = [_kept(labels, share, rng) for labels in (split.y, split.truth)]
    return Split(X=split.X[kept[0]], y=split.y[kept[0]], judge_by=split.judge_by[kept[1]], truth=split.truth[kept[1]])


def _kept(labels: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    common, rare = np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)
    wanted = min(len(rare), round(share / (1 - share) * len(common)))
    return np.sort(np.concatenate([common, rng.choice(rare, wanted, replace=False)]))


def measure(split: Split, *, epsilon: float, seed: int) -> dict[str, Any]:
    """Learn from one release in each way; judge by the true labels of the test rows."""
    release = protect(pa.table({"y": split.y}), Plan(label="y", epsilon=epsilon), rng=np.random.default_rng(seed))
    cell: dict[str, Any] = {"rows": len(split.y), "positive": round(float(split.y.mean()), 4)}
    for name, settings in METHODS.items():
        learner = LabelPrivateClassifier(random_state=seed, **settings)
        chances = learner.fit(split.X, release).predict_proba(split.judge_by)
        learner.temperature_ = 1.0
        as_trained = learner.predict_proba(split.judge_by)
        cell[name] = {
            "auc": roc_auc_score(split.truth, chances[:, 1]),
            "loss": log_loss(split.truth, chances),
            "loss_as_trained": log_loss(split.truth, as_trained),
        }
    return cell


def _made_up() -> Split:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] + rng.normal(size=2000) > 0.5).astype(np.int64)
    return Split(X=X[:1500], y=y[:1500], judge_by=X[1500:], truth=y[1500:])


def table(document: Mapping[str, Any]) -> str:
    """One line for features, share and epsilon: AUC, its deviation over the seeds, log losses."""
    cells = document["cells"]
    lines = [
        "| features | positive | epsilon | "
        + " | ".join(f"{words}: AUC (log loss)" for words in WORDS.values())
        + " |",
        "| --- |" + " --- |" * (len(WORDS) + 2),
    ]
    for start in dict.fromkeys(key.rpartition("/")[0] for key in cells):
        features, share, epsilon = start.split("/")
        found = [cell for key, cell in cells.items() if key.rpartition("/")[0] == start]
        shown = [_shown([cell[name] for cell in found]) for name in WORDS]
        lines.append(f"| {features} | {float(share):.0%} | {epsilon} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _shown(found: list[Mapping[str, float]]) -> str:
    auc, loss, as_trained = ([one[what] for one in found] for what in ("auc", "loss", "loss_as_trained"))
    deviation = f" ± {np.std(auc, ddof=1):.3f}" if len(auc) > 1 else ""
    before = "" if np.allclose(loss, as_trained) else f", {np.mean(as_trained):.3f}"
    return f"{np.mean(auc):.3f}{deviation} ({np.mean(loss):.3f}{before})"


if __name__ == "__main__":
    main()
