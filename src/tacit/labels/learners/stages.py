"""Randomize labels in one or more stages: earlier rows teach the prior of later ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import Classes
from tacit.labels.fitting.denoise import Denoise
from tacit.labels.fitting.model import Weights, fit_soft, unbalanced
from tacit.labels.mechanisms.column import column_of
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.labels.releases.evidence import PRIOR, STAGE, prior_column, read_evidence
from tacit.labels.releases.source import LABEL
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import is_seeded
from tacit.privacy.release import Release
from tacit.privacy.rounding import check_count

__all__ = ["Randomized", "bind_mechanism", "has_row_priors", "randomize_in_stages", "read_release", "staged_release"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Randomized:
    """Released labels, and how likely each is for every true label.

    Parameters
    ----------
    given
        The released classes, as codes.
    likelihood
        P(given | true label = c) as column c.
    stage
        When each row was randomized.
    prior
        The prior that each row was randomized under, NaN in the first stage; None where no row has its own.

    Examples
    --------
    >>> Randomized(given=np.array([1]), likelihood=np.array([[0.3, 0.7]]), stage=np.array([0])).given
    array([1])
    """

    given: NDArray[np.int64]
    likelihood: NDArray[np.float64]
    stage: NDArray[np.int64]
    prior: NDArray[np.float32] | None = None


def randomize_in_stages(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    codes: NDArray[np.int64],
    *,
    mechanism: Any,  # noqa: ANN401
    stages: int,
    denoise: Denoise,
    sample_weight: Weights = None,
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
    >>> from tacit.labels.fitting.denoise import AsGiven
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
    priors = np.full((len(codes), K), np.nan, dtype=np.float32)
    first = stage == 0
    if has_row_priors(mechanism):
        priors[first] = mechanism.prior
    given[first] = mechanism.randomize(codes[first], rng=rng)
    likelihood[first] = mechanism.likelihood(given[first])
    for number in range(1, stages):
        seen, now = stage < number, stage == number
        if not now.any():
            continue
        weights = None if sample_weight is None else sample_weight[seen]
        targets = denoise.targets(
            estimator, X[seen], likelihood=likelihood[seen], given=given[seen], sample_weight=weights, rng=rng
        )
        # rounded as it is written down: whoever reads the release finds the same best k
        fit = getattr(denoise, "fit", fit_soft)
        model = fit(unbalanced(estimator), X[seen], targets, sample_weight=weights, rng=rng)
        priors[now] = model.probabilities(X[now])
        later = PriorRandomizedResponse(epsilon=mechanism.epsilon, prior=priors[now])
        given[now] = later.randomize(codes[now], rng=rng)
        likelihood[now] = later.likelihood(given[now])
    return Randomized(given=given, likelihood=likelihood, stage=stage, prior=None if np.isnan(priors).all() else priors)


def has_row_priors(mechanism: object) -> bool:
    """Whether each row is randomized under a prior of its own.

    Examples
    --------
    >>> has_row_priors(PriorRandomizedResponse(epsilon=1.0, prior=np.full((5, 2), 0.5)))
    True
    """
    return isinstance(mechanism, PriorRandomizedResponse) and len(mechanism.prior) > 1


def bind_mechanism(mechanism: Any, *, classes: int, rows: int, stages: int) -> Any:  # noqa: ANN401
    """Return the mechanism for these classes, or raise if it cannot randomize these rows in these stages.

    Examples
    --------
    >>> bind_mechanism(None, classes=3, rows=10, stages=1)
    RandomizedResponse(epsilon=1.0, classes=3)
    >>> from tacit.labels.mechanisms.one_hot import LaplaceOneHot
    >>> bind_mechanism(LaplaceOneHot(epsilon=1.0), classes=3, rows=10, stages=1)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: mechanism must release classes, got LaplaceOneHot; make the release with
    protect_table, and fit on it
    """
    asked = RandomizedResponse(epsilon=1.0) if mechanism is None else mechanism
    if not hasattr(asked, "likelihood"):
        raise InvalidInput(
            f"mechanism must release classes, got {type(asked).__name__}; make the release with protect_table, "
            "and fit on it"
        )
    bound: Any = asked.bind(classes)
    if has_row_priors(bound):
        if stages > 1 or len(bound.prior) != rows:
            raise InvalidInput(
                f"prior must be one for all rows, or one a row with stages=1, got {len(bound.prior)} for {rows} rows"
            )
        bound = replace(bound, prior=bound.prior.astype(np.float32))  # as it is written down
    # an epsilon that no coin can be made for is known before it is charged
    RandomizedResponse(epsilon=bound.epsilon, classes=2).randomize(np.zeros(1, int), rng=np.random.default_rng(0))
    return bound


def staged_release(
    randomized: Randomized,
    coding: Classes,
    *,
    mechanism: Any,  # noqa: ANN401
    guarantee: Guarantee,
    rng: np.random.Generator,
) -> Release:
    """Return what an outsider sees: the labels, their stages, and the priors of rows that have their own.

    The priors are functions of the features and of labels released in earlier stages: they cost nothing, and with them
    the release alone says how likely each label is.

    Examples
    --------
    >>> randomized = Randomized(given=np.array([1]), likelihood=np.array([[0.3, 0.7]]), stage=np.array([0]))
    >>> rr = RandomizedResponse(epsilon=1.0, classes=2)
    >>> staged_release(randomized, Classes(values=("a", "b")), mechanism=rr, guarantee=rr.guarantee(),
    ...                rng=np.random.default_rng(0)).value.to_pylist()
    [{'label': 'b', 'stage': 0}]
    """
    columns = {LABEL: coding.decode(randomized.given), STAGE: pa.array(randomized.stage)}
    described = {"name": mechanism.name, "epsilon": mechanism.epsilon, "classes": list(coding.values)}
    if not has_row_priors(mechanism):
        described = column_of(coding, mechanism=mechanism).describe()
    described["stages"] = int(randomized.stage.max()) + 1
    if randomized.prior is not None:
        columns[PRIOR] = prior_column(randomized.prior)
    return Release(
        value=pa.table(columns), guarantee=guarantee, surface="labels", mechanism=described, seeded=is_seeded(rng)
    )


def read_release(release: Release, *, rows: int) -> tuple[Classes, Randomized, NDArray[np.int64]]:
    """Read the labels of a release, with their likelihood, and which rows have one.

    Examples
    --------
    >>> from tacit.labels.releases.labels import release_labels
    >>> release = release_labels(["a", "b"], mechanism=RandomizedResponse(epsilon=1.0), rng=np.random.default_rng(0))
    >>> read_release(release, rows=2)[1].likelihood.shape
    (2, 2)
    """
    if release.surface != "labels" or "classes" not in release.mechanism:
        raise InvalidInput(
            f"y must be a release of labels with a class list, got one of {release.surface} by "
            f"{release.mechanism['name']}; numbers are for LabelPrivateRegressor"
        )
    evidence = read_evidence(release)
    if len(evidence.outputs) != rows:
        raise InvalidInput(f"y must have one label for each of the {rows} rows of X, got {len(evidence.outputs)}")
    present = np.flatnonzero(evidence.present)
    given, likelihood = evidence.outputs[present], evidence.likelihood[present]
    randomized = Randomized(given=given, likelihood=likelihood, stage=np.zeros(len(given), np.int64))
    return Classes(values=evidence.classes), randomized, present
