"""What is asked for when label totals of bags are released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from tacit.bags.mechanisms.curated import CuratedMechanism
from tacit.bags.mechanisms.label_totals import ClassTotals, EventTotals, NumberTotals, PositiveTotals
from tacit.bags.mechanisms.random import RandomMechanism
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import MOST_CLASSES
from tacit.privacy.plan import Plan as BasePlan
from tacit.privacy.settings import about, count, positive
from tacit.privacy.unit import Unit

__all__ = ["Plan"]


@dataclass(frozen=True, kw_only=True)
class Plan(BasePlan):
    """Label totals of bags of rows: which bags, totals of what, and under which guarantee.

    Examples
    --------
    >>> plan = Plan(label="ill", epsilon=1, by=[("city", "age"), ("sex",)], edges={"age": [18, 65]})
    >>> plan.least, plan.edges["age"]
    (20, (18.0, 65.0))
    >>> Plan(label="ill", epsilon=1, mechanism="random:size=10,bags=50")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: mechanism random must be given joins with an epsilon: the most bags that one ...
    """

    surface: ClassVar[str] = "bags"
    unused: ClassVar[Mapping[str, str]] = {"features": "by names the columns of bags"}
    released: ClassVar[str] = "Label totals of groups of rows are released, and no single label."
    safer: ClassVar[str] = "add noise, such as epsilon 1 for one label, and release larger bags"
    more_useful: ClassVar[str] = "or form larger bags"

    by: tuple[tuple[str, ...], ...] = field(
        default=(),
        metadata=about("Columns whose values make the bags of one partition. Give it once per partition."),
    )
    edges: Mapping[str, tuple[float, ...]] = field(
        default_factory=dict,
        metadata=about(
            "Where a numeric column is cut: half-open buckets from each edge to the next.",
            rule=f"COLUMN=NUMBER,NUMBER,... with at most {MOST_CLASSES:,} numbers",
            holds=lambda edges: all(len(numbers) <= MOST_CLASSES for numbers in edges.values()),
        ),
    )
    categories: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata=about(
            "The public values of a column, for the unit record; repeatable. Rows with other values share one bag.",
            metavar="COL=A,B,...",
            rule=f"COL=A,B,... with at most {MOST_CLASSES:,} words",
            holds=lambda categories: all(len(words) <= MOST_CLASSES for words in categories.values()),
        ),
    )
    mechanism: CuratedMechanism | RandomMechanism = field(
        default=CuratedMechanism(), metadata=about("How rows are put into bags: by their values (--by), or at random.")
    )
    totals: PositiveTotals | ClassTotals | NumberTotals | EventTotals = field(
        default=PositiveTotals(),
        metadata=about(
            "What the totals count. log: 0/1 labels or the second of two classes. classes: a count per class. squared: "
            "numbers. poisson: counts of events."
        ),
    )
    lower: float | None = field(
        default=None, metadata=about("For squared: labels are clipped to at least this.", rule="a finite number")
    )
    upper: float | None = field(
        default=None,
        metadata=about("For squared and poisson: labels are clipped to at most this.", rule="a finite number"),
    )
    min_size: int | None = field(
        default=None,
        metadata=count("The smallest number of rows of a curated bag; 1 keeps every bag. Default: 20."),
    )
    small: Literal["drop", "merge"] = field(
        default="drop", metadata=about("What to do with smaller bags: leave them out, or merge them into one.")
    )
    consistent: bool = field(
        default=True, metadata=about("After noise, make partitions agree on shared totals; this costs no epsilon.")
    )
    select: int | None = field(
        default=None,
        metadata=count("How many partitions to keep, chosen privately: those that predict labels best. Default: all."),
    )
    selection_epsilon: float | None = field(
        default=None,
        metadata=positive("The part of epsilon that selects partitions. Default: a tenth."),
    )

    @property
    def least(self) -> int:
        """The least number of rows of a curated bag."""
        return 20 if self.min_size is None else self.min_size

    @property
    def protected(self) -> Unit:
        """The unit of privacy: labels unless the plan names records."""
        return self.unit or Unit.LABEL

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read besides the label, each once."""
        named = [name for one in self.by for name in one] + ([] if self.person is None else [self.person])
        return tuple(dict.fromkeys(named))

    def describe(self) -> str:
        """Return what is released, in words."""
        bags = "; ".join(", ".join(one) for one in self.by)
        what = f"totals by {bags}" if bags else f"totals of {self.mechanism.in_words()}"
        return f"{what}, {self.cost or 'exact'}"

    @property
    def suffix(self) -> str:
        """Empty: bags are a folder."""
        return ""

    @classmethod
    def for_table(cls, keys: Mapping[str, Any], *, label: str, features: Sequence[str], classes: int) -> Self:
        """Return the plan of these keys for a table: totals of every class if there are more than two."""
        totals = {"totals": "classes"} if classes > 2 else {}
        return super().for_table({**totals, **keys}, label=label, features=features, classes=classes)

    def check(self) -> None:
        """Raise if two fields do not fit each other."""
        super().check()
        if self.protected not in (Unit.LABEL, Unit.RECORD):
            raise InvalidInput(f"must be label or record, got {self.unit}", field="unit")
        noisy = self.epsilon is not None
        self.totals.check(classes=self.classes, noisy=noisy, lower=self.lower, upper=self.upper)
        self._check_person()
        self.mechanism.check(self)

    def _check_person(self) -> None:
        if self.person is not None and self.protected is Unit.RECORD:
            raise InvalidInput(
                "is for the unit label: for records, give rows_per_person, the most rows of one person in the table",
                field="person",
            )
        if self.person == self.label:
            raise InvalidInput(f"must not be the private column {self.label!r}", field="person")
