"""What the features alone reveal about the labels: the baseline of every attack."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["calibrated_prior", "doubt_of", "feature_prior", "out_of_fold", "temper_prior"]

_MANY = 100  # rows for each distinct feature row, on average, from which equal rows are counted and not modeled
_FOLDS, _TREES = 5, 100
_MOST_CHANCE = 1 - 1e-6  # the rest keeps the best guess, and is negligible beside a score


def feature_prior(features: NDArray[np.float64], labels: NDArray[Any], *, classes: int) -> NDArray[np.float64]:
    """Return the probability of every row's label from its features and no score, (rows, classes).

    With 100 rows or more per distinct feature row, these are the shares of labels among equal rows; otherwise a forest
    predicts each row by trees that have not seen it. The best guess from it is the label-independent baseline.

    The shares count a row's own label, which makes the baseline too good by about 0.4 sqrt(distinct rows / rows), at
    most 4 points for two classes if every label is a fair coin, and less if the features reveal more. Leaving the own
    label out would correct the guess but spoil the prior: equal rows would then differ only by their labels, so the
    prior would reveal them, and an attack that asks for uncertain rows first would ask in an order made by the labels
    that it is to find.
    """
    codes = np.asarray(labels)
    if len(features) != len(codes) or not len(codes):
        raise InvalidInput(
            f"must have a row for each of the {len(codes)} labels, got {len(features)}", field="features"
        )
    if not features.shape[1]:
        return np.tile(np.bincount(codes, minlength=classes) / len(codes), (len(codes), 1))
    cells, which = np.unique(features, axis=0, return_inverse=True)
    if len(cells) * _MANY <= len(codes):
        counts = np.zeros((len(cells), classes))
        np.add.at(counts, (which.ravel(), codes), 1.0)
        return np.asarray((counts / counts.sum(axis=1, keepdims=True))[which.ravel()])
    return _by_forest(features, codes, classes=classes)


def temper_prior(prior: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mix beliefs with chance until they are calibrated; the best guesses do not change.

    If the features predict the labels poorly, trees are overconfident, and an attack that believes them asks for the
    wrong rows and gives the scores too little weight.
    """
    right = float((prior.argmax(axis=1) == labels).mean())
    sure, chance = float(prior.max(axis=1).mean()), 1 / prior.shape[1]
    if sure <= max(right, chance):
        return prior
    part = min(_MOST_CHANCE, (sure - right) / (sure - chance))
    return np.asarray(prior + part * (chance - prior))


def doubt_of(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row the probability of its second likeliest label relative to its two likeliest, at most 1/2.

    Examples
    --------
    >>> doubt_of(np.array([[0.6, 0.2, 0.2], [0.5, 0.5, 0.0]]))
    array([0.25, 0.5 ])
    """
    best = np.sort(prior, axis=1)[:, ::-1][:, :2]
    return np.asarray(best[:, 1] / best.sum(axis=1))


def calibrated_prior(features: NDArray[np.float64], labels: NDArray[Any], *, classes: int) -> NDArray[np.float64]:
    """Return :func:`feature_prior`, calibrated: what an attacker believes before any release."""
    return temper_prior(feature_prior(features, labels, classes=classes), labels)


def out_of_fold(
    features: NDArray[np.float64],
    labels: NDArray[Any],
    *,
    classes: int,
    learner: Any,  # noqa: ANN401
    seed: int,
) -> NDArray[np.float64]:
    """Return P(label | features) of every row from copies of ``learner`` that have not seen its label."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    prior = np.zeros((len(labels), classes))
    folds = KFold(min(_FOLDS, len(labels)), shuffle=True, random_state=seed)
    for seen, unseen in folds.split(features):
        if (labels[seen] == labels[seen][0]).all():  # a rare label in one fold alone
            prior[unseen, labels[seen][0]] = 1.0
            continue
        fitted = clone(learner).fit(features[seen], labels[seen])
        prior[np.ix_(unseen, fitted.classes_)] = fitted.predict_proba(features[unseen])
    return prior


_KEPT: dict[bytes, NDArray[np.float64]] = {}
_MOST_KEPT = 4


def _by_forest(features: NDArray[np.float64], codes: NDArray[Any], *, classes: int) -> NDArray[np.float64]:
    """Return what a forest believes, kept for the next attack: an audit attacks the same rows for each epsilon."""
    from sklearn.ensemble import RandomForestClassifier

    digest = sha256(f"{classes} {features.shape} {features.dtype} {codes.dtype}".encode())
    for array in (features, codes):
        digest.update(np.ascontiguousarray(array).data)
    key = digest.digest()
    if key not in _KEPT:
        forest = RandomForestClassifier(_TREES, min_samples_leaf=2, random_state=0)
        _KEPT[key] = out_of_fold(features, codes, classes=classes, learner=forest, seed=0)
        if len(_KEPT) > _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
    return _KEPT[key].copy()
