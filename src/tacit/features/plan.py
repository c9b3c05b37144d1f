"""What is asked for on the features surface."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

from tacit.features.mechanisms import RowMechanism, TotalsMechanism
from tacit.privacy.encoded_plan import EncodedPlan
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import about, count, positive
from tacit.privacy.trial import AuditTrial
from tacit.privacy.unit import Unit

__all__ = ["Plan"]

_DELTA = 1e-6  # of a plan without noise that is moved to an epsilon


@dataclass(frozen=True, kw_only=True)
class Plan(EncodedPlan):
    """Everything that is released of a table's features, and under which guarantee.

    Unit: one record, its label included; neighbors replace one record. Not protected: the number of rows and of
    columns, the names, types and ranges of these, the class list, and that every row has a label of the list.

    Examples
    --------
    >>> plan = Plan(label="ill", epsilon=4, delta=1e-6, select=5, ranges={"*": (-3, 3)})
    >>> " ".join(plan.to_options())
    '--label ill --epsilon 4 --delta 1e-06 --ranges *=-3,3 --select 5'
    """

    surface: ClassVar[str] = "features"
    released: ClassVar[str] = "Rows of features are released with their labels, or totals of each class."
    safer: ClassVar[str] = "release class totals with noise, or noisy rows, instead"
    more_useful: ClassVar[str] = "or release class totals, of more rows per class"

    mechanism: RowMechanism | TotalsMechanism = field(
        default=RowMechanism(),
        metadata=about("What is released: every row with noise, or the totals of the classes with far less noise."),
    )
    select: int | None = field(
        default=None,
        metadata=count("How many columns to keep, chosen privately. Default: all."),
    )
    label_epsilon: float | None = field(
        default=None,
        metadata=positive("The part of epsilon for labels of released rows. Default: the best share in theory."),
    )
    selection_epsilon: float | None = field(
        default=None,
        metadata=positive("The part of epsilon that selects columns. Default: the best share in theory."),
    )
    score: Literal["distance", "t"] = field(
        default="distance",
        metadata=about("The score of columns: the distance of class means, or that distance in standard deviations."),
    )
    class_rows: tuple[int, ...] | None = field(
        default=None,
        metadata=about(
            "Public class sizes, in the order of the classes. Default: noisy ones, for a part of epsilon.",
            rule="integers >= 1, one per class",
            holds=lambda sizes: all(size >= 1 for size in sizes),
        ),
    )

    @property
    def suffix(self) -> str:
        """Rows are Parquet, totals a JSON document."""
        return self.mechanism.suffix

    def check(self) -> None:
        """Raise if two fields do not fit each other."""
        super().check()
        if self.epsilon is not None and self.delta == 0:
            raise InvalidInput("must be > 0: the noise on features is Gaussian", field="delta")
        if self.unit is Unit.BAG:
            raise InvalidInput("must be record or label, got 'bag'", field="unit")
        if self.label_epsilon is not None and not self.mechanism.releases_labels:
            raise InvalidInput(
                f"has no use with {self.mechanism}: labels are released through the totals alone", field="label_epsilon"
            )
        for name in ("selection_epsilon", "class_rows"):
            if getattr(self, name) is not None and self.select is None:
                raise InvalidInput("requires select: without it all columns are released", field=name)
        if self.classes and self.class_rows and len(self.class_rows) != len(self.classes):
            raise InvalidInput(
                f"must be one number for each of {len(self.classes)} classes, got {len(self.class_rows)}",
                field="class_rows",
            )
        for name in ("label_epsilon", "selection_epsilon"):
            if getattr(self, name) is not None and self.epsilon is None:
                raise InvalidInput("requires epsilon, of which it is a part", field=name)

    def request(self) -> str:
        """Return what makes two requests the same one: in whatever order classes are listed, each with its size."""
        if self.classes is None:
            return super().request()
        order = sorted(range(len(self.classes)), key=self.classes.__getitem__)
        sizes = None if self.class_rows is None else tuple(self.class_rows[place] for place in order)
        same = replace(self, classes=tuple(self.classes[place] for place in order), class_rows=sizes)
        return super(Plan, same).request()

    def describe(self) -> str:
        """Return what is released, in words."""
        count = self.select or len(self.features)
        chosen = " privately chosen" if self.select and self.epsilon else ""
        columns = f"{count}{chosen} column{'s' * (count != 1)}" if count else "all columns"
        return f"{self.mechanism.in_words()} of {columns}, {self.cost or 'without noise'}"

    def at(self, epsilon: float) -> Self:
        """Return the same release at another epsilon, divided by theory."""
        return replace(self, epsilon=epsilon, delta=self.delta or _DELTA, label_epsilon=None, selection_epsilon=None)

    def trial(self) -> AuditTrial:
        """Link the rows, and bound epsilon by canaries; class totals and rows without an order have canaries alone."""
        linked = self.mechanism.releases_labels and self.person is None
        return AuditTrial(
            tells="row",
            apart="its attack names whose row it is, and no label",
            learn={"test": "withheld"},
            attack={"truth": "protected"},
            bound="canaries:records=5000" if linked and self.epsilon is not None else None,
        )
