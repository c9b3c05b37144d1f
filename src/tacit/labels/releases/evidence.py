"""What each row of a label release says about its true label, read from the release alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes
from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
from tacit.labels.mechanisms.one_hot import LaplaceOneHot
from tacit.labels.mechanisms.optimal import OptimalUnbiased
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.privacy.errors import InvalidInput
from tacit.privacy.release import Release

__all__ = ["PRIOR", "STAGE", "Channel", "Evidence", "LabelMechanism", "prior_column", "read_evidence"]

STAGE, PRIOR = "stage", "prior"
"""The columns of a release in stages: when each row was randomized, and under which prior, null in the first stage."""

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
    outputs
        The released class, as a code, or the likeliest one where none was released as such; ``MISSING`` where nothing
        was. For numbers: the place among the mechanism's outputs.
    prior
        What the release says about labels before they were released: the mechanism's public prior, of all rows or of
        each, or the class shares estimated from all rows.
    channel
        Where all rows went through one finite channel.

    Examples
    --------
    >>> evidence = Evidence(classes=("a", "b"), likelihood=np.array([[0.7, 0.3], [1.0, 1.0]]),
    ...                     outputs=np.array([0, MISSING]), prior=np.array([[0.5, 0.5]]))
    >>> evidence.present
    array([ True, False])
    """

    classes: tuple[Any, ...]
    likelihood: Array
    outputs: Codes
    prior: Array
    channel: Channel | None = None

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows have a released value."""
        return np.asarray(self.outputs != MISSING)


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
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> from tacit.labels.releases.labels import release_labels
    >>> release = release_labels(["a", "b"], mechanism=RandomizedResponse(epsilon=1.0), rng=np.random.default_rng(0))
    >>> read_evidence(release).likelihood.sum(axis=1).round(6)
    array([1., 1.])
    """
    if release.surface != "labels" or "label" not in getattr(release.value, "column_names", ()):
        raise InvalidInput(f"release must be a table of labels, with a column 'label', got one of {release.surface}")
    try:
        if mechanism is None and release.mechanism.get("stages", 1) > 1:
            return _of_stages(release)
        return _evidence(release, _rebuild(release) if mechanism is None else mechanism)
    except KeyError as absent:
        raise InvalidInput(f"release must say the {absent.args[0]} of its mechanism in its header") from None


def _evidence(release: Release, mechanism: LabelMechanism) -> Evidence:
    column = release.value["label"]
    if column.null_count == len(column):
        raise InvalidInput("release must have at least one label, got only missing ones")
    if isinstance(mechanism, LaplaceOneHot):
        return _of_one_hot(column, mechanism, tuple(release.mechanism["classes"]))
    if isinstance(mechanism, NumberMechanism):
        # as they were written: another machine's exp or dot product can differ in the last bit
        return _of_numbers(column, mechanism, outputs=release.mechanism.get("outputs", mechanism.outputs.tolist()))
    return _of_classes(column, mechanism, tuple(release.mechanism["classes"]))


def _rebuild(release: Release) -> LabelMechanism:
    """The mechanism from the release's header, and from its column of priors where each row has its own."""
    header = release.mechanism
    name = header["name"]
    if name == RandomizedResponse.name:
        return RandomizedResponse(epsilon=header["epsilon"], classes=len(header["classes"]))
    if name == PriorRandomizedResponse.name and ("prior" in header or "stages" in header):
        prior = np.array(header["prior"]) if "prior" in header else _row_priors(release.value[PRIOR])
        return PriorRandomizedResponse(epsilon=header["epsilon"], prior=prior)
    if name == LaplaceOneHot.name:
        return LaplaceOneHot(epsilon=header["epsilon"], classes=len(header["classes"]))
    if name == RandomizedResponseOnBins.name:
        values, weights = np.array(header["values"]), np.array(header["prior"])
        return RandomizedResponseOnBins(epsilon=header["epsilon"], values=values, prior=weights)
    raise InvalidInput(f"mechanism must be given: the header of this release by {name} does not have all of it")


