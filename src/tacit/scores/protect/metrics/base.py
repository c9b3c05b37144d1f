"""What a host scores by: a number from labels and predictions that is kept, and what one label does to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores import attack
from tacit.scores.losses import Loss

__all__ = ["Measurement", "Metric", "Numbers"]

Numbers = NDArray[np.float64]

_TINY = 2.0**-300

_TITLES = {
    "auc": "AUC",
    "brier": "the Brier score",
    "f1": "F1",
    "mae": "the mean absolute error",
    "rmse": "the root mean squared error",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """An exact score before any policy: private, and silent about itself when printed.

    Parameters
    ----------
    metric
        What was measured.
    terms
        Numbers within ``metric.term_bounds`` whose mean, finished, is the score: one a row where the metric is a
        mean over rows, else a single one.
    rows
        Number of labels behind it.

    Examples
    --------
    >>> from tacit.scores.protect import Accuracy
    >>> measured = Accuracy().measure([0, 1, 1], [0, 1, 0])
    >>> measured
    Measurement(accuracy of 3 rows, hidden)
    >>> round(measured.exact, 4)
    0.6667
    """

    metric: Metric
    terms: Numbers = field(repr=False)
    rows: int

    @property
    def exact(self) -> float:
        """The score itself, for policies alone.

        Examples
        --------
        >>> from tacit.scores.protect import Brier
        >>> Brier().measure([1, 0], [0.5, 0.5]).exact
        0.25
        """
        return self.metric.finish(float(self.terms.mean()))

    def __repr__(self) -> str:
        return f"Measurement({self.metric.name} of {self.rows} rows, hidden)"

    __str__ = __repr__


class Metric(ABC):
    """A score with a public range, computed by the same array operations whatever the labels are.

    Examples
    --------
    >>> from tacit.scores.protect import LogLoss
    >>> metric = LogLoss(floor=0.01)
    >>> metric.name, metric.lower_is_better, round(metric.score([1, 0], [0.5, 0.5]), 4)
    ('log_loss', True, 0.6931)
    """

    __slots__ = ()

    name: str
    lower_is_better: bool = True
    additive: bool = True
    """Whether the score is a (finished) mean of one term a row, so that a label moves one term."""

    classes: int
    """Number of labels 0..classes-1; 0 where labels are real numbers."""

    @property
    def title(self) -> str:
        """The metric in words.

        Examples
        --------
        >>> from tacit.scores.protect import Auc, LogLoss
        >>> LogLoss().title, Auc().title
        ('log loss', 'AUC')
        """
        return _TITLES.get(self.name, self.name.replace("_", " "))

    @property
    @abstractmethod
    def term_bounds(self) -> tuple[float, float]:
        """Public bounds of a term.

        Examples
        --------
        >>> from tacit.scores.protect import Brier
        >>> Brier().term_bounds
        (0.0, 1.0)
        """

    @property
    def bounds(self) -> tuple[float, float]:
        """The capped range of the score.

        Examples
        --------
        >>> from tacit.scores.protect import LogLoss
        >>> [round(bound, 4) for bound in LogLoss(floor=0.01).bounds]
        [0.0101, 4.6052]
        """
        low, high = self.term_bounds
        return self.finish(low), self.finish(high)

    @abstractmethod
    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return predictions as this metric reads them, or raise with one sentence.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy
        >>> Accuracy().check([0, 2], rows=2)
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: predictions must be classes in 0..1, got 2.0 at row 1
        """

    @abstractmethod
    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return the host's labels, or raise with one sentence that names a row and never a label.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy
        >>> Accuracy().check_labels([0, 7])
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: labels must be whole numbers in 0..1, the one at row 1 is not
        """

    def measure(self, labels: ArrayLike, predictions: ArrayLike) -> Measurement:
        """Return the exact score, hidden; only a policy makes of it what may leave.

        Examples
        --------
        >>> from tacit.scores.protect import Mae
        >>> Mae().measure([0, 1], [0.25, 0.5])
        Measurement(mae of 2 rows, hidden)
        """
        truth = self.check_labels(labels)
        given = self.check(predictions, rows=len(truth))
        return Measurement(metric=self, terms=self._terms(truth, given), rows=len(truth))

    def score(self, labels: ArrayLike, predictions: ArrayLike) -> float:
        """Return the exact score: for tests and simulations, never for an outsider.

        Examples
        --------
        >>> from tacit.scores.protect import Auc
        >>> Auc().score([0, 1, 0], [0.1, 0.9, 0.3])
        1.0
        """
        return self.measure(labels, predictions).exact

    def finish(self, mean: float) -> float:
        """Return the score of a mean of terms: itself, or its root.

        Examples
        --------
        >>> from tacit.scores.protect import Rmse
        >>> Rmse().finish(0.25)
        0.5
        """
        return mean

    @abstractmethod
    def sensitivity(self, rows: int) -> float | None:
        """Return by how much one label moves the mean of the terms; None where no bound is known.

        It holds for all labels and all predictions. None is refused by every policy with a guarantee; the reason
        is in :attr:`no_sensitivity`.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy, Auc
        >>> Accuracy().sensitivity(100), Auc().sensitivity(100)
        (0.01, None)
        """

    @property
    def no_sensitivity(self) -> str:
        """Why :meth:`sensitivity` is None, in words for the host.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy
        >>> Accuracy().no_sensitivity
        ''
        """
        return ""

    def attacked_as(self) -> Loss | attack.Metric | None:
        """Return what :func:`tacit.scores.attack.plan` calls this metric; None where no attack is known.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy
        >>> Accuracy(classes=6).attacked_as()
        Accuracy(classes=6)
        """
        return None

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the metric as plain JSON.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy
        >>> Accuracy().to_json()
        {'metric': 'accuracy', 'classes': 2}
        """

    @abstractmethod
    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        """Return the terms; no branch and no shape may depend on the labels."""


