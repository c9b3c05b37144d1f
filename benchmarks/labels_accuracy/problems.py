"""What is learned: the data sets, and the learners on each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.labels_accuracy.networks import digits_network, fast_mnist_network, mnist_network

QUICK_ROWS = 600
TREE_ROWS = 5000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Rows to learn from and rows to judge by."""

    X: np.ndarray
    y: np.ndarray
    judge_by: np.ndarray
    truth: np.ndarray

    def first(self, rows: int | None, *, judged: int | None = None) -> Split:
        """Keep the first rows; None keeps all."""
        return Split(X=self.X[:rows], y=self.y[:rows], judge_by=self.judge_by[:judged], truth=self.truth[:judged])


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A learner on a set; ``rows`` of the training rows where all are too many for it."""

    set: str
    learner: str
    words: str
    make: Callable[..., Any]
    rows: int | None = None

    @property
    def name(self) -> str:
        """The set and the learner."""
        return f"{self.set}/{self.learner}"

    def split(self, *, quick: bool) -> Split:
        """Return the rows; a few of them for a quick run."""
        data = SETS[self.set]()
        return data.first(QUICK_ROWS, judged=QUICK_ROWS) if quick else data.first(self.rows)


def _logistic(*, quick: bool, **_: Any) -> Any:
    return LogisticRegression(max_iter=50 if quick else 300)


def _trees(*, quick: bool, **_: Any) -> Any:
    return HistGradientBoostingClassifier(max_iter=10 if quick else 30, early_stopping=False)


PROBLEMS = (
    Problem(set="digits", learner="logistic", words="digits, logistic regression, 1,200 rows", make=_logistic),
    Problem(
        set="digits", learner="perceptron", words="digits, one hidden layer of 64, 1,200 rows", make=digits_network
    ),
    Problem(set="adult", learner="logistic", words="Adult, logistic regression, 32,561 rows", make=_logistic),
    Problem(
        set="adult",
        learner="trees",
        words=f"Adult, 30 boosted trees, the first {TREE_ROWS:,} of 32,561 rows",
        make=_trees,
        rows=TREE_ROWS,
    ),
    Problem(set="mnist", learner="cnn", words="MNIST, a small CNN, 60,000 rows", make=mnist_network),
    Problem(
        set="mnist",
        learner="cnn_fast",
        words="MNIST, the same CNN at a learning rate of 0.002 instead of 0.0003",
        make=fast_mnist_network,
    ),
)


@cache
def digits() -> Split:
    """Return 1,200 rows to learn from, 597 to judge by, in an order drawn once."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16, y[order]
    return Split(X=X[:1200], y=y[:1200], judge_by=X[1200:], truth=y[1200:])


@cache
def adult() -> Split:
    """Return the published split, one-hot, scaled by the training rows."""
    from benchmarks.data_sets import adult as load

    data = load()
    X, train = data.X, data.table["split"].to_numpy() == "train"
    if train.sum() != 32_561:
        raise SystemExit(f"Adult has {train.sum()} training rows, not 32,561")
    y = (data.y == data.classes[1]).astype(np.int64)
    X = (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-9)
    return Split(X=X[train], y=y[train], judge_by=X[~train], truth=y[~train])


@cache
def mnist() -> Split:
    """Return 60,000 and 10,000 images as rows of 784 numbers in [0, 1]; from ``mnist.npz`` where the folder has it."""
    packed = Path(os.environ.get("TACIT_DATA", ".")) / "mnist.npz"
    if packed.exists():
        with np.load(packed) as arrays:
            X, y, test_X, test_y = (arrays[name] for name in ("X", "y", "test_X", "test_y"))
    else:
        from benchmarks.data_sets import mnist as load

        train, test = load(), load(train=False)
        X, y, test_X, test_y = train.images, train.labels, test.images, test.labels
    return Split(X=_pixels(X), y=y.astype(np.int64), judge_by=_pixels(test_X), truth=test_y.astype(np.int64))


def _pixels(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1) / np.float32(255)


SETS: dict[str, Callable[[], Split]] = {"digits": digits, "adult": adult, "mnist": mnist}
