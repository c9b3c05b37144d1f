"""What every surface's planned release has in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit.audit.result import Finding, Utility
from tacit.audit.source import Source
from tacit.leak import clopper_pearson

__all__ = ["PlannedRelease", "plain_model", "share_utility"]

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

    @classmethod
    def at(cls, epsilon: float, source: Source) -> PlannedRelease:
        """Return the surface's usual release at this epsilon for one label or record, a point of its curve."""
        ...

    def describe(self) -> str:
        """Return what leaves, in a few words."""
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


def share_utility(measure: str, protected: ArrayLike, unprotected: ArrayLike) -> Utility:
    """Return a share of right predictions, with and without protection, with its interval.

    Parameters
    ----------
    measure
        What was measured, in words.
    protected, unprotected
        Whether each prediction was right.

    Examples
    --------
    >>> share_utility("accuracy", [True, False], [True, True]).protected
    0.5
    """
    right, clean = np.asarray(protected, dtype=bool), np.asarray(unprotected, dtype=bool)
    return Utility(
        measure=measure,
        protected=float(right.mean()),
        unprotected=float(clean.mean()),
        interval=clopper_pearson(int(right.sum()), len(right)),
    )
