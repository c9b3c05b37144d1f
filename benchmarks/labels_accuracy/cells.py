"""One measurement: a problem, a method, an epsilon and a seed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.labels_accuracy.methods import CLEAN, METHODS, Method
from benchmarks.labels_accuracy.problems import PROBLEMS, Problem, Split
from tacit.labels.learners.classifier import LabelPrivateClassifier

RETRAINED = {"full", "consensus", "confidence", "default", "forward_loss_consensus"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What to measure; ``epsilon`` is None with true labels."""

    problem: str
    method: str
    epsilon: float | None
    seed: int

    @property
    def key(self) -> str:
        """The cell's name in the JSON."""
        return f"{self.problem}/{self.method}/{'none' if self.epsilon is None else f'{self.epsilon:g}'}/{self.seed}"


def plan(problems: Sequence[Problem], epsilons: Sequence[float], seeds: int) -> Iterator[Cell]:
    """Yield every cell, seed by seed: an interrupted run has whole tables of fewer seeds."""
    for seed in range(seeds):
        for problem in problems:
            yield Cell(problem=problem.name, method=CLEAN.name, epsilon=None, seed=seed)
            for epsilon in epsilons:
                for method in METHODS:
                    if method.applies(problem, epsilon):
                        yield Cell(problem=problem.name, method=method.name, epsilon=epsilon, seed=seed)


def measure(cell: Cell, *, quick: bool) -> dict[str, Any]:
    """Fit, and judge by the true labels of the test rows."""
    problem = next(p for p in PROBLEMS if p.name == cell.problem)
    split = problem.split(quick=quick)
    warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of passes is meant
    begun = perf_counter()
    if cell.epsilon is None:
        model = problem.make(quick=quick)
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=cell.seed)
        model.fit(split.X, split.y)
    else:
        method = next(m for m in METHODS if m.name == cell.method)
        model = _learn(problem, method, split, cell, quick=quick)
    row = {"accuracy": _accuracy(model, split), "seconds": round(perf_counter() - begun, 2), "rows": len(split.y)}
    if cell.method in RETRAINED:
        report = model.retraining_report(split.y)
        row |= {name: getattr(report, name) for name in ("given", "predicted", "chosen", "chosen_fraction")}
    return row


def _learn(problem: Problem, method: Method, split: Split, cell: Cell, *, quick: bool) -> LabelPrivateClassifier:
    return LabelPrivateClassifier(
        problem.make(quick=quick, **method.network),
        epsilon=cell.epsilon,
        random_state=cell.seed,
        **method.settings,
    ).fit(split.X, split.y)


def _accuracy(model: Any, split: Split) -> float:
    return float(np.mean(model.predict(split.judge_by) == split.truth))
