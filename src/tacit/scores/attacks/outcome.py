"""What an attack recovered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.leak import Leak, leak_from_guesses
from tacit.scores.attacks.design import Labels
from tacit.scores.losses import check_labels

__all__ = ["RecoveredLabels"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecoveredLabels:
    """Labels with -1 where unknown, the queries that it took, and the seconds."""

    labels: Labels
    classes: int
    queries: int
    seconds: float

    @property
    def recovered(self) -> int:
        """Number of labels known."""
        return int(np.count_nonzero(self.labels >= 0))

    @property
    def left(self) -> int:
        """Number of labels not known."""
        return len(self.labels) - self.recovered

    def leak(self, truth: ArrayLike, *, baseline: float | ArrayLike | None = None) -> Leak:
        """Measure the recovered labels against the truth.

        Parameters
        ----------
        baseline
            What was known without any score: a rate, or guesses for every row; default: the share of the
            largest class.
        """
        given = check_labels(truth, classes=self.classes, rows=len(self.labels))
        if baseline is None:
            baseline = float(np.bincount(given).max() / len(given))
        return leak_from_guesses(self.labels, given, baseline=baseline)
