"""What a representation learned without labels is worth: MNIST and Adult, on a processor, by the release alone.

The first rows of each set, labels by randomized response at epsilon, each once. Methods:

    rr             train on the released labels as they are
    corrected      forward correction: in the loss of a network, by expectation maximization for logistic regression
    default        what LabelPrivateClassifier does unasked: corrected, then consensus
    stiff          the default with the recipe's logistic regression (C = 0.01), on the features as they are
    votes          the recipe on the features as they are: votes of neighbors, logistic regression, consensus
    components     (Adult) the default on 16 principal components
    recipe         the recipe on a representation by BarlowTwins, fitted once a set on the features alone
    tuned          (MNIST) the representation's network, fine-tuned on the consensus, instead of the last regression
    chosen         (Adult) of default, components and recipe that with the best de-biased accuracy on held-out released
                   labels

The network on MNIST is that of BarlowTwins with a linear head, for rr, corrected and default from scratch.

    python -m benchmarks.labels_recipe            # all cells; resumes
    python -m benchmarks.labels_recipe --quick --out FILE
    python -m benchmarks.labels_recipe --table    # writes the table of docs/labels_recipe.md
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from benchmarks.cells import parse_options, read_cells, write_cells, write_table
from benchmarks.labels_accuracy.problems import SETS, Split
from tacit.labels import Plan, protect
from tacit.labels.fitting.denoise import NoCorrection
from tacit.labels.learners.choose import choose_learner
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.neighbors import NeighborVotes
from tacit.labels.learners.network import Adam, BarlowTwins, TorchClassifier
from tacit.labels.learners.network.twins import default_body

OUT = Path(__file__).parent / "results" / "labels_recipe.json"
PAGE = Path(__file__).parents[1] / "docs" / "labels_recipe.md"
PLAIN = {"denoise": NoCorrection(), "rounds": 0}
WORDS = {
    "rr": "randomized response, plain",
    "corrected": "forward correction",
    "default": "tacit's default: corrected, then consensus",
    "stiff": "the default with the recipe's logistic regression (C = 0.01)",
    "components": "the default on 16 principal components",
    "votes": "recipe on the features as they are",
    "recipe": "recipe on `BarlowTwins`",
    "tuned": "the same, its network fine-tuned on the consensus",
    "chosen": "the best of default, components and `BarlowTwins`, chosen by the release",
}
TITLES = {
    "mnist": "MNIST, the first {:,} images",
    "adult": "Adult, the first {:,} rows",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the run is."""

    rows: Mapping[str, int]
    epsilons: Mapping[str, tuple[float, ...]]
    seeds: int
    epochs: int
    twins: Mapping[str, Mapping[str, Any]]


FULL = Sizes(
    rows={"mnist": 5000, "adult": 10_000},
    epsilons={"mnist": (0.5, 1.0, 2.0), "adult": (0.1, 0.5, 1.0, 2.0)},
    seeds=3,
    epochs=8,
    twins={"mnist": {"epochs": 20}, "adult": {"epochs": 10, "dimensions": 32}},
)
QUICK = Sizes(
    rows={"digits": 300},
    epsilons={"digits": (2.0,)},
    seeds=1,
    epochs=1,
    twins={"digits": {"epochs": 1, "dimensions": 8, "width": 16}},
)


def main(arguments: list[str] | None = None) -> None:
    options = parse_options(arguments, name="labels_recipe", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="recipe", make=tables)
        return
    warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of passes is meant
    torch.set_num_threads(1)
    sizes = QUICK if options.quick else FULL
    document = read_cells(options.out, quick=options.quick)
    for key, cell in plan(sizes):
        if key not in document["cells"]:
            document["cells"][key] = cell()
            print(key, document["cells"][key], file=sys.stderr)
            _write(options.out, document, sizes)


