"""One cell: a set, a learner, an epsilon and a seed; every way learns from the same release."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.labels_simpler.learners import BOOSTED, LEARNERS, fit_way, ways_of
from benchmarks.labels_simpler.sets import SETS
from tacit.data.classes import Classes
from tacit.labels.plan import Plan
from tacit.labels.releases.arrays import release_codes

Array = NDArray[np.float64]
JUDGED = 10_000  # rows at most
LEFT_OUT = {(learner, "classes 100") for learner in (*BOOSTED, "catboost", "forest")}  # minutes for a cell
_LEAST = 1e-6  # of a probability, so that no log loss is infinite
_BINS = 15


def plan(
    sets: Sequence[str], learners: Sequence[str], epsilons: Sequence[float], seeds: Iterable[int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every cell, seed by seed: an interrupted run has whole tables of fewer seeds."""
    for seed in seeds:
        for learner in learners:
            for name in sets:
                if (learner, name) in LEFT_OUT:
                    continue
                for epsilon in epsilons:
                    key = f"{name}/{learner}/{epsilon:g}/{seed}"
                    yield key, {"name": name, "learner": learner, "epsilon": epsilon, "seed": seed}


def measure(*, name: str, learner: str, epsilon: float, seed: int, cap: int) -> dict[str, Any]:
    """Protect once, learn in every way, and judge by the true labels of other rows."""
    rows, other = SETS[name]().divided(seed, cap=cap, judged=JUDGED)
    names = [str(number) for number in range(int(SETS[name]().y.max()) + 1)]
    order = np.argsort(names)  # of the codes, as a plan lists classes
    codes, truth = np.argsort(order)[rows.y], np.argsort(order)[other.y]
    declared = Plan(label="y", epsilon=epsilon, classes=tuple(sorted(names)))
    release = release_codes(
        codes,
        plan=declared,
        coding=Classes(values=tuple(sorted(names))),
        guarantee=declared.guarantee(),
        rng=np.random.default_rng(seed),
    )
    cell: dict[str, Any] = {"rows": len(rows.y)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for way in ways_of(learner, classes=len(names)):
            begun = process_time()
            predict = fit_way(way, learner, rows, release, seed=seed)
            seconds = process_time() - begun
            cell[way] = judge(predict(other.X), truth) | {"seconds": round(seconds, 2)}
        cell["clean"] = _clean(name, learner, seed, cap)
    return cell


@cache
def _clean(name: str, learner: str, seed: int, cap: int) -> dict[str, float]:
    """The same for every epsilon: measured once in a run."""
    rows, other = SETS[name]().divided(seed, cap=cap, judged=JUDGED)
    begun = process_time()
    present, codes = np.unique(rows.y, return_inverse=True)
    model = LEARNERS[learner]().fit(rows.X, codes)
    seconds = process_time() - begun
    chances = np.zeros((len(other.y), int(SETS[name]().y.max()) + 1))
    chances[:, present] = model.predict_proba(other.X)
    return judge(chances, other.y) | {"seconds": round(seconds, 2)}


def judge(chances: Array, truth: NDArray[np.int64]) -> dict[str, float]:
    """Return accuracy, AUC (the mean over the classes), log loss and calibration error."""
    floored = np.maximum(chances, _LEAST)
    floored /= floored.sum(axis=1, keepdims=True)
    classes = [c for c in np.unique(truth).tolist() if (truth == c).sum() < len(truth)]
    if chances.shape[1] == 2:
        classes = classes[-1:]
    found = {
        "accuracy": np.mean(floored.argmax(axis=1) == truth),
        "auc": np.mean([roc_auc_score(truth == c, floored[:, c]) for c in classes]),
        "loss": log_loss(truth, floored, labels=range(chances.shape[1])),
        "calibration": _calibration(floored, truth),
    }
    return {what: round(float(value), 5) for what, value in found.items()}


def _calibration(chances: Array, truth: NDArray[np.int64]) -> float:
    """Expected calibration error of the likeliest class, in bins of equally many rows."""
    sure, right = chances.max(axis=1), chances.argmax(axis=1) == truth
    parts = np.array_split(np.argsort(sure), _BINS)
    return float(
        sum(abs(sure[part].mean() - right[part].mean()) * len(part) for part in parts if len(part)) / len(sure)
    )
