"""What is asked for when label totals of bags are released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from tacit.bags.mechanisms.curated import CuratedMechanism
from tacit.bags.mechanisms.random import RandomMechanism
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import MOST_CLASSES
from tacit.privacy.plan import Plan as BasePlan
from tacit.privacy.settings import about, count, positive
from tacit.privacy.unit import Unit

__all__ = ["Plan"]

MOST = 1e150
"""The largest label: its square, and so its range, must be finite."""

OF_CLASSES = ("log", "classes")
"""Totals of labels that are classes; the others are of numbers."""


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
    totals: Literal["log", "classes", "squared", "poisson"] = field(
        default="log",
        metadata=about(
            "What is added up. log: 0/1 labels or the second of two classes. classes: a count per class. squared: "
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
        metadata=count("The least number of rows of a curated bag; 1 keeps every bag. Default: 20."),
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
        self._check_classes()
        self._check_range()
        self._check_person()
        self.mechanism.check(self)

    def _check_classes(self) -> None:
        if self.classes is None:
            return
        if self.totals not in OF_CLASSES:
            raise InvalidInput(f"is for totals log and classes, got totals {self.totals}", field="classes")
        if self.totals == "log" and len(self.classes) != 2:
            raise InvalidInput(
                f"must be two classes for totals log, got {len(self.classes)}; use totals classes", field="classes"
            )

    def _check_range(self) -> None:
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            if bound is None:
                continue
            if self.totals in OF_CLASSES:
                raise InvalidInput(f"is for totals squared and poisson, got totals {self.totals}", field=name)
            if not abs(bound) <= MOST:
                raise InvalidInput(f"must be a finite number of at most {MOST:g} in size, got {bound}", field=name)
        if self.totals == "poisson":
            self._check_counts()
        elif self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise InvalidInput(f"must be below upper, got {self.lower:g} and {self.upper:g}", field="lower")
        if self.epsilon is not None and self.totals not in OF_CLASSES:
            for name in ("upper",) if self.totals == "poisson" else ("lower", "upper"):
                if getattr(self, name) is None:
                    raise InvalidInput(f"must be given with epsilon for totals {self.totals}", field=name)

    def _check_counts(self) -> None:
        if self.lower not in (None, 0.0):
            raise InvalidInput(f"must be 0 for totals poisson, got {self.lower:g}", field="lower")
        if self.upper is not None and (self.upper != int(self.upper) or self.upper < 1):
            raise InvalidInput(f"must be an integer >= 1 for totals poisson, got {self.upper:g}", field="upper")

    def _check_person(self) -> None:
        if self.person is not None and self.protected is Unit.RECORD:
            raise InvalidInput(
                "is for the unit label: for records, rows_per_person must have in the table",
                field="person",
            )
        if self.person == self.label:
            raise InvalidInput(f"must not be the private column {self.label!r}", field="person")
