"""The learners, and the ways of learning from one release with each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from benchmarks.labels_simpler.sets import Rows
from tacit.labels.fitting.denoise import ForwardCorrection, NoCorrection
from tacit.labels.learners.backward import BackwardCorrection
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.releases.release import Release

Array = NDArray[np.float64]
MOST_SIGNED = {"linear": 10, "lightgbm": 2}  # classes; the others reject negative weights
PENALTY, STEPS = 1.0, 150  # of the alternative that maximizes the likelihood


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


def _catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=200, thread_count=1, logging_level="Silent", allow_writing_files=False)


LEARNERS: Mapping[str, Callable[[], Any]] = {
    "linear": lambda: LogisticRegression(max_iter=300),
    "histogram": HistGradientBoostingClassifier,
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "catboost": _catboost,
    "forest": lambda: RandomForestClassifier(100, min_samples_leaf=5, n_jobs=1),
    "perceptron": lambda: MLPClassifier((64,), max_iter=60),
}
BOOSTED = ("histogram", "xgboost", "lightgbm")

WAYS: Mapping[str, Mapping[str, Any]] = {
    "plain": {"denoise": NoCorrection(), "rounds": 0},
    "forward": {"denoise": ForwardCorrection(rounds=1, folds=2), "rounds": 0},
    "backward": {"denoise": BackwardCorrection(), "rounds": 0},
    "default": {},
}
WORDS = {
    "plain": "the released labels as they are",
    "forward": "forward correction once",
    "backward": "backward correction",
    "likelihood": "the likelihood, in fifteen lines",
    "default": "tacit's default",
    "clean": "true labels",
}


def ways_of(learner: str, *, classes: int) -> list[str]:
    """Return the ways that a learner takes; backward correction of many classes takes minutes."""
    backward = ["backward"] if classes <= MOST_SIGNED.get(learner, 0) else []
    likelihood = ["likelihood"] if learner == "linear" or learner in BOOSTED else []
    return ["plain", "forward", *backward, *likelihood, "default"]


def fit_way(way: str, learner: str, rows: Rows, release: Release, *, seed: int) -> Callable[[Array], Array]:
    """Learn from the release; return what predicts probabilities."""
    if way == "likelihood":
        likelihood = release.evidence.likelihood
        return _linear(rows.X, likelihood) if learner == "linear" else _trees(learner, rows.X, likelihood)
    settings = WAYS[way]
    model = LabelPrivateClassifier(LEARNERS[learner](), random_state=seed, **settings).fit(rows.X, release)
    return lambda X: _columns(model.predict_proba(X), model.classes_, release)


def _columns(chances: Array, classes: Any, release: Release) -> Array:
    result = np.zeros((len(chances), len(release.evidence.classes)))
    result[:, np.searchsorted(release.evidence.classes, classes)] = chances
    return result


def _linear(X: Array, likelihood: Array) -> Callable[[Array], Array]:
    """-log of the likelihood under a linear model with C = 1, by L-BFGS: textbook forward correction."""
    A = np.c_[X, np.ones(len(X))]
    K = likelihood.shape[1]

    def objective(flat: Array) -> tuple[float, Array]:
        W = flat.reshape(-1, K)
        P = softmax(A @ W, axis=1)
        m = (P * likelihood).sum(axis=1)
        G = A.T @ (P - P * likelihood / m[:, None])
        G[:-1] += PENALTY * W[:-1]
        return -np.log(m).sum() + PENALTY / 2 * (W[:-1] ** 2).sum(), G.ravel()

    start = np.zeros(A.shape[1] * K)
    W = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x.reshape(-1, K)
    return lambda B: np.asarray(softmax(np.c_[B, np.ones(len(B))] @ W, axis=1))


def _trees(learner: str, X: Array, likelihood: Array) -> Callable[[Array], Array]:
    """The library's trees, with its own settings, on the gradient of the likelihood; nothing is chosen."""
    from tacit.labels.fitting.boosting.libraries import library_of
    from tacit.labels.fitting.boosting.objective import ReleasedObjective

    K = likelihood.shape[1]
    objective = ReleasedObjective(
        likelihood=likelihood,
        weights=None,
        start=np.zeros(K),
        points=np.array([0.0, 1.0]) if K == 2 else None,
        bound=1.0,  # and so no rule of ours about noise
    )
    library = library_of(LEARNERS[learner](), scores=objective.scores)
    assert library is not None
    model = library.prepared(LEARNERS[learner](), objective)
    fitted = library.grow(model, X, objective, rounds=library.rounds(model), held=None, options={})
    return lambda B: objective.probabilities(library.scores(fitted, B))