def class_labels(labels: ArrayLike, *, classes: int) -> NDArray[np.int64]:
    """Return labels in 0..classes-1, or raise without telling one.

    Examples
    --------
    >>> class_labels([0, 1], classes=2)
    array([0, 1])
    """
    given = np.asarray(labels)
    if given.ndim != 1 or not given.size:
        raise InvalidInput(f"labels must be a non-empty list of one label a row, got shape {given.shape}")
    good = np.isin(given, np.arange(classes))
    if not good.all():
        raise InvalidInput(
            f"labels must be whole numbers in 0..{classes - 1}, the one at row {int(np.argmin(good))} is not"
        )
    return given.astype(np.int64)


def finite(predictions: ArrayLike, *, rows: int, columns: int | None = None) -> Numbers:
    """Return finite numbers of the right shape: (rows,) or (rows, columns); -0.0 becomes 0.0.

    Examples
    --------
    >>> finite([0.5, float("nan")], rows=2)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: predictions must be finite numbers, got nan at row 1
    """
    try:
        given = np.asarray(predictions, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("predictions must be numbers, got something else; one row of numbers a line") from None
    shape = (rows,) if columns is None else (rows, columns)
    if given.shape == (rows, 1) and columns is None:
        given = given[:, 0]
    if given.shape != shape:
        raise InvalidInput(f"predictions must have shape {shape}, one row for each scored row, got {given.shape}")
    good = np.isfinite(given)
    if not good.all():
        row = int(np.argwhere(~good)[0][0])
        raise InvalidInput(f"predictions must be finite numbers, got {given[~good].flat[0]} at row {row}")
    return np.ascontiguousarray(given) + 0.0


def without_tiny(numbers: Numbers, *, width: float = 1.0) -> Numbers:
    """Return numbers with those closer to 0 than 2^-300 of the range's width as 0.

    A processor takes many times longer over the smallest floats, the squares and quotients of such predictions among
    them. Which rows have them depends on the labels, and so would the time of a score.

    Examples
    --------
    >>> without_tiny(np.array([1e-310, 1e-155, 1e-9]))
    array([0.e+00, 0.e+00, 1.e-09])
    """
    return np.where(np.abs(numbers) < _TINY * width, 0.0, numbers)


def one_column(predictions: ArrayLike) -> bool:
    """Return whether there is one number a row.

    Examples
    --------
    >>> one_column([0.5, 0.25]), one_column([[0.5], [0.25]]), one_column([[0.5, 0.5]])
    (True, True, False)
    """
    try:
        shape = np.shape(predictions)
    except ValueError:  # rows of unequal length, which :func:`finite` refuses
        return True
    return len(shape) == 1 or shape[1:] == (1,)


def check_classes(classes: int) -> None:
    """Raise unless there are two classes or more.

    Examples
    --------
    >>> check_classes(2)
    """
    check_count(classes, name="classes", least=2)
