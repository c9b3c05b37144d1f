"""What every surface's planned release has in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit.audit.finding import Finding
from tacit.audit.source import Source

__all__ = ["PlannedRelease", "plain_model"]

Tell = Callable[[str], None]


class PlannedRelease(Protocol):
    """One release that someone plans; its fields are the keys of its table in ``tacit.toml``.

    Examples
    --------
    >>> from tacit.audit import SURFACES
    >>> [name for name, kind in SURFACES.items() if kind.surface != name]
    []
    """

    surface: ClassVar[str]

    @property
    def epsilon(self) -> float | None:
        """Of the release, or of one score; None where there is no noise."""
        ...

    def check(self, source: Source) -> None:
        """Raise where the release cannot be made of this table."""
        ...

    def at(self, epsilon: float, source: Source) -> PlannedRelease:
        """Return this release at another epsilon for one label or record, a point of its curve."""
        ...

    def describe(self) -> str:
        """Return what leaves, in a few words."""
        ...

    def by_hand(self, source: Source) -> str:
        """Return the commands that make and attack such a release of the whole file, without an audit."""
        ...

    def audit(self, source: Source, *, rng: np.random.Generator, tell: Tell) -> Finding:
        """Make the release, attack it, and use it."""
        ...


def plain_model() -> Pipeline:
    """Return the model that stands for what anyone would train: logistic regression on standardised features.

    Examples
    --------
    >>> plain_model().fit([[0.0], [1.0]], [0, 1]).predict([[2.0]])
    array([1])
    """
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
