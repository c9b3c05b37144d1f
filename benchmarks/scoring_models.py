"""Fifty honest models of varied quality, fixed before any score was looked at, and what they predict.

Every row is predicted by a model that has not seen its label: out of fold for the smaller sets, held out for Adult.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.data_sets import adult
from tacit.data import digits, iris, satellite, titanic

__all__ = ["MODELS", "HonestModel", "Scored", "each_prediction", "held_out", "one_split", "predictions_of"]

Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class HonestModel:
    """A family with its hyper-parameters, the share of training rows it gets and the share of features it sees."""

    name: str
    estimator: ClassifierMixin
    rows: float = 1.0
    features: float = 1.0


def _logistic(name: str, C: float, **given: float) -> HonestModel:
    return HonestModel(
        name=name, estimator=make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=300)), **given
    )


def _network(name: str, hidden: tuple[int, ...], *, alpha: float, epochs: int, seed: int) -> HonestModel:
    net = MLPClassifier(hidden, alpha=alpha, max_iter=epochs, random_state=seed, learning_rate_init=0.005)
    return HonestModel(name=name, estimator=make_pipeline(StandardScaler(), net))


def _forest(name: str, trees: int, depth: int | None, seed: int, leaf: int = 1) -> HonestModel:
    forest = RandomForestClassifier(trees, max_depth=depth, min_samples_leaf=leaf, random_state=seed)
    return HonestModel(name=name, estimator=forest)


def _boosted(name: str, rounds: int, rate: float, leaves: int, seed: int) -> HonestModel:
    trees = HistGradientBoostingClassifier(
        max_iter=rounds, learning_rate=rate, max_leaf_nodes=leaves, early_stopping=False, random_state=seed
    )
    return HonestModel(name=name, estimator=trees)


def _near(name: str, neighbors: int, features: float = 1.0) -> HonestModel:
    near = make_pipeline(StandardScaler(), KNeighborsClassifier(neighbors))
    return HonestModel(name=name, estimator=near, features=features)


def _tree(name: str, depth: int | None, seed: int, **given: float) -> HonestModel:
    return HonestModel(name=name, estimator=DecisionTreeClassifier(max_depth=depth, random_state=seed), **given)


MODELS: tuple[HonestModel, ...] = (
    _logistic("logistic C=1e-4", 1e-4),
    _logistic("logistic C=1e-3", 1e-3),
    _logistic("logistic C=1e-2", 1e-2),
    _logistic("logistic C=0.1", 0.1),
    _logistic("logistic C=1", 1.0),
    _logistic("logistic C=100", 100.0),
    _logistic("logistic C=1, 2% of rows", 1.0, rows=0.02),
    _logistic("logistic C=1, 5% of rows", 1.0, rows=0.05),
    _logistic("logistic C=1, 20% of rows", 1.0, rows=0.2),
    _logistic("logistic C=1, a quarter of the features", 1.0, features=0.25),
    _logistic("logistic C=1, half the features", 1.0, features=0.5),
    _forest("forest of 5, depth 2", 5, 2, 0),
    _forest("forest of 20, depth 3", 20, 3, 1),
    _forest("forest of 20, depth 6", 20, 6, 2),
    _forest("forest of 10", 10, None, 3),
    _forest("forest of 50", 50, None, 4),
    _forest("forest of 50, leaves of 5", 50, None, 5, leaf=5),
    _forest("forest of 50, leaves of 50", 50, None, 6, leaf=50),
    _boosted("boosted 5 x 0.05", 5, 0.05, 8, 0),
    _boosted("boosted 5 x 0.2", 5, 0.2, 8, 1),
    _boosted("boosted 20 x 0.05", 20, 0.05, 8, 2),
    _boosted("boosted 20 x 0.2", 20, 0.2, 16, 3),
    _boosted("boosted 60 x 0.1", 60, 0.1, 31, 4),
    _boosted("boosted 60 x 0.5", 60, 0.5, 31, 5),
    _network("network 4, 5 epochs", (4,), alpha=1e-4, epochs=5, seed=0),
    _network("network 8, 20 epochs", (8,), alpha=1e-4, epochs=20, seed=1),
    _network("network 32, 20 epochs", (32,), alpha=1e-4, epochs=20, seed=2),
    _network("network 32, decay 3", (32,), alpha=3.0, epochs=20, seed=3),
    _network("network 32-32, 40 epochs", (32, 32), alpha=1e-4, epochs=40, seed=4),
    _network("network 64, 40 epochs", (64,), alpha=1e-2, epochs=40, seed=5),
    _near("1 neighbor", 1),
    _near("3 neighbors", 3),
    _near("15 neighbors", 15),
    _near("75 neighbors", 75),
    _near("15 neighbors, half the features", 15, features=0.5),
    _tree("tree of depth 1", 1, 0),
    _tree("tree of depth 2", 2, 0),
    _tree("tree of depth 4", 4, 0),
    _tree("tree of depth 8", 8, 0),
    _tree("tree", None, 0),
    _tree("tree, 10% of rows", None, 1, rows=0.1),
    HonestModel(name="Gaussian naive Bayes", estimator=GaussianNB()),
    HonestModel(name="Gaussian naive Bayes, smoothed", estimator=GaussianNB(var_smoothing=0.1)),
    HonestModel(name="Bernoulli naive Bayes", estimator=make_pipeline(StandardScaler(), BernoulliNB())),
    HonestModel(name="linear discriminant", estimator=LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)),
    HonestModel(name="quadratic discriminant", estimator=QuadraticDiscriminantAnalysis(reg_param=0.5)),
    HonestModel(name="extra trees", estimator=ExtraTreesClassifier(30, max_depth=8, random_state=0)),
    HonestModel(name="AdaBoost", estimator=AdaBoostClassifier(n_estimators=20, random_state=0)),
    HonestModel(
        name="gradient boosting",
        estimator=GradientBoostingClassifier(n_estimators=15, max_depth=3, subsample=0.5, random_state=0),
    ),
    HonestModel(
        name="calibrated tree",
        estimator=CalibratedClassifierCV(DecisionTreeClassifier(max_depth=6, random_state=0), cv=3),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A set's scored rows and the pairs of training and scored rows that cover them."""

    name: str
    X: Table
    labels: NDArray[np.int64]
    classes: int
    parts: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]