def _of_stages(release: Release) -> Evidence:
    """The first stage by the mechanism of the header, each later row by RRTop-k under its own prior."""
    table = pa.table(release.value)
    if PRIOR not in table.column_names:
        raise InvalidInput(f"mechanism must be given: this release in stages has no column {PRIOR!r}")
    later = np.asarray(table[PRIOR].is_valid())
    first = _evidence(_part(release, ~later), _rebuild(release))
    priors = _row_priors(table[PRIOR].drop_null())
    second = _evidence(
        _part(release, later), PriorRandomizedResponse(epsilon=release.mechanism["epsilon"], prior=priors)
    )
    shape = (len(later), len(first.classes))
    likelihood, prior, outputs = np.empty(shape), np.empty(shape), np.empty(len(later), np.int64)
    for rows, part in ((~later, first), (later, second)):
        likelihood[rows], prior[rows], outputs[rows] = part.likelihood, part.prior, part.outputs
    return Evidence(classes=first.classes, likelihood=likelihood, outputs=outputs, prior=prior)


def _part(release: Release, rows: NDArray[np.bool_]) -> Release:
    return replace(release, value=pa.table(release.value).filter(pa.array(rows)))


def prior_column(prior: NDArray[np.float32]) -> pa.Array:
    """Return the priors of rows as a column of lists; a row that is not a number has none.

    Examples
    --------
    >>> prior_column(np.array([[0.5, 0.5], [np.nan, np.nan]], dtype=np.float32)).to_pylist()
    [[0.5, 0.5], None]
    """
    none = np.isnan(prior[:, 0])
    ends = np.concatenate([[0], np.cumsum(~none) * prior.shape[1]]).astype(np.int64)
    values = pa.array(prior[~none].ravel())
    return pa.LargeListArray.from_arrays(pa.array(ends), values, mask=pa.array(none))


def _row_priors(column: pa.ChunkedArray) -> NDArray[Any]:
    rows = np.asarray(column.combine_chunks().flatten(), dtype=np.float32)
    return rows.reshape(len(column), -1)


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
    return Evidence(classes=classes, likelihood=likelihood, outputs=outputs, prior=mechanism.prior)


def _of_numbers(column: pa.ChunkedArray, mechanism: NumberMechanism, *, outputs: Sequence[float]) -> Evidence:
    if len(outputs) != len(mechanism.outputs):
        raise InvalidInput(f"mechanism must have the release's {len(outputs)} outputs, got {len(mechanism.outputs)}")
    codes = _places(column, outputs)
    transition = np.array(mechanism.exact_transition(), dtype=np.float64)
    channel = Channel(outputs=codes, transition=transition)
    return _of_channel(channel, tuple(mechanism.values.tolist()), np.atleast_2d(mechanism.prior))


def _places(column: pa.ChunkedArray, outputs: Sequence[float]) -> Codes:
    """The place of each number among the outputs, of which a sure prior leaves one; ``MISSING`` for a null."""
    codes = pc.index_in(column, value_set=pa.array(outputs, pa.float64()))
    unknown = column.filter(pc.and_(codes.is_null(), column.is_valid()))
    if len(unknown):
        raise InvalidInput(
            f"labels must be among the mechanism's outputs {list(outputs)!r}, got {unknown[0].as_py()!r}"
        )
    return np.asarray(codes.fill_null(MISSING), dtype=np.int64)


def _of_channel(channel: Channel, classes: tuple[Any, ...], prior: Array) -> Evidence:
    present = channel.outputs != MISSING
    likelihood = _everywhere(channel.transition.T[channel.outputs[present]], present)
    return Evidence(classes=classes, likelihood=likelihood, outputs=channel.outputs, prior=prior, channel=channel)


def _of_one_hot(column: pa.ChunkedArray, mechanism: LaplaceOneHot, classes: tuple[Any, ...]) -> Evidence:
    present = ~np.asarray(column.is_null())
    seen = column.drop_null()
    rows = np.asarray(seen.combine_chunks().flatten(), dtype=np.float64).reshape(len(seen), -1)
    log = mechanism.log_likelihood(rows)
    likelihood = _everywhere(np.exp(log - log.max(axis=1, keepdims=True)), present)
    prior = _shares(mechanism.estimate_counts(rows))
    outputs = np.where(present, likelihood.argmax(axis=1), MISSING)
    return Evidence(classes=classes, likelihood=likelihood, outputs=outputs, prior=prior)


def _everywhere(likelihood: Array, present: NDArray[np.bool_]) -> Array:
    result = np.ones((len(present), likelihood.shape[1]))
    result[present] = likelihood
    return result


def _shares(counts: Array) -> Array:
    """Counts estimated without bias can be negative; as shares they are cut at 0."""
    shares = np.maximum(counts, 0.0)
    return np.atleast_2d(shares / shares.sum())
