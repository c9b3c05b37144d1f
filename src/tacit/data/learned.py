"""The result of learning from a release: a model of the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.encoder import Encoder
from tacit.data.rows import read_rows
from tacit.data.table import open_table
from tacit.privacy.guarantee import AnyGuarantee

__all__ = ["LearnedModel"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnedModel:
    """What ``learn`` returns: a fitted learner, and how the columns of a table become its features.

    Parameters
    ----------
    encoder
        None if the learner reads tables itself.
    only
        The encoded columns that the learner takes, in their own units; None: all of them, scaled.
    """

    learner: Any
    guarantee_: AnyGuarantee
    report_: Any
    encoder: Encoder | None = None
    only: tuple[str, ...] | None = None

    def predict(self, table: object) -> NDArray[Any]:
        """Return the prediction for each row of a table, or of a matrix with the encoded columns in their units."""
        return np.asarray(self.learner.predict(self._encode(table)))

    def predict_proba(self, table: object) -> NDArray[np.float64]:
        """Return P(class | row), a column for each of ``classes_``."""
        return np.asarray(self.learner.predict_proba(self._encode(table)))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        return np.asarray(self.learner.classes_)

    @property
    def notes(self) -> list[str]:
        """What a reader should know about the encoding of the columns."""
        return [] if self.encoder is None else self.encoder.notes()

    def _encode(self, table: object) -> object:
        if self.encoder is None:
            return table
        if isinstance(table, np.ndarray):
            return self.encoder.scale(table) if self.only is None else table
        lazy = open_table(table)
        self.encoder.check(lazy.columns, only=self.only)
        rows = read_rows(lazy, columns=self.encoder.columns(self.only))
        return self.encoder.scaled(rows) if self.only is None else self.encoder.encode(rows, only=self.only)
