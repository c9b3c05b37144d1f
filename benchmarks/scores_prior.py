"""The replayed attacker's beliefs before the first score: as a forest has them, or as sure as they are right.

A forest that was grown on labels the features say little of is surer than it is right. The attacker of a replay starts
from its beliefs, and asks first for the rows it doubts. Both kinds of beliefs are attacked with, on the same sets, with
the same noise and the same draws, one team with 100 submissions:

    forest      tacit.leak.prior.feature_prior as it is
    tempered    mixed with chance until the mean of the largest probability is the share of right guesses

    TACIT_DATA=folder python -m benchmarks.scores_prior          # all cells; resumes
    python -m benchmarks.scores_prior --quick --out FILE
    python -m benchmarks.scores_prior --table                    # writes the table of docs/server.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from benchmarks.cells import fill_cells, parse_options, write_table
from benchmarks.data_sets import adult, criteo
from tacit.data import Dataset, Encoder, satellite, titanic
from tacit.leak.prior import feature_prior, temper_prior
from tacit.scores.attacks import attack_competition, attack_final_scores
from tacit.scores.metrics import Accuracy, LogLoss, Metric
from tacit.scores.policies import Laplace, Policy
from tacit.server import Rules

OUT = Path(__file__).parent / "results" / "scores_prior.json"
PAGE = Path(__file__).parents[1] / "docs" / "server.md"
EPSILONS, SEEDS, SUBMISSIONS = (0.1, 0.3, 1.0, 3.0), 10, 100
DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Target:
    """Labels to recover, and both kinds of beliefs about them."""

    labels: NDArray[np.int64]
    forest: NDArray[np.float64]

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.forest.shape[1]

    @property
    def metric(self) -> Metric:
        """What the host shows: log loss for two classes, accuracy for more."""
        return LogLoss(floor=0.01) if self.classes == 2 else Accuracy(classes=self.classes)

    @property
    def right(self) -> float:
        """Share of labels that the features alone tell."""
        return float((self.forest.argmax(axis=1) == self.labels).mean())

    @property
    def tempered(self) -> NDArray[np.float64]:
        """The beliefs, as sure as they are right."""
        return temper_prior(self.forest, self.labels)


def _target(features: NDArray[np.float64], labels: NDArray[Any]) -> Target:
    kinds, codes = np.unique(labels, return_inverse=True)
    return Target(labels=codes.astype(np.int64), forest=feature_prior(features, codes, classes=len(kinds)))


@cache
def _generated(seed: int, *, rows: int, classes: int, weight: float) -> Target:
    """Four normal columns and a multinomial logit of this weight; 0: labels by a fair die."""
    rng = np.random.default_rng(1_000 + seed)
    X = rng.normal(size=(rows, 4))
    return _target(X, np.argmax(weight * X[:, :classes] + rng.gumbel(size=(rows, classes)), axis=1))


@cache
def _bundled(load: Callable[[], Dataset], *columns: str, rows: int | None = None) -> Target:
    data = load()
    encoder = Encoder.fitted(data.table, columns or data.features, chosen=True)
    return _target(encoder.encode(data.table)[:rows], data.codes[:rows])


@cache
def _some_columns(load: Callable[..., Any], *columns: int) -> Target:
    X, y = load(return_X_y=True)
    return _target(X[:, columns], y > np.median(y) if load is load_diabetes else y)


SETS: dict[str, Callable[[int], Target]] = {
    "coins, 400 rows": lambda seed: _generated(seed, rows=400, classes=2, weight=0.0),
    "coins, 2,000 rows": lambda seed: _generated(seed, rows=2_000, classes=2, weight=0.0),
    "dice of 3 sides, 400 rows": lambda seed: _generated(seed, rows=400, classes=3, weight=0.0),
    "weak features, 1,000 rows": lambda seed: _generated(seed, rows=1_000, classes=2, weight=0.5),
    "diabetes above the median, by s1 and s2": lambda _: _some_columns(load_diabetes, 4, 5),
    "diabetes above the median, by age, sex, bp": lambda _: _some_columns(load_diabetes, 0, 1, 3),
    "breast cancer, by 2 of 30 columns": lambda _: _some_columns(load_breast_cancer, 11, 14),
    "Adult, 2,000 rows, by age and fnlwgt": lambda _: _bundled(adult, "age", "fnlwgt", rows=2_000),
    "Criteo, 2,000 rows, by I2, I3, I4": lambda _: _bundled(criteo, "I2", "I3", "I4", rows=2_000),
    "digits, by 5 of 64 pixels": lambda _: _some_columns(load_digits, 10, 20, 30, 40, 50),
    "Titanic": lambda _: _bundled(titanic),
    "Satellite": lambda _: _bundled(satellite),
}


def measure(target: Target, *, policy: str, submissions: int, seed: int) -> dict[str, Any]:
    """Attack with both kinds of beliefs."""
    told = {"rows": len(target.labels), "right": target.right, "sure": float(target.forest.max(axis=1).mean())}
    for name in ("forest", "tempered"):
        prior = getattr(target, name)
        if name == "tempered" and np.array_equal(prior, target.forest):
            told[name] = told["forest"]
        else:
            told[name] = attack(target, prior, policy=policy, submissions=submissions, seed=seed)
    return told


def attack(target: Target, prior: NDArray[np.float64], *, policy: str, submissions: int, seed: int) -> float:
    """Return the share of labels recovered by one team, the last submission's final score included."""
    attacker = np.random.default_rng(seed)
    split = policy == DEFAULT
    rules = Rules.from_json({"together": None})
    live = rules.policy if split else Laplace(epsilon=float(policy))
    rows = len(target.labels)
    public = attacker.random(rows) < rules.public_fraction if split else np.ones(rows, dtype=bool)

    def noise(predictions: ArrayLike) -> np.random.Generator:
        """The server answers the same again, and several threads ask: the noise hangs on the predictions alone."""
        return np.random.default_rng([seed, *hashlib.sha256(np.ascontiguousarray(predictions).tobytes()).digest()])

    def answer(policy: Policy, predictions: ArrayLike, scored: NDArray[np.bool_]) -> str:
        measured = target.metric.measure(target.labels[scored], np.asarray(predictions)[scored])
        return policy.release(measured, state={}, rng=noise(predictions)).text

    def submit(predictions: ArrayLike) -> str:
        return answer(live, predictions, public)

    def submit_last(predictions: ArrayLike) -> str:
        return answer(rules.final_policy, predictions, ~public)

    share = rules.public_fraction if split else 1.0
    found = attack_competition(
        submit,
        target.metric,
        live,
        public_fraction=share,
        prior=prior,
        submissions=submissions - split,
        rng=attacker,
    )
    if split:
        found = attack_final_scores(
            lambda predictions: [submit_last(one) for one in predictions],
            target.metric,
            rules.final_policy,
            private_fraction=1 - share,
            before=found,
            prior=prior,
            rng=attacker,
        )
    return float((found.labels == target.labels).mean())


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the table."""
    options = parse_options(arguments, name="scores_prior", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="scores_prior", make=table)
        return

    def measure_on(set: str, *, seed: int, **cell: Any) -> dict[str, Any]:
        return measure(SETS[set](seed), seed=seed, **cell)

    fill_cells(options.out, _plan(quick=options.quick), measure=measure_on, quick=options.quick)


def _plan(*, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every cell, seed by seed: an interrupted run has whole tables of fewer seeds."""
    policies = [f"{epsilon:g}" for epsilon in EPSILONS] + [DEFAULT]
    for seed in range(1 if quick else SEEDS):
        for name in list(SETS)[:1] if quick else SETS:
            for policy in policies[-2:] if quick else policies:
                cell = {"set": name, "policy": policy, "submissions": 20 if quick else SUBMISSIONS, "seed": seed}
                yield f"{name}/{policy}/{seed}", cell


