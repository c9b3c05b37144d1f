"""The first reading of private labels: their classes, their counts, and what will be promised about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.classes import Classes
from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
from tacit.labels.mechanisms.column import Coding, LabelColumn, Mechanism, Values, column_of
from tacit.labels.mechanisms.estimate import EstimatedPrior
from tacit.labels.mechanisms.optimal import OptimalUnbiased
from tacit.labels.releases.source import Source, find_classes
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import is_seeded

__all__ = ["Survey", "survey_labels"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """What the first reading of the labels found, and what is to be done with them.

    Parameters
    ----------
    mechanism
        What was asked for.
    coding
        The classes, or the numbers to round to.
    counts
        Rows of each class, and last those without a label: private.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> survey = Survey(mechanism=RandomizedResponse(epsilon=1.0), coding=Classes(values=("a", "b")),
    ...                 counts=np.array([2, 1, 1]))
    >>> survey.rows, survey.missing, survey.promise.assumptions[-1]
    (4, 1, 'which 1 rows have no label is public')
    """

    mechanism: Mechanism | EstimatedPrior
    coding: Coding
    counts: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.counts.sum())

    @property
    def missing(self) -> int:
        """Rows without a label."""
        return int(self.counts[-1])

    @property
    def promise(self) -> Guarantee:
        """The mechanism's, with what these labels add to its assumptions."""
        guarantee = self.mechanism.guarantee()
        more = [] if self.coding.declared else ["which classes occur in the labels is public"]
        if self.missing:
            more.append(f"which {self.missing} rows have no label is public")
        return replace(guarantee, assumptions=(*guarantee.assumptions, *more))

    def request(self, rng: np.random.Generator) -> dict[str, Any]:
        """What makes two requests for the same labels the same; a seeded release is never taken for a real one."""
        asked: dict[str, Any]
        if isinstance(self.mechanism, EstimatedPrior):
            asked = {"name": self.mechanism.name, "epsilon": self.mechanism.epsilon, "share": self.mechanism.share}
            asked["classes"] = np.asarray(self.coding.values).tolist()
        else:
            asked = column_of(self.coding, mechanism=self.mechanism).describe()
        return {**asked, "seeded": is_seeded(rng)}

    def settle(self, rng: np.random.Generator) -> LabelColumn:
        """The column to release; an estimated prior is drawn here."""
        if isinstance(self.mechanism, EstimatedPrior):
            return self.mechanism.settle(self.coding, counts=self.counts[:-1], rng=rng)
        return column_of(self.coding, mechanism=self.mechanism)

    def describe(self, column: LabelColumn) -> dict[str, Any]:
        """The mechanism in public terms, with what an estimated prior cost."""
        spent = {"prior_epsilon": self.mechanism.split[0]} if isinstance(self.mechanism, EstimatedPrior) else {}
        return {**column.describe(), **spent}


def survey_labels(
    source: Source,
    *,
    label: str,
    mechanism: Mechanism | EstimatedPrior,
    classes: Sequence[Any] | Coding | None,
) -> Survey:
    """Read and check every label; nothing is charged or drawn yet.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.data import load_table
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> from tacit.labels.releases.source import TableSource
    >>> source = TableSource(table=load_table(pa.table({"y": ["a", "b", "a"]})))
    >>> survey_labels(source, label="y", mechanism=RandomizedResponse(epsilon=1.0), classes=None).counts
    array([2, 1, 0])
    """
    coding = _coding(source, label, mechanism, classes)
    _try_out(mechanism, coding)
    survey = Survey(mechanism=mechanism, coding=coding, counts=source.count(label, coding=coding))
    if survey.rows == survey.missing:
        raise InvalidInput(f"label column {label!r} must have at least one label, got none in {survey.rows} rows")
    return survey


def _try_out(mechanism: Mechanism | EstimatedPrior, coding: Coding) -> None:
    """Release a made-up label, so that what the mechanism cannot do is known before it is charged."""
    rng = np.random.default_rng(0)
    trial = Survey(mechanism=mechanism, coding=coding, counts=np.ones(len(coding) + 1, dtype=np.int64))
    trial.settle(rng).emit(np.zeros(1, dtype=np.int64), rng=rng)


def _coding(
    source: Source, label: str, mechanism: Mechanism | EstimatedPrior, classes: Sequence[Any] | Coding | None
) -> Coding:
    if isinstance(classes, Classes | Values):
        return classes
    if isinstance(mechanism, RandomizedResponseOnBins | OptimalUnbiased):
        return Values(values=mechanism.values)
    return find_classes(source, label=label) if classes is None else Classes.of((), declared=classes)
