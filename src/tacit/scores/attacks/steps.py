"""The form of every attack: a generator that yields queries, is sent answers, and returns the labels."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.scores.losses.precision import Numbers

__all__ = ["Labels", "Query", "Steps"]

Labels: TypeAlias = NDArray[np.int64]
"""One label a row; -1 where it is not known."""


class Query(NamedTuple):
    """Predictions to submit, and the labels known before the answer comes."""

    predictions: Numbers
    recovered: Labels


Steps: TypeAlias = Generator[Query, float, Labels]
"""Yields a query, is sent its answer, returns every label at the end."""
