"""Randomize labels in one or more stages: earlier rows teach the prior of later ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.labels.learn.denoise import Denoise
from tacit.labels.learn.model import fit_soft
from tacit.labels.protect.coding import Classes
from tacit.labels.protect.prior import PriorRandomizedResponse
from tacit.labels.protect.response import RandomizedResponse
from tacit.privacy.errors import InvalidInput
from tacit.privacy.release import Release
from tacit.privacy.rounding import check_count

__all__ = ["Randomized", "randomize_in_stages", "read_release"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Randomized:
    """Released labels, and how likely each is for every true label.

    Examples
    --------
    >>> Randomized(given=np.array([1]), likelihood=np.array([[0.3, 0.7]]), stage=np.array([0])).given
    array([1])
    """

    given: NDArray[np.int64]
    likelihood: NDArray[np.float64]
    stage: NDArray[np.int64]


def randomize_in_stages(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    codes: NDArray[np.int64],
    *,
    mechanism: Any,  # noqa: ANN401
    stages: int,
    denoise: Denoise,
    rng: np.random.Generator,
) -> Randomized:
    """Release every label once: the first part by ``mechanism``, each later part by its best RRTop-k.

    The parts are disjoint and each label is read once, so the guarantee of the whole is that of one label's
    release (parallel composition, adaptively chosen).

    References
    ----------
    Ghazi et al. (2021), Algorithm 3. Formula sheet a6.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tacit.labels.learn.denoise import AsGiven
    >>> X, y = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    >>> rr = RandomizedResponse(epsilon=2.0, classes=2)
    >>> released = randomize_in_stages(LogisticRegression(), X, y, mechanism=rr, stages=2, denoise=AsGiven(),
    ...                                rng=np.random.default_rng(0))
    >>> np.bincount(released.stage)
    array([20, 20])
    """
    check_count(stages, name="stages")
    K = int(mechanism.classes)
    stage = rng.permutation(np.arange(len(codes)) % stages)
    given = np.full(len(codes), -1)
    likelihood = np.zeros((len(codes), K))
    first = stage == 0
    given[first] = mechanism.randomize(codes[first], rng=rng)
    likelihood[first] = mechanism.likelihood(given[first])
    for number in range(1, stages):
        seen, now = stage < number, stage == number
        if not now.any():
            continue
        targets = denoise.targets(estimator, X[seen], likelihood=likelihood[seen], given=given[seen], rng=rng)
        prior = fit_soft(estimator, X[seen], targets, rng=rng).probabilities(X[now])
        later = PriorRandomizedResponse(epsilon=mechanism.epsilon, prior=prior)
        given[now] = later.randomize(codes[now], rng=rng)
        likelihood[now] = later.likelihood(given[now])
    return Randomized(given=given, likelihood=likelihood, stage=stage)


def read_release(release: Release, *, rows: int) -> tuple[Classes, Randomized]:
    """Read the labels of a randomized-response release, with their likelihood.

    Examples
    --------
    >>> from tacit.labels import release_labels
    >>> release = release_labels(["a", "b"], mechanism=RandomizedResponse(epsilon=1.0), rng=np.random.default_rng(0))
    >>> read_release(release, rows=2)[1].likelihood.shape
    (2, 2)
    """
    described = release.mechanism
    if release.surface != "labels" or described["name"] != RandomizedResponse.name or described.get("stages", 1) != 1:
        raise InvalidInput(
            f"y must be a release of labels by randomized response, got one of {release.surface} by {described['name']}"
        )
    coding = Classes(values=tuple(described["classes"]))
    mechanism = RandomizedResponse(epsilon=described["epsilon"], classes=len(coding))
    given = coding.encode(release.value["label"])
    if len(given) != rows or (given < 0).any():
        raise InvalidInput(f"y must have one label for each of the {rows} rows of X, got {int((given >= 0).sum())}")
    return coding, Randomized(given=given, likelihood=mechanism.likelihood(given), stage=np.zeros(rows, np.int64))
