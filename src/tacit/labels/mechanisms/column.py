"""A whole column of labels as one object: how it is coded, what comes out of it, and in which Arrow type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes, as_column
from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
from tacit.labels.mechanisms.finite import FiniteMechanism
from tacit.labels.mechanisms.one_hot import LaplaceOneHot
from tacit.labels.mechanisms.optimal import OptimalUnbiased
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.labels.releases.labels import MissingLabels
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee

__all__ = [
    "Coding",
    "LabelColumn",
    "Mechanism",
    "Values",
    "check_missing",
    "column_of",
    "count_labels",
    "release_column",
]

Codes = NDArray[np.int64]
Mechanism = FiniteMechanism | PriorRandomizedResponse | LaplaceOneHot | RandomizedResponseOnBins | OptimalUnbiased


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Values:
    """The public list of numbers that labels are taken to: each label to the nearest one.

    Parameters
    ----------
    values
        At least two finite numbers, ascending. A label outside their range is refused, not clipped.
    declared
        Whether the user gave the list, as in :class:`Classes`.

    Examples
    --------
    >>> Values(values=[0, 10, 20]).encode([3.0, 17.5, None])
    array([ 0,  2, -1])
    """

    values: NDArray[np.float64]
    declared: bool = True

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise InvalidInput("values must be at least two finite numbers in ascending order")
        object.__setattr__(self, "values", values)

    def encode(self, labels: object) -> Codes:
        """Return the place of the nearest value of each label, ``MISSING`` where there is none.

        Examples
        --------
        >>> Values(values=[0, 1]).encode([2.0])
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: labels must lie within the declared values 0..1, got 2.0; declare wider ones
        """
        column = as_column(labels)
        try:
            numbers = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InvalidInput(f"labels must be numbers for this mechanism, got {column.type}") from None
        absent = np.isnan(numbers)
        low, high = self.values[0], self.values[-1]
        beyond = ~absent & ~((numbers >= low) & (numbers <= high))
        if beyond.any():
            raise InvalidInput(
                f"labels must lie within the declared values {low:g}..{high:g}, got {float(numbers[beyond][0])!r}; "
                "declare wider ones"
            )
        nearest = np.searchsorted((self.values[1:] + self.values[:-1]) / 2, np.where(absent, low, numbers))
        return np.where(absent, MISSING, nearest)

    def __len__(self) -> int:
        return len(self.values)


Coding = Classes | Values


class LabelColumn(Protocol):
    """How the labels of a table are released, a batch at a time; made by :func:`column_of`."""

    @property
    def type(self) -> pa.DataType:
        """The type of the released column."""

    def encode(self, labels: object) -> Codes:
        """Return the code of each label."""

    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        """Draw one released value for each code; none is missing."""

    def describe(self) -> dict[str, Any]:
        """Return the mechanism in public terms, as the release's header holds it."""

    def guarantee(self) -> Guarantee:
        """Return the mechanism's promise for one label."""


@dataclass(frozen=True, slots=True, eq=False)
class _ClassColumn:
    """Classes to classes."""

    coding: Classes
    mechanism: FiniteMechanism | PriorRandomizedResponse

    @property
    def type(self) -> pa.DataType:
        return pa.array(self.coding.values).type

    def encode(self, labels: object) -> Codes:
        return self.coding.encode(labels)

    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        return self.coding.decode(self.mechanism.randomize(codes, rng=rng))

    def describe(self) -> dict[str, Any]:
        described = {**_named(self.mechanism), "classes": list(self.coding.values)}
        if isinstance(self.mechanism, PriorRandomizedResponse):
            described["prior"] = self.mechanism.prior[0].tolist()
        return described

    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee()


@dataclass(frozen=True, slots=True, eq=False)
class _OneHotColumn:
    """Classes to noised one-hot rows: a list of K numbers a label."""

    coding: Classes
    mechanism: LaplaceOneHot

    @property
    def type(self) -> pa.DataType:
        return pa.list_(pa.float64())

    def encode(self, labels: object) -> Codes:
        return self.coding.encode(labels)

    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        rows = self.mechanism.perturb(codes, rng=rng)
        ends = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1])
        return pa.ListArray.from_arrays(ends, rows.ravel())

    def describe(self) -> dict[str, Any]:
        return {**_named(self.mechanism), "classes": list(self.coding.values)}

    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee()


