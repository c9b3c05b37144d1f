"""What leaves and what it costs: class sizes, selection, rows or totals, labels; one promise for one record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacit.features.protect.box import Box
from tacit.features.protect.rows import ClassTotals, NoisedRows
from tacit.features.protect.scores import check_class_rows
from tacit.features.protect.selection import PrivateSelection
from tacit.privacy.composition import compose
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.loss import PrivacyLoss
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.rounding import exact, round_up

__all__ = ["FeaturePlan", "LabelMechanism", "NoisedClassRows", "PublicClassRows", "sum_of"]

# else nothing is released, so that there is a release says it
_CHECKED = "it is public that each class has two rows or more, and no feature is constant or all at one side of its box"


class LabelMechanism(Protocol):
    """A mechanism on class codes, such as ``tacit.labels.RandomizedResponse``; passed in, never imported here.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> mechanism: LabelMechanism = RandomizedResponse(epsilon=1.0, classes=2)
    >>> mechanism.name
    'randomized_response'
    """

    name: ClassVar[str]

    def bind(self, classes: int) -> Self:
        """Return the mechanism for ``classes`` classes."""

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one output a label."""

    def transition(self) -> NDArray[np.float64]:
        """Row y: the probability of each output when the label is y."""

    def guarantee(self) -> Guarantee:
        """The promise for one label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicClassRows:
    """Denominators of class means that the custodian declares public.

    Examples
    --------
    >>> PublicClassRows(rows=(50, 50)).guarantees()
    ()
    """

    rows: tuple[int, ...]

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return nothing: public numbers cost nothing.

        Examples
        --------
        >>> PublicClassRows(rows=(50, 50)).guarantees()
        ()
        """
        return ()

    def sizes(self, counts: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the declared numbers, whatever the true counts are.

        Examples
        --------
        >>> PublicClassRows(rows=(5, 5)).sizes(np.array([9, 1]), rng=np.random.default_rng(0))
        array([5, 5])
        """
        return check_class_rows(self.rows, classes=len(counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisedClassRows:
    """Class sizes under discrete Laplace noise: a record that changes its class moves two of them by one.

    Examples
    --------
    >>> sizes = NoisedClassRows(epsilon=1.0)
    >>> print(sizes.guarantees()[0])
    epsilon 1 for one record
    """

    epsilon: float

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on each size.

        Examples
        --------
        >>> NoisedClassRows(epsilon=0.5).noise.scale
        Fraction(4, 1)
        """
        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=2)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return what the sizes cost.

        Examples
        --------
        >>> NoisedClassRows(epsilon=0.5).guarantees()[0].epsilon
        0.5
        """
        return (self.noise.guarantee(sensitivity=2, unit=Unit.RECORD),)

    def sizes(self, counts: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return noised counts, at least 1.

        Examples
        --------
        >>> NoisedClassRows(epsilon=50.0).sizes(np.array([9, 0]), rng=np.random.default_rng(0))
        array([9, 1])
        """
        return np.asarray(np.maximum(counts + self.noise.draw(len(counts), rng=rng), 1), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePlan:
    """Everything that will leave.

    Unit: one record, label included; neighbours replace one. Not protected: the number of rows and of features, their
    names, the box, the class list, and that the table passed the checks before a release: two rows of each class, no
    feature constant or all on one side of its bounds.

    Parameters
    ----------
    box
        Public bounds of the features.
    release
        ``NoisedRows`` or ``ClassTotals``.
    selection
        Which features leave; None for all.
    class_rows
        Denominators for the selection: ``PublicClassRows`` or ``NoisedClassRows``. Needed with a selection.
    labels
        How the labels of released rows are randomized, by a mechanism that reads labels alone: a prior made from a
        row's features would carry them out. Class totals need none.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> plan = FeaturePlan(
    ...     box=Box.symmetric(1.0), release=NoisedRows(epsilon=4.0, delta=1e-5),
    ...     selection=PrivateSelection(epsilon=1.0, keep=5), class_rows=NoisedClassRows(epsilon=0.1),
    ...     labels=RandomizedResponse(epsilon=1.0),
    ... )
    >>> print(plan.guarantee(features=100, classes=2))
    epsilon 6.1, delta 1e-5 for one record
    """

    box: Box
    release: NoisedRows | ClassTotals
    selection: PrivateSelection | None = None
    class_rows: PublicClassRows | NoisedClassRows | None = None
    labels: LabelMechanism | None = None

    def __post_init__(self) -> None:
        if self.selection is not None and self.class_rows is None:
            raise InvalidInput("class_rows must be given with a selection: public class sizes, or noised ones")
        if isinstance(self.release, NoisedRows) and self.labels is None:
            raise InvalidInput(
                "labels must be a mechanism where rows are released: true labels leave under no guarantee"
            )
        if isinstance(self.release, ClassTotals) and self.labels is not None:
            raise InvalidInput("labels must be None with class totals: labels leave through the totals alone")

    def kept(self, *, features: int) -> int:
        """Return how many features leave.

        Examples
        --------
        >>> FeaturePlan(box=Box.symmetric(1.0), release=ClassTotals(epsilon=1.0, delta=1e-5)).kept(features=7)
        7
        """
        return features if self.selection is None else self.selection.keep

    def check(self, *, features: int, classes: int) -> None:
        """Raise if the plan does not fit a table of so many features and classes, before anything is charged.

        Examples
        --------
        >>> plan = FeaturePlan(box=Box.symmetric(1.0), release=ClassTotals(epsilon=1.0, delta=1e-5),
        ...                    selection=PrivateSelection(epsilon=1.0, keep=9), class_rows=PublicClassRows(rows=(5, 5)))
        >>> plan.check(features=3, classes=2)
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: keep must be at most the number of features, 3, got 9
        """
        self.box.check_features(features)
        if self.selection is not None:
            self.selection.check(features=features)
        if isinstance(self.class_rows, PublicClassRows):
            check_class_rows(self.class_rows.rows, classes=classes)

    def guarantee(self, *, features: int, classes: int) -> Guarantee:
        """Return the promise of all that leaves together.

        Examples
        --------
        >>> plan = FeaturePlan(box=Box.symmetric(1.0), release=ClassTotals(epsilon=1.0, delta=1e-5))
        >>> print(plan.guarantee(features=3, classes=2))
        epsilon 1, delta 1e-5 for one record
        """
        parts: list[Guarantee] = [self.release.guarantee(features=self.kept(features=features))]
        if self.selection is not None and self.class_rows is not None:
            parts += [*self.class_rows.guarantees(), self.selection.guarantee()]
        if self.labels is not None:
            parts.append(_of_the_record(self.labels.bind(classes).guarantee()))
        plain = sum_of(parts)
        return replace(plain, loss=self._loss(parts, plain), assumptions=(*plain.assumptions, *self._assumptions()))

    def _loss(self, parts: list[Guarantee], plain: Guarantee) -> PrivacyLoss | None:
        """What a ledger composes, where it says no more than the plain sum."""
        try:
            together = compose(parts, delta=self.release.delta) if len(parts) > 1 else parts[0]
        except InvalidInput:  # an epsilon of thousands, whose losses leave no room under delta
            return None
        return together.loss if together.epsilon <= plain.epsilon else None

    def _assumptions(self) -> tuple[str, ...]:
        said = ["the number of rows, the names and bounds of the features and the class list are public", _CHECKED]
        if isinstance(self.class_rows, PublicClassRows):
            said.append(f"the class sizes {', '.join(map(str, self.class_rows.rows))} are public")
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        """Return the public description of the plan.

        Examples
        --------
        >>> FeaturePlan(box=Box.symmetric(1.0), release=ClassTotals(epsilon=1.0, delta=1e-5)).to_json()["name"]
        'class_totals'
        """
        chosen = self.selection
        return {
            "name": self.release.name,
            "epsilon": self.release.epsilon,
            "delta": self.release.delta,
            "selection": None
            if chosen is None
            else {
                "epsilon": chosen.epsilon,
                "keep": chosen.keep,
                "score": chosen.score.name,
                "choose": chosen.choose.name,
            },
        }


def _of_the_record(labels: Guarantee) -> Guarantee:
    """The label is part of the record and moves nothing else; nothing here is public because it is a feature."""
    kept = tuple(said for said in labels.assumptions if not said.startswith("features"))
    return replace(labels, unit=Unit.RECORD, assumptions=kept)


def sum_of(parts: list[Guarantee]) -> Guarantee:
    """Return the plain sum: epsilons and deltas add.

    Examples
    --------
    >>> one = Guarantee(unit=Unit.RECORD, epsilon=0.1, delta=1e-6)
    >>> print(sum_of([one, one]))
    epsilon 0.2, delta 2e-6 for one record
    """
    return Guarantee(
        unit=Unit.RECORD,
        epsilon=round_up(sum((exact(part.epsilon) for part in parts), Fraction(0))),
        delta=round_up(sum((exact(part.delta) for part in parts), Fraction(0))),
        assumptions=tuple(dict.fromkeys(said for part in parts for said in part.assumptions)),
    )
