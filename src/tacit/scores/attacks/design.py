"""What every way of asking has: a number of queries known beforehand, and the queries themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from tacit.scores.attacks.steps import Labels, Steps

__all__ = ["Design", "all_rows"]


class Design(ABC):
    """A way of asking for all labels."""

    __slots__ = ()

    @property
    @abstractmethod
    def queries(self) -> int:
        """Queries to every label: a guarantee, unless :attr:`expected` says otherwise."""

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
        """What tells this design from others, so that a state file is not used with the wrong one."""
        return repr(self)

    @abstractmethod
    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries, asking for rows in ``order``."""


def all_rows(order: Labels | None, *, rows: int) -> Labels:
    """Return ``order``, or the rows as they stand."""
    return np.arange(rows) if order is None else np.asarray(order, dtype=np.int64)