def plan(sizes: Sizes) -> list[tuple[str, Callable[[], dict[str, float]]]]:
    """Return every cell, seed by seed: an interrupted run has whole tables of fewer seeds."""
    cells = []
    for seed in range(sizes.seeds):
        for name, rows in sizes.rows.items():
            work = Work(set=name, rows=rows, sizes=sizes)
            cells.append((f"{name}/clean/none/{seed}", partial(work.clean, seed)))
            cells += [
                (f"{name}/{method}/{epsilon:g}/{seed}", partial(work.measure, method, epsilon, seed))
                for epsilon in sizes.epsilons[name]
                for method in work.methods()
            ]
    return cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One set: its rows, its learners, its representation."""

    set: str
    rows: int
    sizes: Sizes

    def split(self) -> Split:
        """Rows to learn from and to judge by."""
        return _split(self.set, self.rows)

    def methods(self) -> list[str]:
        """In an order in which a method's parts come before it."""
        left_out = {"components", "chosen"} if self.images else {"tuned"}
        return [name for name in WORDS if name not in left_out]

    @property
    def images(self) -> bool:
        """Whether rows are images."""
        return self.set != "adult"

    def clean(self, seed: int) -> dict[str, float]:
        """Learn from the true labels."""
        begun, split = process_time(), self.split()
        model = self._network(seed) if self.images else _logistic(C=1.0)
        model.fit(split.X, split.y)
        return self._judged(model, begun)

    def measure(self, method: str, epsilon: float, seed: int) -> dict[str, float]:
        """Learn from a release; judge by the true labels of the test rows."""
        release = protect(
            pa.table({"y": self.split().y}), Plan(label="y", epsilon=epsilon), rng=np.random.default_rng(seed)
        )
        if method == "chosen":
            learners = [self.learner(name, seed) for name in ("default", "components", "recipe")]
            begun = process_time()
            choice = choose_learner(learners, self.split().X, release, rng=np.random.default_rng(seed))
            return self._judged(choice.model, begun) | {"place": choice.place}
        learner, begun = self.learner(method, seed), process_time()
        return self._judged(learner.fit(self.split().X, release), begun)

    def learner(self, method: str, seed: int) -> Any:
        """Return what the method fits."""
        base = self._network(seed) if self.images else _logistic(C=1.0)
        twins = FrozenEstimator(_twins(self))
        if method in ("stiff", "votes", "recipe", "tuned"):
            return LabelPrivateClassifier(
                _logistic(C=0.01),
                representation=FunctionTransformer(as_rows) if method in ("stiff", "votes") else twins,
                denoise=None if method == "stiff" else NeighborVotes(),
                student=self._network(seed, twins.estimator.start, rate=1e-3) if method == "tuned" else None,
                random_state=seed,
            )
        settings: dict[str, dict[str, Any]] = {
            "rr": PLAIN,
            "corrected": {"rounds": 0},
            "default": {},
            "components": {"representation": PCA(16, random_state=0)},
        }
        return LabelPrivateClassifier(base, random_state=seed, **settings[method])

    def _network(self, seed: int, start: Any = None, *, rate: float = 2e-3) -> TorchClassifier:
        """As many steps on the rows of a consensus as on all rows."""
        return TorchClassifier(
            start or scratch,
            epochs=self.sizes.epochs,
            batch_size=128,
            steps=self.sizes.epochs * -(-self.rows // 128),
            optimizer=Adam(learning_rate=rate),
            random_state=seed,
        )

    def _judged(self, model: Any, begun: float) -> dict[str, float]:
        taken, split = process_time() - begun, self.split()
        right = float(np.mean(model.predict(split.judge_by) == split.truth))
        return {"accuracy": right, "cpu_seconds": round(taken, 2)}


def as_rows(X: np.ndarray) -> np.ndarray:
    """Flatten images."""
    return X.reshape(len(X), -1)


def scratch(shape: tuple[int, ...], classes: int) -> torch.nn.Module:
    """The body that BarlowTwins has, untrained, with a linear head."""
    body = default_body((1, *shape), 256)
    layers = [torch.nn.Unflatten(1, (1, shape[0])), body, torch.nn.BatchNorm1d(256), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(256, classes))


def _logistic(*, C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=100)


@cache
def _split(name: str, rows: int) -> Split:
    split = SETS[name]().first(rows)
    if name == "adult":
        return split
    side = round(split.X.shape[1] ** 0.5)
    images = (part.reshape(-1, side, side).astype(np.float32) for part in (split.X, split.judge_by))
    return Split(X=next(images), y=split.y, judge_by=next(images), truth=split.truth)


_FITTED: dict[str, tuple[BarlowTwins, float]] = {}


def _twins(work: Work) -> BarlowTwins:
    """Fit once a set: it sees no label, so all cells may share it."""
    if work.set not in _FITTED:
        begun = process_time()
        fitted = BarlowTwins(random_state=0, **work.sizes.twins[work.set]).fit(work.split().X)
        _FITTED[work.set] = fitted, process_time() - begun
        print(f"{work.set}: a representation in {_FITTED[work.set][1]:.0f} s of processor", file=sys.stderr)
    return _FITTED[work.set][0]


def _write(path: Path, document: dict[str, Any], sizes: Sizes) -> None:
    document["rows"] = dict(sizes.rows)
    document["commonest"] = {name: _commonest(name, rows) for name, rows in sizes.rows.items()}
    taken = {name: round(seconds, 1) for name, (_, seconds) in _FITTED.items()}
    document["representation_cpu_seconds"] = document.get("representation_cpu_seconds", {}) | taken
    write_cells(path, document)


def _commonest(name: str, rows: int) -> float:
    """How often the class that is commonest among the training rows is right: what knowing nothing gives."""
    split = _split(name, rows)
    return round(float(np.mean(split.truth == np.bincount(split.y).argmax())), 4)


def tables(document: Mapping[str, Any]) -> str:
    """One table a set: mean and deviation over the seeds in percent, and processor seconds a fit."""
    return "\n\n".join(_table(name, document) for name in document["rows"])


def _table(name: str, document: Mapping[str, Any]) -> str:
    cells = {tuple(key.split("/")): cell for key, cell in document["cells"].items() if key.startswith(f"{name}/")}
    epsilons = sorted({key[2] for key in cells} - {"none"}, key=float)
    clean = _mean([cell["accuracy"] for key, cell in cells.items() if key[1] == "clean"])
    lines = [
        f"**{TITLES[name].format(document['rows'][name])}.** With the true labels: {clean}; always the majority "
        f"class: {100 * document['commonest'][name]:.1f}. The representation took "
        f"{document['representation_cpu_seconds'][name]:.0f} s of one core, once.",
        "",
        "| | " + " | ".join(f"epsilon {epsilon}" for epsilon in epsilons) + " | seconds per fit |",
        "| --- |" + " --- |" * (len(epsilons) + 1),
    ]
    for method, words in WORDS.items():
        found = {key: cell for key, cell in cells.items() if key[1] == method}
        if found:
            shown = [_mean([c["accuracy"] for key, c in found.items() if key[2] == e]) for e in epsilons]
            seconds = np.mean([cell["cpu_seconds"] for cell in found.values()])
            lines.append(f"| {words} | " + " | ".join(shown) + f" | {seconds:.1f} |")
    return "\n".join(lines)


def _mean(values: list[float]) -> str:
    deviation = f" ± {100 * np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.1f}{deviation}" if values else ""


if __name__ == "__main__":
    main()
