"""A mechanism bound to its classes: it encodes, draws, describes itself, and reads what was released."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes
from tacit.labels.mechanisms.evidence import Channel, Evidence, evidence_of_channel, shares_of, spread
from tacit.labels.mechanisms.finite import estimate_counts
from tacit.labels.mechanisms.one_hot import LaplaceOneHot
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.labels.mechanisms.values import Values

if TYPE_CHECKING:
    from tacit.labels.mechanisms.stages import StageLearner

__all__ = ["LABEL", "ClassColumn", "Coding", "LabelColumn", "OneHotColumn", "listed_classes"]

LABEL = "label"
"""The name of the released column, whatever the private one is called."""

Codes = NDArray[np.int64]
Coding = Classes | Values


class LabelColumn(ABC):
    """How the labels of a table are released."""

    coding: Coding
    at_once: ClassVar[bool] = False
    """Whether it must see all rows, with their features, and not a batch at a time."""

    def draw(self, codes: Codes, *, rng: np.random.Generator, learner: StageLearner | None = None) -> pa.Table:  # noqa: ARG002
        """Draw one released value for each code, null where the code is ``MISSING``; each code is used once."""
        present = codes != MISSING
        drawn = self.emit(codes[present], rng=rng)
        if not present.all():
            drawn = drawn.take(pa.array(np.cumsum(present) - 1, mask=~present))
        return pa.table({LABEL: drawn})

    @abstractmethod
    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        """Draw one released value for each code; none is missing."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return in public terms, as plain JSON, what a release needs to be read."""

    @abstractmethod
    def evidence(self, rows: pa.Table) -> Evidence:
        """Return what released rows say about their labels."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassColumn(LabelColumn):
    """Classes to classes; ``prior`` where the mechanism has one."""

    coding: Classes
    mechanism: RandomizedResponse | PriorRandomizedResponse
    prior: NDArray[np.float64] | None = None

    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        """Draw classes."""
        return self.coding.decode(self.mechanism.randomize(codes, rng=rng))

    def describe(self) -> dict[str, Any]:
        """Return the classes, and the prior."""
        prior = {} if self.prior is None else {"prior": self.prior[0].tolist()}
        return {"classes": list(self.coding.values), **prior}

    def evidence(self, rows: pa.Table) -> Evidence:
        """Return the likelihood of each released class."""
        outputs, transition = self.coding.encode(rows[LABEL]), self.mechanism.transition()
        prior = self.prior
        if prior is None:
            prior = shares_of(estimate_counts(transition, outputs[outputs != MISSING]))
        return evidence_of_channel(Channel(outputs=outputs, transition=transition), self.coding.values, prior)


@dataclass(frozen=True, slots=True, eq=False)
class OneHotColumn(LabelColumn):
    """Classes to noisy one-hot rows: a list of K numbers per label."""

    coding: Classes
    mechanism: LaplaceOneHot

    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        """Draw noisy one-hot rows."""
        rows = self.mechanism.perturb(codes, rng=rng)
        ends = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1])
        return pa.ListArray.from_arrays(ends, rows.ravel())

    def describe(self) -> dict[str, Any]:
        """Return the classes."""
        return {"classes": list(self.coding.values)}

    def evidence(self, rows: pa.Table) -> Evidence:
        """Return the likelihood of each noisy row."""
        column = rows[LABEL]
        present, seen = ~np.asarray(column.is_null()), column.drop_null()
        drawn = np.asarray(seen.combine_chunks().flatten(), dtype=np.float64).reshape(len(seen), -1)
        log = self.mechanism.log_likelihood(drawn)
        likelihood = spread(np.exp(log - log.max(axis=1, keepdims=True)), present)
        return Evidence(
            classes=self.coding.values,
            likelihood=likelihood,
            outputs=np.where(present, likelihood.argmax(axis=1), MISSING),
            prior=shares_of(self.mechanism.estimate_counts(drawn)),
            one_hot=spread(drawn, present),
        )


def listed_classes(settled: Mapping[str, Any]) -> Classes:
    """Return the classes of a release."""
    return Classes(values=tuple(settled["classes"]))