def table(document: dict[str, Any]) -> str:
    """Return the means over seeds as Markdown, a line for each set."""
    cells = list(document["cells"].values())
    policies = [f"{epsilon:g}" for epsilon in EPSILONS] + [DEFAULT]
    lines = [
        "| set | right | sure | " + " | ".join([*(f"epsilon {policy}" for policy in policies[:-1]), "split"]) + " |",
        "| --- | ---: | ---: |" + " ---: |" * len(policies),
    ]
    for name in SETS:
        mine = [cell for cell in cells if cell["set"] == name]
        right, sure = (np.mean([cell[key] for cell in mine]) for key in ("right", "sure"))
        shown = [_shown([cell for cell in mine if cell["policy"] == policy]) for policy in policies]
        lines.append(f"| {name} | {right:.1%} | {sure:.1%} | " + " | ".join(shown) + " |")
    machine = document["machine"]
    lines += [
        "",
        f"`TACIT_DATA=folder python -m benchmarks.scores_prior`, {document['date']}, {machine['processor']}, "
        f"{SEEDS} seeds.",
    ]
    return "\n".join(lines)


def _shown(cells: list[dict[str, Any]]) -> str:
    """Return the shares recovered, and by how many points the second is more, with its standard error."""
    gains = np.array([cell["tempered"] - cell["forest"] for cell in cells])
    forest, tempered = (np.mean([cell[key] for cell in cells]) for key in ("forest", "tempered"))
    if not gains.any():
        return f"{forest:.1%}, the same"
    error = gains.std(ddof=1) / len(gains) ** 0.5
    return f"{forest:.1%} to {tempered:.1%}: {100 * gains.mean():+.1f} ± {100 * error:.1f}"


if __name__ == "__main__":
    main()
