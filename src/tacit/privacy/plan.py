"""The plan of a release: a frozen value that commands, ``tacit.toml``, Python and release headers share."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_bounds
from tacit.privacy.settings import about, count, settings_of, settle, to_plain, to_words
from tacit.privacy.trial import AuditTrial
from tacit.privacy.unit import Unit
from tacit.privacy.words import join_pair

__all__ = ["MOST_CLASSES", "SURFACES", "Plan", "check_class_count", "check_surfaces"]

SURFACES = ("labels", "bags", "features", "scores", "models")
"""What can be released, in the order of every page."""

MOST_CLASSES = 10_000
"""The most classes of a release: whoever reads one allocates memory for each of them."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The fields of every surface's plan; each surface adds its own.

    Values are parsed once, here: typed words, TOML's values and Python's objects give equal plans.

    Parameters
    ----------
    label
        The private column.
    features
        The columns used; empty: all but the label.
    classes
        The public class list; None declares the classes that occur public.
    epsilon, delta
        The guarantee for the whole release; epsilon None for a release without one.
    unit
        The unit of privacy; None: the surface's own.
    person, rows_per_person
        Whose row it is, and how many rows of a person are used at most.

    Examples
    --------
    >>> plan = Plan(label="ill", epsilon="1", classes="no,yes")
    >>> plan.epsilon, plan.classes
    (1.0, ('no', 'yes'))
    >>> plan == Plan.from_json(plan.to_json())
    True
    >>> Plan(label="ill", epsilon=-1)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: epsilon must be a finite number > 0, or none, got -1
    """

    surface: ClassVar[str]
    unused: ClassVar[Mapping[str, str]] = {}
    """Fields that this surface does not use, with the reason: no command offers them, and a value is rejected."""
    released: ClassVar[str] = ""
    """What leaves, one sentence for readers who know no option."""
    safer: ClassVar[str] = ""
    """How to release less than without a guarantee, half a sentence."""
    more_useful: ClassVar[str] = ""
    """What gives more utility beside a larger epsilon, half a sentence."""

    label: str = field(metadata=about("The private column.", metavar="COL"))
    epsilon: float | None = field(
        metadata=about(
            "The epsilon of the whole release, read as the decimal you type; none: no guarantee, and no noise.",
            metavar="NUMBER|none",
            rule="a finite number > 0, or none",
            holds=lambda epsilon: math.isfinite(epsilon) and epsilon > 0,
        )
    )
    delta: float = field(
        default=0.0,
        metadata=about(
            "The delta of the guarantee; well below 1/rows.", rule="in [0, 1)", holds=lambda delta: 0 <= delta < 1
        ),
    )
    features: tuple[str, ...] = field(
        default=(), metadata=about("The columns used. Default: all but the label.", metavar="COL,...")
    )
    classes: tuple[str, ...] | None = field(
        default=None,
        metadata=about(
            "The public class list; write a backslash before a comma or a space that belongs to a name. Default: the "
            "classes that occur; the guarantee then says that these are public.",
            metavar="A,B,...",
            rule=f"a list of at least two different classes, and at most {MOST_CLASSES:,}",
            holds=lambda classes: 2 <= len(set(classes)) == len(classes) <= MOST_CLASSES,
        ),
    )
    unit: Unit | None = field(
        default=None,
        metadata=about("The unit of privacy: what a change of the data changes. Default: the surface's own."),
    )
    person: str | None = field(
        default=None,
        metadata=about(
            "The column that identifies the person of a row; rows beyond rows_per_person are left out at random.",
            metavar="COL",
        ),
    )
    rows_per_person: int = field(
        default=1,
        metadata=count("How many rows of one person are used at most; the guarantee is stated for all of them."),
    )

    def __post_init__(self) -> None:
        settle(self)
        self.check()

    def check(self) -> None:
        """Raise if two fields contradict each other; a surface's plan adds its own rules."""
        check_bounds(self.epsilon, self.delta)
        for name, why in self.unused.items():
            if getattr(self, name):
                raise InvalidInput(f"must not be given: {why}", field=name)
        if self.delta and self.epsilon is None:
            raise InvalidInput("must be 0 with epsilon none: such a release has no guarantee", field="delta")
        if self.label in self.features:
            raise InvalidInput(f"must not name the private column {self.label!r}", field="features")
        if len(set(self.features)) < len(self.features):
            raise InvalidInput(f"must name different columns, got {', '.join(self.features)}", field="features")

    @property
    def suffix(self) -> str:
        """The ending of the release's file; empty if the release is a folder."""
        return ".parquet"

    def to_json(self) -> dict[str, Any]:
        """Return every field as plain JSON."""
        return {one.name: to_plain(getattr(self, one.name)) for one in settings_of(type(self))}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the plan of a document or a table of ``tacit.toml``; an unknown or missing key is rejected."""
        known = {one.name: one for one in settings_of(cls)}
        for name in document:
            if name not in known:
                raise InvalidInput(f"is no field of a plan; there are: {', '.join(known)}", field=str(name))
        for name, one in known.items():
            if one.required and name not in document:
                raise InvalidInput("must be given", field=name)
        return cls(**document)

    @classmethod
    def for_table(cls, keys: Mapping[str, Any], *, label: str, features: Sequence[str], classes: int) -> Self:  # noqa: ARG003
        """Return the plan of these keys for a table, which supplies what they leave out, such as its label.

        Parameters
        ----------
        features
            The columns to use; empty: all but the label.
        classes
            How many labels occur.
        """
        return cls.from_json({"label": label, **keys})

    def request(self) -> str:
        """Return what makes two requests the same one, as text: equal plans.

        The order of classes counts, because totals and predictions depend on it; other surfaces sort the classes.
        """
        return json.dumps({"surface": self.surface, **self.to_json()}, sort_keys=True)

    def describe(self) -> str:
        """Return what is released, in words for readers who know no option; a surface's plan has its own."""
        return f"{self.surface}, {self.cost or 'no guarantee'}"

    @property
    def cost(self) -> str:
        """The epsilon, in words; empty if there is none."""
        return "" if self.epsilon is None else f"epsilon {self.epsilon:g}"

    def at(self, epsilon: float) -> Self:
        """Return the same release at another epsilon, a point of its curve; a surface's plan may need more changes."""
        return replace(self, epsilon=epsilon)

    def shown(self, columns: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return those of the table's columns that are released as they are."""
        return ()

    def trial(self) -> AuditTrial:
        """Return how an audit tries such a release."""
        return AuditTrial()

    def to_options(self) -> list[str]:
        """Return the options that give this plan on the command line; defaults are left out."""
        words: list[str] = []
        for one in settings_of(type(self)):
            value = getattr(self, one.name)
            if value == one.default:
                continue
            if isinstance(value, bool):
                words.append(one.option if value else one.option.replace("--", "--no-", 1))
            elif isinstance(value, Mapping):
                words += [
                    word for name, item in value.items() for word in (one.option, join_pair(name, to_words(item)))
                ]
            elif one.repeatable:
                words += [word for item in value for word in (one.option, to_words(item))]
            else:
                words += [one.option, to_words(value)]
        return words


def check_surfaces(names: Sequence[str]) -> None:
    """Raise unless these are names of surfaces, one or more."""
    unknown = [name for name in names if name not in SURFACES]
    if unknown or not names:
        raise InvalidInput(
            f"must be some of {', '.join(SURFACES)}, got {', '.join(unknown) or 'none'}", field="surfaces"
        )


def check_class_count(found: int, *, label: str) -> None:
    """Raise if a column has more classes than a release may list."""
    if found > MOST_CLASSES:
        raise InvalidInput(
            f"must name a column of at most {MOST_CLASSES:,} classes, {label!r} has {found:,} different labels",
            field="label",
        )
