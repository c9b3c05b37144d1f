"""The public rules by which columns become numbers, declared in a plan because private rows must not decide them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any, Self

from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import MOST_CLASSES, Plan
from tacit.privacy.settings import about

__all__ = ["EncodedPlan"]

End = float | date


def _are_ranges(ranges: Mapping[str, tuple[End, End]]) -> bool:
    return all(_is_range(low, high) for low, high in ranges.values())


def _is_range(low: End, high: End) -> bool:
    if isinstance(low, date) or isinstance(high, date):
        return isinstance(low, date) and isinstance(high, date) and low < high
    return -math.inf < low < high < math.inf


@dataclass(frozen=True, kw_only=True)
class EncodedPlan(Plan):
    """A plan whose columns, of any type, become numbers.

    Parameters
    ----------
    ranges
        The public range of each column of numbers or dates; ``"*"`` for columns without their own.
    categories
        The public words of a column of text; text without them is hashed.
    gaps
        The columns whose gaps get a 0/1 column of their own; ``"*"`` for all.
    cuts
        For a label that is an amount: the public numbers that cut it into classes.

    Examples
    --------
    >>> EncodedPlan(label="cost", epsilon=1, cuts="100,500").cut_classes
    ('below 100', '100 to 500', '500 or more')
    """

    ranges: Mapping[str, tuple[float | date, float | date]] = field(
        default_factory=dict,
        metadata=about(
            "The public range of a column of numbers, or of dates such as 2020-01-31, not computed from the data; "
            "repeatable. Values outside are clipped. COL * is every column without its own range.",
            rule="COL=LOW,HIGH with LOW below HIGH: two finite numbers, or two dates",
            holds=_are_ranges,
        ),
    )
    categories: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata=about(
            "The public values of a column, which get a 0/1 column each; repeatable. Any other value is 0 in all of "
            "them. Text without a list of words is hashed into a fixed number of columns.",
            metavar="COL=A,B,...",
            rule=f"COL=A,B,... with different words, at most {MOST_CLASSES:,}",
            holds=lambda categories: all(
                1 <= len(set(words)) == len(words) <= MOST_CLASSES for words in categories.values()
            ),
        ),
    )
    gaps: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Columns whose missing values get a 0/1 column of their own; * for all. A missing number always becomes "
            "the middle of its range.",
            metavar="COL,...",
        ),
    )
    cuts: tuple[float, ...] = field(
        default=(),
        metadata=about(
            "Public cut points that make classes of a label that is an amount: 100,500 makes below 100, 100 to 500, "
            "and 500 or more. Default: each number is a class.",
            rule=f"finite numbers in ascending order, fewer than {MOST_CLASSES:,}",
            holds=lambda cuts: (
                len(cuts) < MOST_CLASSES and all(map(math.isfinite, cuts)) and all(a < b for a, b in pairwise(cuts))
            ),
        ),
    )

    @property
    def cut_classes(self) -> tuple[str, ...]:
        """The classes that the cuts make, in their order; empty without cuts."""
        if not self.cuts:
            return ()
        ends = [f"{cut:.15g}" for cut in self.cuts]
        between = (f"{low} to {high}" for low, high in pairwise(ends))
        return (f"below {ends[0]}", *between, f"{ends[-1]} or more")

    @classmethod
    def for_table(cls, keys: Mapping[str, Any], *, label: str, features: Sequence[str], classes: int) -> Self:
        """Return the plan of these keys for a table, which supplies its label and the columns to encode."""
        columns = {"features": list(features)} if features else {}
        return super().for_table({**columns, **keys}, label=label, features=features, classes=classes)

    def check(self) -> None:
        """Raise if two fields contradict each other."""
        super().check()
        if self.person is not None and self.person in (self.label, *self.features):
            raise InvalidInput(f"must be neither the label nor a feature, got {self.person!r}", field="person")
        if self.cuts and self.classes is not None:
            raise InvalidInput("must not be given with classes: the cuts make the classes", field="cuts")