def held_out(name: str, *, folds: int = 2, seed: int = 0) -> Scored:
    """Return a set with its folds; for Adult 8,000 rows train and 16,281 others are scored."""
    if name == "adult":
        return one_split(name, scored=16_281, trained=8_000, seed=seed)
    X, y = _read(name)
    split = StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y)
    return Scored(name=name, X=X, labels=y, classes=int(y.max()) + 1, parts=tuple(split))


def one_split(name: str, *, scored: int, trained: int, seed: int) -> Scored:
    """Return a set whose first ``scored`` rows are predicted by models of the next ``trained`` ones."""
    X, y = _read(name)
    chosen = np.random.default_rng(seed).permutation(len(y))[: scored + trained]
    parts = ((np.arange(scored, len(chosen)), np.arange(scored)),)
    return Scored(name=name, X=X[chosen], labels=y[chosen], classes=int(y.max()) + 1, parts=parts)


def _read(name: str) -> tuple[Table, NDArray[np.int64]]:
    data = {"titanic": titanic, "satellite": satellite, "iris": iris, "digits": digits, "adult": adult}[name]()
    return data.X, data.codes


def predictions_of(model: HonestModel, data: Scored, *, seed: int = 0) -> Table:
    """Return (scored rows, classes) probabilities."""
    rng = np.random.default_rng(seed)
    rows = sum(len(scored) for _, scored in data.parts)
    result = np.full((rows, data.classes), np.nan)
    for train, scored in data.parts:
        kept = max(4 * data.classes, int(model.rows * len(train)))
        chosen = _with_every_class(rng.permutation(train), data.labels, kept)
        columns = np.sort(rng.permutation(data.X.shape[1])[: max(1, round(model.features * data.X.shape[1]))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(model.estimator).fit(data.X[np.ix_(chosen, columns)], data.labels[chosen])
            result[scored] = fitted.predict_proba(data.X[np.ix_(scored, columns)])
    return result


def _with_every_class(order: NDArray[np.int64], labels: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the first ``count`` rows, after two of every class."""
    first = np.concatenate([order[labels[order] == label][:2] for label in np.unique(labels)])
    return np.concatenate([first, order[~np.isin(order, first)]])[: max(count, len(first))]


def each_prediction(data: Scored, *, note: Callable[[str], None] | None = None) -> Iterator[tuple[str, Table]]:
    """Yield every model's name and predictions."""
    for model in MODELS:
        if note is not None:
            note(model.name)
        yield model.name, predictions_of(model, data)
