"""What each row of a label release says about its true label, read from the release alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.labels.protect.bins import RandomizedResponseOnBins
from tacit.labels.protect.coding import MISSING, Classes
from tacit.labels.protect.laplace import LaplaceOneHot
from tacit.labels.protect.prior import PriorRandomizedResponse
from tacit.labels.protect.response import RandomizedResponse
from tacit.labels.protect.unbiased import OptimalUnbiased
from tacit.privacy.errors import InvalidInput
from tacit.privacy.release import Release

__all__ = ["Channel", "Evidence", "LabelMechanism", "read_evidence"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
NumberMechanism = RandomizedResponseOnBins | OptimalUnbiased
LabelMechanism = RandomizedResponse | PriorRandomizedResponse | LaplaceOneHot | NumberMechanism


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Channel:
    """One transition matrix for all rows, and what came out of it.

    Examples
    --------
    >>> Channel(outputs=np.array([1, -1]), transition=np.eye(2)).outputs
    array([ 1, -1])
    """

    outputs: Codes
    transition: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """How likely each row's released value is under each true label.

    Parameters
    ----------
    classes
        The labels that the columns of ``likelihood`` stand for.
    likelihood
        ``likelihood[i, y]`` = P(row i's released value | label y), up to a factor of the row; 1 where nothing was
        released.
    present
        Which rows have a released value.
    prior
        What the release says about labels in general: the mechanism's public prior, or the class shares estimated from
        all rows.
    channel
        Where all rows went through one finite channel.

    Examples
    --------
    >>> evidence = Evidence(classes=("a", "b"), likelihood=np.array([[0.7, 0.3]]), present=np.array([True]),
    ...                     prior=np.array([[0.5, 0.5]]))
    >>> len(evidence.present)
    1
    """

    classes: tuple[Any, ...]
    likelihood: Array
    present: NDArray[np.bool_]
    prior: Array
    channel: Channel | None = None


def read_evidence(release: Release, *, mechanism: LabelMechanism | None = None) -> Evidence:
    """Read the likelihood of every row from a release of labels.

    Parameters
    ----------
    release
        Of the surface ``labels``, with a column ``label``.
    mechanism
        Needed where the release's header does not have all of its public parameters, such as a prior for each row.

    Examples
    --------
    >>> from tacit.labels import RandomizedResponse, release_labels
    >>> release = release_labels(["a", "b"], mechanism=RandomizedResponse(epsilon=1.0), rng=np.random.default_rng(0))
    >>> read_evidence(release).likelihood.sum(axis=1).round(6)
    array([1., 1.])
    """
    if release.surface != "labels" or "label" not in getattr(release.value, "column_names", ()):
        raise InvalidInput(f"release must be a table of labels, with a column 'label', got one of {release.surface}")
    try:
        known = _rebuild(release) if mechanism is None else mechanism
        return _evidence(release, known)
    except KeyError as absent:
        raise InvalidInput(f"release must say the {absent.args[0]} of its mechanism in its header") from None


def _evidence(release: Release, mechanism: LabelMechanism) -> Evidence:
    column = release.value["label"]
    if column.null_count == len(column):
        raise InvalidInput("release must have at least one label, got only missing ones")
    if isinstance(mechanism, LaplaceOneHot):
        return _of_one_hot(column, mechanism, tuple(release.mechanism["classes"]))
    if isinstance(mechanism, NumberMechanism):
        return _of_numbers(column, mechanism)
    return _of_classes(column, mechanism, tuple(release.mechanism["classes"]))


def _rebuild(release: Release) -> LabelMechanism:
    """The mechanism from the release's header."""
    header = release.mechanism
    name = header["name"]
    if name == RandomizedResponse.name and header.get("stages", 1) == 1:
        return RandomizedResponse(epsilon=header["epsilon"], classes=len(header["classes"]))
    if name == PriorRandomizedResponse.name and "prior" in header:
        return PriorRandomizedResponse(epsilon=header["epsilon"], prior=np.array(header["prior"]))
    if name == LaplaceOneHot.name:
        return LaplaceOneHot(epsilon=header["epsilon"], classes=len(header["classes"]))
    if name == RandomizedResponseOnBins.name:
        values, prior = np.array(header["values"]), np.array(header["prior"])
        return RandomizedResponseOnBins(epsilon=header["epsilon"], values=values, prior=prior)
    raise InvalidInput(f"mechanism must be given: the header of this release by {name} does not have all of it")


def _of_classes(
    column: pa.ChunkedArray, mechanism: RandomizedResponse | PriorRandomizedResponse, classes: tuple[Any, ...]
) -> Evidence:
    outputs = Classes(values=classes).encode(column)
    if isinstance(mechanism, RandomizedResponse):
        bound = mechanism.bind(len(classes))
        shares = _shares(bound.estimate_counts(outputs[outputs != MISSING]))
        return _of_channel(Channel(outputs=outputs, transition=bound.transition()), classes, shares)
    if len(mechanism.prior) == 1:
        return _of_channel(Channel(outputs=outputs, transition=mechanism.transition()), classes, mechanism.prior)
    if len(mechanism.prior) != len(outputs):
        raise InvalidInput(f"mechanism must have a prior for each of {len(outputs)} rows, got {len(mechanism.prior)}")
    present = outputs != MISSING
    each = PriorRandomizedResponse(epsilon=mechanism.epsilon, prior=mechanism.prior[present])
    likelihood = _everywhere(each.likelihood(outputs[present]), present)
    return Evidence(classes=classes, likelihood=likelihood, present=present, prior=mechanism.prior)


def _of_numbers(column: pa.ChunkedArray, mechanism: NumberMechanism) -> Evidence:
    outputs = Classes(values=tuple(mechanism.outputs.tolist())).encode(column)
    transition = np.array(mechanism.exact_transition(), dtype=np.float64)
    channel = Channel(outputs=outputs, transition=transition)
    return _of_channel(channel, tuple(mechanism.values.tolist()), np.atleast_2d(mechanism.prior))


def _of_channel(channel: Channel, classes: tuple[Any, ...], prior: Array) -> Evidence:
    present = channel.outputs != MISSING
    likelihood = _everywhere(channel.transition.T[channel.outputs[present]], present)
    return Evidence(classes=classes, likelihood=likelihood, present=present, prior=prior, channel=channel)


def _of_one_hot(column: pa.ChunkedArray, mechanism: LaplaceOneHot, classes: tuple[Any, ...]) -> Evidence:
    present = ~np.asarray(column.is_null())
    seen = column.drop_null()
    rows = np.asarray(seen.combine_chunks().flatten(), dtype=np.float64).reshape(len(seen), -1)
    log = mechanism.log_likelihood(rows)
    likelihood = _everywhere(np.exp(log - log.max(axis=1, keepdims=True)), present)
    prior = _shares(mechanism.estimate_counts(rows))
    return Evidence(classes=classes, likelihood=likelihood, present=present, prior=prior)


def _everywhere(likelihood: Array, present: NDArray[np.bool_]) -> Array:
    result = np.ones((len(present), likelihood.shape[1]))
    result[present] = likelihood
    return result


def _shares(counts: Array) -> Array:
    """Counts estimated without bias can be negative; as shares they are cut at 0."""
    shares = np.maximum(counts, 0.0)
    return np.atleast_2d(shares / shares.sum())