@dataclass(frozen=True, slots=True, eq=False)
class _NumberColumn:
    """Numbers to numbers."""

    coding: Values
    mechanism: RandomizedResponseOnBins | OptimalUnbiased

    @property
    def type(self) -> pa.DataType:
        return pa.float64()

    def encode(self, labels: object) -> Codes:
        return self.coding.encode(labels)

    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        return pa.array(self.mechanism.randomize(self.coding.values[codes], rng=rng))

    def describe(self) -> dict[str, Any]:
        lists = {name: getattr(self.mechanism, name).tolist() for name in ("values", "prior", "outputs")}
        return {**_named(self.mechanism), **lists}

    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee()


def column_of(coding: Coding, *, mechanism: Mechanism) -> LabelColumn:
    """Return the column of these classes or values under this mechanism.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> column_of(Classes(values=("no", "yes")), mechanism=RandomizedResponse(epsilon=1.0)).describe()
    {'name': 'randomized_response', 'epsilon': 1.0, 'classes': ['no', 'yes']}
    """
    if isinstance(mechanism, RandomizedResponseOnBins | OptimalUnbiased):
        if not isinstance(coding, Values) or not np.array_equal(coding.values, mechanism.values):
            raise InvalidInput(f"classes must be the values of the mechanism {mechanism.name}; leave them out")
        return _NumberColumn(coding, mechanism)
    if not isinstance(coding, Classes):
        raise InvalidInput(f"classes must be a list of classes for {mechanism.name}, got numbers")
    if isinstance(mechanism, LaplaceOneHot):
        return _OneHotColumn(coding, mechanism.bind(len(coding)))
    if isinstance(mechanism, PriorRandomizedResponse) and len(mechanism.prior) != 1:
        raise InvalidInput(f"prior must be one for all rows of a table, got {len(mechanism.prior)} rows")
    return _ClassColumn(coding, mechanism.bind(len(coding)))


def count_labels(labels: object, *, coding: Coding) -> NDArray[np.int64]:
    """Return how many labels each class or value has, and last how many are missing.

    Examples
    --------
    >>> count_labels(["a", "b", "a", None], coding=Classes(values=("a", "b")))
    array([2, 1, 1])
    """
    return np.bincount(coding.encode(labels) % (len(coding) + 1), minlength=len(coding) + 1)


def release_column(
    labels: object,
    *,
    column: LabelColumn,
    missing: MissingLabels = MissingLabels.REFUSE,
    rng: np.random.Generator,
) -> pa.Array:
    """Release one batch of labels, in order; where one is missing, null.

    Examples
    --------
    >>> from tacit.labels.mechanisms.one_hot import LaplaceOneHot
    >>> column = column_of(Classes(values=("a", "b")), mechanism=LaplaceOneHot(epsilon=1.0))
    >>> released = release_column(["a", None], column=column, missing=MissingLabels.PUBLIC,
    ...                           rng=np.random.default_rng(0))
    >>> len(released[0]), released[1].is_valid
    (2, False)
    """
    codes = column.encode(labels)
    present = codes != MISSING
    if present.all():
        return column.emit(codes, rng=rng)
    check_missing(int((~present).sum()), missing)
    emitted = column.emit(codes[present], rng=rng)
    return emitted.take(pa.array(np.cumsum(present) - 1, mask=~present))


def check_missing(absent: int, missing: MissingLabels) -> None:
    """Raise if labels are missing and that was not declared public.

    Examples
    --------
    >>> check_missing(2, MissingLabels.REFUSE)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: labels must not be missing, got 2 without a label; declare which rows are
    missing public, or leave those rows out
    """
    if absent and missing is MissingLabels.REFUSE:
        raise InvalidInput(
            f"labels must not be missing, got {absent} without a label; declare which rows are missing public, "
            "or leave those rows out"
        )


def _named(mechanism: Mechanism) -> dict[str, Any]:
    return {"name": mechanism.name, "epsilon": mechanism.epsilon}
