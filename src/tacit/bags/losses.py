"""Semilinear losses: b(f) - T(y)'f + c(y), all that a total of T(y) can train."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from ibis.expr.types import BooleanValue, NumericValue, Value
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_softmax, logsumexp, softmax

from tacit.privacy.errors import InvalidInput

__all__ = ["CrossEntropy", "LogLoss", "PoissonLoss", "SemilinearLoss", "SquaredLoss", "loss_of"]

Floats = NDArray[np.float64]


@runtime_checkable
class SemilinearLoss(Protocol):
    """What a loss must say so that totals of T(y) can be released and learned from.

    Examples
    --------
    >>> isinstance(LogLoss(), SemilinearLoss)
    True
    """

    @property
    def targets(self) -> int:
        """The dimension of T(y) and of the prediction f.

        Examples
        --------
        >>> CrossEntropy(classes=3).targets
        3
        """
        ...

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest value of each entry of T(y), or -inf and inf where nothing bounds it.

        Examples
        --------
        >>> LogLoss().bounds
        (array([0.]), array([1.]))
        """
        ...

    @property
    def l1(self) -> float:
        """How far one label can move T(y), in the sum of absolute differences.

        Examples
        --------
        >>> CrossEntropy(classes=3).l1
        2.0
        """
        ...

    @property
    def l2(self) -> float:
        """How far one label can move T(y), in Euclidean length.

        Examples
        --------
        >>> round(CrossEntropy(classes=3).l2, 6)
        1.414214
        """
        ...

    def statistic(self, labels: ArrayLike, /) -> Floats:
        """T(y), one row a label; labels that the loss does not know are refused.

        Examples
        --------
        >>> LogLoss().statistic([0, 1])
        array([[0.],
               [1.]])
        """
        ...

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        """T(y) as expressions over a column of a table, so that its sums are made in the engine.

        Examples
        --------
        >>> import ibis
        >>> len(CrossEntropy(classes=3).statistic_expressions(ibis.table({"y": "int64"}).y))
        3
        """
        ...

    def violation(self, column: Value, /) -> BooleanValue:
        """An expression that is true where a label is missing or out of range.

        Examples
        --------
        >>> import ibis
        >>> frame = ibis.memtable({"y": [0.0, 1.0, 2.0, None]})
        >>> LogLoss().violation(frame.y).execute().tolist()
        [False, False, True, True]
        """
        ...

    def potential(self, f: ArrayLike, /) -> Floats:
        """b(f), one number a row.

        Examples
        --------
        >>> LogLoss().potential([[0.0]]).round(6)
        array([0.693147])
        """
        ...

    def mean(self, f: ArrayLike, /) -> Floats:
        """The gradient of b at f: the mean of T(y) that f predicts.

        Examples
        --------
        >>> LogLoss().mean([[0.0]])
        array([[0.5]])
        """
        ...

    def curvature(self, f: ArrayLike, /) -> Floats:
        """The diagonal of the Hessian of b at f.

        Examples
        --------
        >>> LogLoss().curvature([[0.0]])
        array([[0.25]])
        """
        ...

    def link(self, mean: ArrayLike, /) -> Floats:
        """The f whose mean is the given one, with the mean kept inside the loss's range.

        Examples
        --------
        >>> LogLoss().link([[0.5]])
        array([[0.]])
        """
        ...

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """The loss of each row, c(y) included.

        Examples
        --------
        >>> LogLoss().value([[0.0]], [1]).round(6)
        array([0.693147])
        """
        ...

    def describe(self) -> dict[str, Any]:
        """The loss as plain data; :func:`loss_of` reads it back.

        Examples
        --------
        >>> CrossEntropy(classes=3).describe()
        {'name': 'cross_entropy', 'classes': 3}
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredLoss:
    """Half the squared error: b(f) = f^2/2, T(y) = y, c(y) = y^2/2.

    Labels are clipped to [lower, upper] where those are declared; a private release needs both, because they are
    what bounds the change that one label makes.

    Parameters
    ----------
    lower, upper
        The declared range, chosen without looking at the labels; None for no bound.

    References
    ----------
    Chen et al. (2023), Section 3.2, mean squared error.

    Examples
    --------
    >>> loss = SquaredLoss(lower=0.0, upper=10.0)
    >>> loss.statistic([3.0, 12.0]).ravel(), loss.l1
    (array([ 3., 10.]), 10.0)
    >>> loss.value([[1.0]], [3.0])
    array([2.])
    """

    lower: float | None = None
    upper: float | None = None
    name: ClassVar[str] = "squared"
    targets: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for argument, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound is not None and not math.isfinite(bound):
                raise InvalidInput(f"{argument} must be a finite number or None, got {bound!r}")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise InvalidInput(f"lower must be < upper, got lower={self.lower!r} and upper={self.upper!r}")

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """See :attr:`SemilinearLoss.bounds`.

        Examples
        --------
        >>> SquaredLoss(upper=2.0).bounds
        (array([-inf]), array([2.]))
        """
        return (
            np.array([-math.inf if self.lower is None else float(self.lower)]),
            np.array([math.inf if self.upper is None else float(self.upper)]),
        )

    @property
    def l1(self) -> float:
        """See :attr:`SemilinearLoss.l1`.

        Examples
        --------
        >>> SquaredLoss(lower=-1.0, upper=2.0).l1
        3.0
        """
        if self.lower is None or self.upper is None:
            raise InvalidInput(
                f"a private total of the squared loss needs declared labels, got lower={self.lower!r} and "
                f"upper={self.upper!r}: pass both, chosen without looking at the labels"
            )
        return float(self.upper - self.lower)

    @property
    def l2(self) -> float:
        """See :attr:`SemilinearLoss.l2`.

        Examples
        --------
        >>> SquaredLoss(lower=-1.0, upper=2.0).l2
        3.0
        """
        return self.l1

    def statistic(self, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.statistic`.

        Examples
        --------
        >>> SquaredLoss().statistic([1.5])
        array([[1.5]])
        """
        return np.clip(_finite(labels), *self._range())[:, None]

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        """See :meth:`SemilinearLoss.statistic_expressions`.

        Examples
        --------
        >>> import ibis
        >>> SquaredLoss(upper=2.0).statistic_expressions(ibis.memtable({"y": [1, 3]}).y)[0].execute().tolist()
        [1.0, 2.0]
        """
        return [_clip(_number(column), self.lower, self.upper)]

    def violation(self, column: Value, /) -> BooleanValue:
        """See :meth:`SemilinearLoss.violation`.

        Examples
        --------
        >>> import ibis
        >>> SquaredLoss().violation(ibis.memtable({"y": [1.0, float("inf")]}).y).execute().tolist()
        [False, True]
        """
        return _missing(column)

    def potential(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.potential`.

        Examples
        --------
        >>> SquaredLoss().potential([[2.0]])
        array([2.])
        """
        return np.asarray(np.square(_predictions(f, 1))[:, 0] / 2)

    def mean(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.mean`.

        Examples
        --------
        >>> SquaredLoss().mean([[2.0]])
        array([[2.]])
        """
        return _predictions(f, 1).copy()

    def curvature(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.curvature`.

        Examples
        --------
        >>> SquaredLoss().curvature([[2.0]])
        array([[1.]])
        """
        return np.ones_like(_predictions(f, 1))

    def link(self, mean: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.link`.

        Examples
        --------
        >>> SquaredLoss(upper=1.0).link([[2.0]])
        array([[1.]])
        """
        return np.clip(_predictions(mean, 1), *self._range())

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.value`.

        Examples
        --------
        >>> SquaredLoss().value([[1.0]], [4.0])
        array([4.5])
        """
        return np.asarray(np.square(_predictions(f, 1) - self.statistic(labels))[:, 0] / 2)

    def describe(self) -> dict[str, Any]:
        """See :meth:`SemilinearLoss.describe`.

        Examples
        --------
        >>> loss_of(SquaredLoss(lower=0.0).describe())
        SquaredLoss(lower=0.0, upper=None)
        """
        return {"name": self.name, "lower": self.lower, "upper": self.upper}

    def _range(self) -> tuple[float, float]:
        lower, upper = self.bounds
        return float(lower[0]), float(upper[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLoss:
    """The logistic loss of a 0/1 label: b(f) = log(1 + e^f), T(y) = y, c(y) = 0.

    References
    ----------
    Chen et al. (2023), Section 3.2: cross-entropy over two classes, written with one logit.

    Examples
    --------
    >>> loss = LogLoss()
    >>> loss.statistic([0, 1, 1]).sum(), loss.l1
    (np.float64(2.0), 1.0)
    >>> loss.statistic([2])
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: a label of the log loss must be 0 or 1, got 2.0 at row 0: recode the labels
    """

    name: ClassVar[str] = "log"
    targets: ClassVar[int] = 1
    l1: ClassVar[float] = 1.0
    l2: ClassVar[float] = 1.0

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """See :attr:`SemilinearLoss.bounds`.

        Examples
        --------
        >>> LogLoss().bounds[1]
        array([1.])
        """
        return np.zeros(1), np.ones(1)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.statistic`.

        Examples
        --------
        >>> LogLoss().statistic([True, False]).ravel()
        array([1., 0.])
        """
        y = _finite(labels)
        _refuse((y != 0) & (y != 1), y, "a label of the log loss must be 0 or 1", "recode the labels")
        return y[:, None]

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        """See :meth:`SemilinearLoss.statistic_expressions`.

        Examples
        --------
        >>> import ibis
        >>> LogLoss().statistic_expressions(ibis.memtable({"y": [True, False]}).y)[0].execute().tolist()
        [1.0, 0.0]
        """
        return [_number(column)]

    def violation(self, column: Value, /) -> BooleanValue:
        """See :meth:`SemilinearLoss.violation`.

        Examples
        --------
        >>> import ibis
        >>> LogLoss().violation(ibis.memtable({"y": [0, 1, 3]}).y).execute().tolist()
        [False, False, True]
        """
        number = _number(column)
        return _missing(column) | ~((number == 0) | (number == 1))

    def potential(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.potential`.

        Examples
        --------
        >>> LogLoss().potential([[800.0]])
        array([800.])
        """
        return np.asarray(np.logaddexp(0.0, _predictions(f, 1))[:, 0])

    def mean(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.mean`.

        Examples
        --------
        >>> LogLoss().mean([[-800.0]])
        array([[0.]])
        """
        return np.asarray(expit(_predictions(f, 1)))

    def curvature(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.curvature`.

        Examples
        --------
        >>> LogLoss().curvature([[0.0]])
        array([[0.25]])
        """
        p = self.mean(f)
        return np.asarray(p * (1 - p))

    def link(self, mean: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.link`.

        Examples
        --------
        >>> LogLoss().link([[0.75]]).round(6)
        array([[1.098612]])
        """
        p = np.clip(_predictions(mean, 1), _LEAST, 1 - _LEAST)
        return np.asarray(np.log(p) - np.log1p(-p))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.value`.

        Examples
        --------
        >>> LogLoss().value([[0.0], [0.0]], [0, 1]).round(6)
        array([0.693147, 0.693147])
        """
        # log(1 + e^-+f): the difference b(f) - y f would lose the digits of a small loss
        signed = _predictions(f, 1) * (1 - 2 * self.statistic(labels))
        return np.asarray(np.logaddexp(0.0, signed)[:, 0])

    def describe(self) -> dict[str, Any]:
        """See :meth:`SemilinearLoss.describe`.

        Examples
        --------
        >>> LogLoss().describe()
        {'name': 'log'}
        """
        return {"name": self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEntropy:
    """The cross-entropy of a label in 0..K-1: b(f) = log sum_k e^f_k, T(y) the one-hot row, c(y) = 0.

    Parameters
    ----------
    classes
        K >= 2, public.

    References
    ----------
    Chen et al. (2023), Section 3.2, log loss and cross-entropy loss.

    Examples
    --------
    >>> loss = CrossEntropy(classes=3)
    >>> loss.statistic([2, 0])
    array([[0., 0., 1.],
           [1., 0., 0.]])
    >>> loss.value(np.zeros((1, 3)), [1]).round(6)
    array([1.098612])
    """

    classes: int
    name: ClassVar[str] = "cross_entropy"
    l1: ClassVar[float] = 2.0
    l2: ClassVar[float] = math.sqrt(2.0)

    def __post_init__(self) -> None:
        if not isinstance(self.classes, int) or self.classes < 2:
            raise InvalidInput(f"classes must be a whole number >= 2, got {self.classes!r}")

    @property
    def targets(self) -> int:
        """See :attr:`SemilinearLoss.targets`.

        Examples
        --------
        >>> CrossEntropy(classes=5).targets
        5
        """
        return self.classes

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """See :attr:`SemilinearLoss.bounds`.

        Examples
        --------
        >>> CrossEntropy(classes=2).bounds[0]
        array([0., 0.])
        """
        return np.zeros(self.classes), np.ones(self.classes)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.statistic`.

        Examples
        --------
        >>> CrossEntropy(classes=2).statistic([1])
        array([[0., 1.]])
        """
        y = _finite(labels)
        wrong = (y != np.floor(y)) | (y < 0) | (y >= self.classes)
        rule = (
            f"a label of the cross-entropy over {self.classes} classes must be a whole number in 0..{self.classes - 1}"
        )
        _refuse(wrong, y, rule, "recode the labels or declare more classes")
        return np.asarray(np.eye(self.classes)[y.astype(np.int64)])

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        """See :meth:`SemilinearLoss.statistic_expressions`.

        Examples
        --------
        >>> import ibis
        >>> second = CrossEntropy(classes=2).statistic_expressions(ibis.memtable({"y": [0, 1]}).y)[1]
        >>> second.execute().tolist()
        [0.0, 1.0]
        """
        number = _number(column)
        return [(number == k).cast("float64") for k in range(self.classes)]

    def violation(self, column: Value, /) -> BooleanValue:
        """See :meth:`SemilinearLoss.violation`.

        Examples
        --------
        >>> import ibis
        >>> CrossEntropy(classes=2).violation(ibis.memtable({"y": [0.0, 0.5, 2.0]}).y).execute().tolist()
        [False, True, True]
        """
        number = _number(column)
        return _missing(column) | (number != number.floor()) | (number < 0) | (number >= self.classes)

    def potential(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.potential`.

        Examples
        --------
        >>> CrossEntropy(classes=2).potential([[0.0, 0.0]]).round(6)
        array([0.693147])
        """
        return np.asarray(logsumexp(_predictions(f, self.classes), axis=1))

    def mean(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.mean`.

        Examples
        --------
        >>> CrossEntropy(classes=2).mean([[0.0, 0.0]])
        array([[0.5, 0.5]])
        """
        return np.asarray(softmax(_predictions(f, self.classes), axis=1))

    def curvature(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.curvature`.

        Examples
        --------
        >>> CrossEntropy(classes=2).curvature([[0.0, 0.0]])
        array([[0.25, 0.25]])
        """
        p = self.mean(f)
        return np.asarray(p * (1 - p))

    def link(self, mean: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.link`.

        Examples
        --------
        >>> CrossEntropy(classes=2).link([[0.5, 0.5]]).round(6)
        array([[-0.693147, -0.693147]])
        """
        return np.log(np.clip(_predictions(mean, self.classes), _LEAST, 1.0))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.value`.

        Examples
        --------
        >>> CrossEntropy(classes=2).value([[0.0, 0.0]], [1]).round(6)
        array([0.693147])
        """
        return np.asarray(-np.sum(log_softmax(_predictions(f, self.classes), axis=1) * self.statistic(labels), axis=1))

    def describe(self) -> dict[str, Any]:
        """See :meth:`SemilinearLoss.describe`.

        Examples
        --------
        >>> loss_of(CrossEntropy(classes=4).describe())
        CrossEntropy(classes=4)
        """
        return {"name": self.name, "classes": self.classes}


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonLoss:
    """The Poisson loss of a count: b(f) = e^f, T(y) = y, c(y) = 0.

    Counts above `most` are clipped to it where it is declared; a private release needs it.

    Parameters
    ----------
    most
        The largest count that counts, chosen without looking at the labels; None for no bound.

    References
    ----------
    Chen et al. (2023), Section 3.2, Poisson loss.

    Examples
    --------
    >>> loss = PoissonLoss(most=5)
    >>> loss.statistic([2, 9]).ravel(), loss.l1
    (array([2., 5.]), 5.0)
    >>> loss.value([[0.0]], [2])
    array([1.])
    """

    most: float | None = None
    name: ClassVar[str] = "poisson"
    targets: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.most is not None and not (math.isfinite(self.most) and self.most > 0):
            raise InvalidInput(f"most must be a finite number > 0 or None, got {self.most!r}")

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """See :attr:`SemilinearLoss.bounds`.

        Examples
        --------
        >>> PoissonLoss(most=5).bounds
        (array([0.]), array([5.]))
        """
        return np.zeros(1), np.array([math.inf if self.most is None else float(self.most)])

    @property
    def l1(self) -> float:
        """See :attr:`SemilinearLoss.l1`.

        Examples
        --------
        >>> PoissonLoss(most=5).l1
        5.0
        """
        if self.most is None:
            raise InvalidInput(
                "a private total of the Poisson loss needs most, got None: pass the largest count that counts, "
                "chosen without looking at the labels"
            )
        return float(self.most)

    @property
    def l2(self) -> float:
        """See :attr:`SemilinearLoss.l2`.

        Examples
        --------
        >>> PoissonLoss(most=5).l2
        5.0
        """
        return self.l1

    def statistic(self, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.statistic`.

        Examples
        --------
        >>> PoissonLoss().statistic([7])
        array([[7.]])
        """
        y = _finite(labels)
        _refuse(y < 0, y, "a label of the Poisson loss must be >= 0", "remove or recode the row")
        return np.minimum(y, self.bounds[1])[:, None]

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        """See :meth:`SemilinearLoss.statistic_expressions`.

        Examples
        --------
        >>> import ibis
        >>> PoissonLoss(most=2).statistic_expressions(ibis.memtable({"y": [1, 3]}).y)[0].execute().tolist()
        [1.0, 2.0]
        """
        return [_clip(_number(column), None, self.most)]

    def violation(self, column: Value, /) -> BooleanValue:
        """See :meth:`SemilinearLoss.violation`.

        Examples
        --------
        >>> import ibis
        >>> PoissonLoss().violation(ibis.memtable({"y": [1, -1]}).y).execute().tolist()
        [False, True]
        """
        return _missing(column) | (_number(column) < 0)

    def potential(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.potential`.

        Examples
        --------
        >>> PoissonLoss().potential([[0.0]])
        array([1.])
        """
        return np.asarray(np.exp(_predictions(f, 1))[:, 0])

    def mean(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.mean`.

        Examples
        --------
        >>> PoissonLoss().mean([[0.0]])
        array([[1.]])
        """
        return np.asarray(np.exp(_predictions(f, 1)))

    def curvature(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.curvature`.

        Examples
        --------
        >>> PoissonLoss().curvature([[0.0]])
        array([[1.]])
        """
        return self.mean(f)

    def link(self, mean: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.link`.

        Examples
        --------
        >>> PoissonLoss().link([[1.0]])
        array([[0.]])
        """
        return np.log(np.clip(_predictions(mean, 1), _LEAST, self.bounds[1]))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.value`.

        Examples
        --------
        >>> PoissonLoss().value([[0.0]], [3])
        array([1.])
        """
        return np.asarray(self.potential(f) - np.sum(_predictions(f, 1) * self.statistic(labels), axis=1))

    def describe(self) -> dict[str, Any]:
        """See :meth:`SemilinearLoss.describe`.

        Examples
        --------
        >>> loss_of(PoissonLoss(most=5.0).describe())
        PoissonLoss(most=5.0)
        """
        return {"name": self.name, "most": self.most}


# a predicted mean is kept this far from the ends of its range, so that its link is finite
_LEAST = 1e-12
_LOSSES = {kind.name: kind for kind in (SquaredLoss, LogLoss, CrossEntropy, PoissonLoss)}


def loss_of(description: Mapping[str, Any], /) -> SemilinearLoss:
    """Make the loss that :meth:`SemilinearLoss.describe` wrote down.

    Parameters
    ----------
    description
        A mapping with the loss's name and its parameters.

    Returns
    -------
    SemilinearLoss

    Examples
    --------
    >>> loss_of({"name": "log"})
    LogLoss()
    >>> loss_of({"name": "hinge"})
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: loss must be one of cross_entropy, log, poisson, squared, got 'hinge'
    """
    parameters = dict(description)
    name = parameters.pop("name", None)
    if name not in _LOSSES:
        raise InvalidInput(f"loss must be one of {', '.join(sorted(_LOSSES))}, got {name!r}")
    try:
        made: SemilinearLoss = _LOSSES[name](**parameters)
    except TypeError as error:
        raise InvalidInput(f"the parameters of the loss {name} are not its own, got {parameters!r}") from error
    return made


def _predictions(f: ArrayLike, targets: int) -> Floats:
    values = np.asarray(f, dtype=np.float64)
    if values.ndim == 1 and targets == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != targets:
        raise InvalidInput(f"predictions must have shape (rows, {targets}), got {values.shape}")
    return values


def _finite(labels: ArrayLike) -> Floats:
    try:
        y = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("labels must be numbers, got text or objects: recode the labels") from error
    if y.ndim != 1:
        raise InvalidInput(f"labels must be one value a row, got an array of shape {y.shape}")
    _refuse(~np.isfinite(y), y, "a label must be a finite number", "remove or recode the row")
    return y


def _refuse(wrong: NDArray[np.bool_], y: Floats, rule: str, remedy: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(f"{rule}, got {float(y[row])!r} at row {row}: {remedy}")


def _number(column: Value) -> NumericValue:
    number: NumericValue = column.cast("float64")
    return number


def _missing(column: Value) -> BooleanValue:
    number = _number(column)
    missing = number.isnull() | number.isnan() | number.isinf()
    # a comparison with NULL is NULL on every engine; the answer here must be a plain yes
    flagged: BooleanValue = missing.fill_null(True)
    return flagged


def _clip(number: NumericValue, lower: float | None, upper: float | None) -> NumericValue:
    return number if lower is None and upper is None else number.clip(lower=lower, upper=upper)
