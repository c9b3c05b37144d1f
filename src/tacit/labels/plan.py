"""The plan of a release of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from tacit.labels.mechanisms import Mechanism, RandomizedResponse
from tacit.privacy import plan as kernel
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import about, choices_of
from tacit.privacy.trial import AuditTrial
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    from tacit.privacy.guarantee import Guarantee

__all__ = ["ALL", "LIKELIHOOD", "WEIGHT", "Plan"]

ALL = ("all",)
"""As ``features``: every column but the private one."""

LIKELIHOOD, WEIGHT = "likelihood_", "weight_"
"""What the names of columns begin with that train a model without tacit."""

_MOST_VALUES = 2_001  # the best bins of n numbers take several tables of n^2 numbers

_RESERVED = ("label", "stage", "prior")


@dataclass(frozen=True, kw_only=True)
class Plan(kernel.Plan):
    """One randomized label per row, and the public columns that are released beside it.

    Examples
    --------
    >>> plan = Plan(label="days", epsilon=2, mechanism="bins:share=0.2", values="0:30:1")
    >>> plan.mechanism, len(plan.values), str(plan.guarantee())
    (RandomizedResponseOnBins(share=0.2), 31, 'epsilon 2 for one label')
    """

    surface: ClassVar[str] = "labels"
    unused: ClassVar[Mapping[str, str]] = {"delta": "the mechanisms of labels have pure epsilon"}
    released: ClassVar[str] = "Every row's label is released, replaced by another one at random."
    safer: ClassVar[str] = "randomize them, at epsilon 1 for one label"
    more_useful: ClassVar[str] = "or release totals of groups"

    features: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "The columns released beside the labels; all: every other column. Default: none.", metavar="COL,..."
        ),
    )
    mechanism: Mechanism = field(default=RandomizedResponse(), metadata=about("The mechanism that randomizes."))
    prior: tuple[float, ...] | None = field(
        default=None,
        metadata=about(
            "Public probabilities, one for each of the classes or values. Default: estimated from a share of epsilon."
        ),
    )
    values: tuple[float, ...] | None = field(
        default=None,
        metadata=about(
            "For numbers: the public list that labels are rounded to. Default: the numbers that occur.",
            metavar="LOW:HIGH:STEP",
            rule=f"at least two numbers in ascending order and at most {_MOST_VALUES:,}, or LOW:HIGH:STEP",
            holds=lambda values: 2 <= len(values) <= _MOST_VALUES and all(a < b for a, b in pairwise(values)),
        ),
    )
    missing: Literal["refuse", "public"] = field(
        default="refuse",
        metadata=about("Rows without a label: reject them, or declare it public which rows these are."),
    )
    shuffle: bool = field(default=False, metadata=about("Release the rows in random order."))
    weights: bool = field(
        default=False,
        metadata=about("Release what trains a model without tacit: columns of likelihoods and unbiased weights."),
    )

    def check(self) -> None:
        """Raise if two fields contradict each other."""
        super().check()
        if self.epsilon is None:
            raise InvalidInput("must be a number: labels are not released without a guarantee", field="epsilon")
        if self.unit not in (None, Unit.LABEL):
            raise InvalidInput(f"must be label, got {self.unit}", field="unit")
        if self.person == self.label:
            raise InvalidInput("must not name the private column", field="person")
        self._check_features()
        self._check_mechanism()

    def _check_features(self) -> None:
        if self.mechanism.needs_features and not self.features:
            raise InvalidInput(f"must name columns: {self.mechanism.name} learns from them", field="features")
        for name in self.mechanism.reads if self.features != ALL else ():
            if name not in self.features:
                raise InvalidInput(
                    f"must name {name!r}, the column with each row's epsilon, which readers need", field="features"
                )
        for name in self.features:
            if self.is_own(name):
                raise InvalidInput(
                    f"must not name {name!r}, a column of the release; rename it first", field="features"
                )

    def _check_mechanism(self) -> None:
        name, numbers = self.mechanism.name, self.mechanism.numbers
        if self.classes is not None and numbers:
            raise InvalidInput(f"must be left out for {name}, which releases numbers; give values", field="classes")
        if self.values is not None and not numbers:
            raise InvalidInput(f"must be left out for {name}, which releases classes; give classes", field="values")
        if self.weights and numbers:
            raise InvalidInput(f"must be left out for {name}, which releases numbers", field="weights")
        if self.prior is None:
            return
        if not self.mechanism.takes_prior:
            others = ", ".join(one.name for one in choices_of(Mechanism) if getattr(one, "takes_prior", False))
            raise InvalidInput(f"requires a mechanism that uses it ({others}), got {name}", field="prior")
        listed = self.values if numbers else self.classes
        if listed is None:
            needed = "values" if numbers else "classes"
            raise InvalidInput(f"requires {needed}: each of its numbers belongs to one of them", field="prior")
        if len(listed) != len(self.prior):
            raise InvalidInput(f"must have {len(listed)} numbers, got {len(self.prior)}", field="prior")

    def describe(self) -> str:
        """Return what is released, in words."""
        return f"{self.mechanism.in_words()}, {self.cost}"

    def guarantee(self) -> Guarantee:
        """Return what is guaranteed: for one label, or for all rows of one person."""
        from tacit.data.classes import LISTED

        assumed = list(self.mechanism.assumptions(self.prior))
        if self.classes is None and self.values is None:
            assumed.append("which classes occur in the labels is public")
        if self.classes is not None:
            assumed.append(LISTED if self.missing == "refuse" else "it is public that every label is of the class list")
        if self.missing == "public":
            assumed.append("which rows have no label is public")
        if self.person is not None:
            assumed.append("which rows belong to one person is public")
        kept = self.mechanism.guarantee(self.epsilon or 0.0, prior=self.prior, rows=self.rows_per_person)
        return replace(kept, assumptions=tuple(assumed))

    def shown(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that are released beside the labels."""
        return tuple(name for name in columns if name != self.label) if self.features == ALL else self.features

    def is_own(self, name: str) -> bool:
        """Whether a released column is the release's own, and no feature."""
        own = _RESERVED if self.mechanism.needs_features else _RESERVED[:1]
        return name in own or (self.weights and name.startswith((LIKELIHOOD, WEIGHT)))

    def trial(self) -> AuditTrial:
        """Guess the labels, and bound epsilon by canaries where labels are classes and every row is released."""
        return AuditTrial(
            apart="its rows are in random order" if self.shuffle else "",
            bound=None if self.mechanism.numbers or self.person is not None else "canaries",
        )

    def request(self) -> str:
        """Return the identity of a request: reordering classes, or writing 1.0 for 1, is the same request."""
        if self.classes is None:
            return super().request()
        words = [_plain(word) for word in self.classes]
        order = sorted(range(len(words)), key=words.__getitem__)
        prior = None if self.prior is None else tuple(self.prior[place] for place in order)
        same = replace(self, classes=tuple(words[place] for place in order), prior=prior)
        return super(Plan, same).request()


def _plain(word: str) -> str:
    try:
        return repr(float(word))
    except ValueError:
        return word
