"""The likelihood of each released row under each true label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes
from tacit.labels.fitting.shares import likeliest_shares, shares_of_outputs, uniform_channel
from tacit.privacy.errors import InvalidInput

__all__ = ["LabelChannel", "ReleasedEvidence", "evidence_of_classes", "evidence_of_numbers", "spread"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelChannel:
    """One transition matrix for all rows, and what came out of it."""

    outputs: Codes
    transition: Array

    @cached_property
    def uniform(self) -> tuple[float, float] | None:
        """The probabilities of a label's own output and of each other, where these are the same for all labels."""
        return uniform_channel(self.transition)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedEvidence:
    """How likely each row's released value is under each true label."""

    classes: tuple[Any, ...]  # the labels that the columns of ``likelihood`` represent
    # ``likelihood[i, y]`` = P(row i's released value | label y), up to a factor of the row; 1 where nothing was
    # released
    likelihood: Array
    # the released class, as a code, or the likeliest one where none was released as such; ``MISSING`` where nothing
    # was. For numbers: the place among the mechanism's outputs
    outputs: Codes
    # the prior that the mechanism drew each row with, one row for all or one per row; None where it uses none
    prior: Array | None
    channel: LabelChannel | None = None  # where all rows went through one finite channel
    one_hot: Array | None = None  # where the released values estimate the one-hot label without bias

    @property
    def unbiased(self) -> Array | None:
        """An unbiased estimate of each row's one-hot label, by T^-1 for a channel T; None if there is none."""
        if self.one_hot is not None or self.channel is None:
            return self.one_hot
        transition, outputs = self.channel.transition, self.channel.outputs
        if self.channel.uniform is not None:
            keep, other = self.channel.uniform
            estimate = np.full((len(outputs), len(transition)), -other / (keep - other))
            estimate[np.arange(len(outputs)), outputs] += 1 / (keep - other)
            return estimate
        if transition.shape[0] != transition.shape[1] or np.linalg.matrix_rank(transition) < len(transition):
            return None
        return np.asarray(np.linalg.inv(transition)[outputs])

    @cached_property
    def shares(self) -> Array:
        """P(label) without a row's own released value: one row for all, or one per row where each has its own prior.

        A prior for all rows is what the mechanism was made for, and need not be what the labels are like: the shares
        are those that make the release likely.
        """
        if self.prior is not None and len(np.atleast_2d(self.prior)) > 1:
            return self.prior
        start = np.full(len(self.classes), 1 / len(self.classes)) if self.prior is None else np.ravel(self.prior)
        if self.channel is None:
            return likeliest_shares(self.likelihood[self.present], start=start)[None]
        outputs = self.channel.outputs[self.present]
        return shares_of_outputs(outputs, transition=self.channel.transition, start=start)[None]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows have a released value."""
        return np.asarray(self.outputs != MISSING)


def evidence_of_classes(
    classes: Classes, column: pa.ChunkedArray, *, transition: Array, prior: Array | None
) -> ReleasedEvidence:
    """Return the likelihood of each released class."""
    channel = LabelChannel(outputs=classes.encode(column), transition=transition)
    return _of_channel(channel, classes.values, prior)


def evidence_of_numbers(
    column: pa.ChunkedArray, *, outputs: Array, values: Array, transition: Array, prior: Array
) -> ReleasedEvidence:
    """Return the likelihood of each released number."""
    codes = pc.index_in(column, value_set=pa.array(outputs, pa.float64()))
    unknown = column.filter(pc.and_(codes.is_null(), column.is_valid()))
    if len(unknown):
        raise InvalidInput(
            f"must be among the mechanism's outputs {outputs.tolist()!r}, got {unknown[0].as_py()!r}", field="labels"
        )
    places = np.asarray(codes.fill_null(MISSING), dtype=np.int64)
    channel = LabelChannel(outputs=places, transition=transition)
    return _of_channel(channel, tuple(values.tolist()), prior)


def _of_channel(channel: LabelChannel, classes: tuple[Any, ...], prior: Array | None) -> ReleasedEvidence:
    present = channel.outputs != MISSING
    likelihood = spread(channel.transition.T[channel.outputs[present]], present)
    return ReleasedEvidence(
        classes=classes, likelihood=likelihood, outputs=channel.outputs, prior=prior, channel=channel
    )


def spread(likelihood: Array, present: NDArray[np.bool_]) -> Array:
    """Return a row for each row of the release, 1 where nothing was released."""
    result = np.ones((len(present), likelihood.shape[1]))
    result[present] = likelihood
    return result
