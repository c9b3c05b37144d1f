"""The form of every attack: how many queries it takes, and a generator that yields them and returns the labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.scores.losses.precision import Numbers

__all__ = ["Labels", "QueryDesign", "ScoreQuery", "Steps", "all_rows"]

Labels: TypeAlias = NDArray[np.int64]
"""One label per row; -1 where it is not known."""


class ScoreQuery(NamedTuple):
    """Predictions to submit, and the labels known before the answer comes."""

    predictions: Numbers
    recovered: Labels


Steps: TypeAlias = Generator[ScoreQuery, float, Labels]
"""Yields a query, is sent its answer, returns every label at the end."""


class QueryDesign(ABC):
    """A way of asking for all labels."""

    __slots__ = ()

    gradual: ClassVar[bool] = False
    """Whether some labels are known before the last query."""

    @property
    @abstractmethod
    def queries(self) -> int:
        """Queries until every label is known: exact, unless :attr:`expected` is true."""

    @property
    def expected(self) -> bool:
        """Whether the number of queries depends on the labels, and :attr:`queries` is what to expect."""
        return False

    @property
    def failure(self) -> float:
        """Probability that any label comes out wrong; 0 where nothing is random."""
        return 0.0

    @property
    def identity(self) -> str:
        """The identity of this design, so that a state file is not used with another one."""
        return repr(self)

    @abstractmethod
    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries, asking for rows in ``order``."""


def all_rows(order: Labels | None, *, rows: int) -> Labels:
    """Return ``order``, or the rows in their own order."""
    return np.arange(rows) if order is None else np.asarray(order, dtype=np.int64)
