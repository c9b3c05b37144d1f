"""The class of all metrics, and an exact score that only a policy may release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.privacy.rounding import check_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from tacit.scores.metrics.reveals import RevealedTotal

    Numbers = NDArray[np.float64]

__all__ = ["Metric", "UnreleasedScore"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnreleasedScore:
    """An exact score before any policy: private, and its representation hides it.

    Parameters
    ----------
    terms
        Numbers within ``metric.term_bounds`` whose mean, finished, is the score: one per row where the metric is a
        mean over rows, else a single one.
    """

    metric: Metric
    terms: Numbers = field(repr=False)
    rows: int

    @property
    def exact(self) -> float:
        """The score itself, for policies alone."""
        return self.metric.finish(float(self.terms.mean()))

    @property
    def shares(self) -> Numbers:
        """The terms as shares of their range."""
        low, high = self.metric.term_bounds
        return (self.terms - low) / (high - low)

    @property
    def loss(self) -> float:
        """The score as a loss in [0, 1]: 0 is the best of the metric's range."""
        low, high = self.metric.bounds
        share = (self.exact - low) / (high - low)
        return share if self.metric.lower_is_better else 1 - share

    def __repr__(self) -> str:
        return f"UnreleasedScore({self.metric.name} of {self.rows} rows, hidden)"

    __str__ = __repr__


class Metric(ABC):
    """A score with a public range, computed by the same array operations whatever the labels are."""

    __slots__ = ()

    name: ClassVar[str]
    lower_is_better: bool = True
    title: str
    """The metric in words."""

    additive: ClassVar[bool] = True
    """Whether the score is a (finished) mean of one term per row, so that a label moves one term."""

    root: ClassVar[bool] = False
    """Whether the score is the root of the mean of its terms, on which noise is drawn."""

    per_class: ClassVar[bool] = False
    """Whether a row of more than two classes is predicted by one number for each."""

    reads_classes: ClassVar[bool] = False
    """Whether a prediction is a class, not a number."""

    no_sensitivity: str = ""
    """Why :meth:`sensitivity` is None, in words for the host."""

    classes: int
    """Number of labels 0..classes-1; 0 where labels are real numbers."""

    @property
    def columns(self) -> int:
        """How many numbers predict a row."""
        return self.classes if self.per_class and self.classes > 2 else 1

    def for_classes(self, count: int) -> Self:
        """Return the metric of labels with so many classes; itself where labels are numbers."""
        return replace(self, classes=count) if self.classes else self  # type: ignore[type-var]

    @property
    @abstractmethod
    def term_bounds(self) -> tuple[float, float]:
        """Public bounds of a term."""

    @property
    def label_range(self) -> tuple[float, float]:
        """The public range of labels that are numbers."""
        return 0.0, 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The public range of the score."""
        low, high = self.term_bounds
        return self.finish(low), self.finish(high)

    @abstractmethod
    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return predictions as this metric reads them, or raise with a clear error."""

    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return the host's labels, or raise an error that names a row and never a label."""
        from tacit.scores.losses import check_labels

        return check_labels(labels, classes=self.classes)

    def measure(self, labels: ArrayLike, predictions: ArrayLike) -> UnreleasedScore:
        """Return the exact score, hidden; only a policy turns it into an answer."""
        truth = self.check_labels(labels)
        given = self.check(predictions, rows=len(truth))
        return UnreleasedScore(metric=self, terms=self._terms(truth, given), rows=len(truth))

    def score(self, labels: ArrayLike, predictions: ArrayLike) -> float:
        """Return the exact score: for tests and simulations, never for an outsider."""
        return self.measure(labels, predictions).exact

    def finish(self, mean: float) -> float:
        """Return the score of a mean of terms: itself, or its root."""
        return mean

    def mean_of(self, score: float) -> float:
        """Return the mean of terms that a score represents: the inverse of :meth:`finish`."""
        return score

    def sensitivity(self, rows: int) -> float | None:
        """Return by how much one label moves the mean of the terms; None if no bound is known.

        It holds for all labels and all predictions: (upper - lower)/rows where each row has its own term. Policies
        with a guarantee refuse None; the reason is in :attr:`no_sensitivity`.
        """
        low, high = self.term_bounds
        return (high - low) / check_count(rows, name="rows")

    @property
    def reveals(self) -> RevealedTotal | None:
        """What a score reveals about the labels, from which an attack is built; None if no attack is known."""
        return None

    @abstractmethod
    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        """Return the terms; no branch and no shape may depend on the labels."""
