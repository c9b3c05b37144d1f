"""What is asked for when a model is trained for release."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from tacit.models.mechanisms import DpSgd, EarlyStop, LabelPrivateTraining, MarginMechanism, PlainTraining
from tacit.privacy.encoded_plan import EncodedPlan
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import about
from tacit.privacy.trial import AuditTrial

__all__ = ["Plan"]

_DELTA = 1e-6  # of a plan without noise that is moved to an epsilon


@dataclass(frozen=True, kw_only=True)
class Plan(EncodedPlan):
    """A model to train on a table, and the guarantee for the rows it is trained on.

    Unit: one record for ``DpSgd``, one label for ``LabelPrivateTraining``; the other mechanisms have no guarantee and
    need ``epsilon=None``.

    Parameters
    ----------
    ranges, categories, gaps
        What is public of the columns. ``DpSgd`` needs a range for each column of numbers or dates. The features of the
        other mechanisms are not private, so that means, standard deviations and words are computed from them by
        default.

    Examples
    --------
    >>> plan = Plan(label="ill", epsilon=3, delta=1e-6, mechanism="dp_sgd:width=16", ranges={"*": (0, 100)})
    >>> " ".join(plan.to_options())
    '--label ill --epsilon 3 --delta 1e-06 --ranges *=0,100 --mechanism dp_sgd:width=16'
    """

    surface: ClassVar[str] = "models"
    released: ClassVar[str] = "A trained model is released with its weights."
    safer: ClassVar[str] = (
        "train with DP-SGD, such as epsilon 3 for one record, or serve predictions instead of weights"
    )
    more_useful: ClassVar[str] = "or train on more rows"

    mechanism: DpSgd | LabelPrivateTraining | MarginMechanism | EarlyStop | PlainTraining = field(
        default=DpSgd(),  # frozen
        metadata=about("How the model is trained."),
    )

    @property
    def suffix(self) -> str:
        """As the mechanism stores its model."""
        return self.mechanism.ending

    def check(self) -> None:
        """Raise if the mechanism cannot keep what is asked for."""
        super().check()
        if self.mechanism.two_classes and self.classes is not None and len(self.classes) != 2:
            raise InvalidInput(f"must be two for {self.mechanism.name}, got {len(self.classes)}", field="classes")
        self.mechanism.check(self)

    def describe(self) -> str:
        """Return what is released, in words."""
        return f"{self.mechanism.in_words()}, {self.cost or 'trained without protection'}"

    def at(self, epsilon: float) -> Self:
        """Return the same model trained at an epsilon; a mechanism without a guarantee becomes DP-SGD."""
        if self.epsilon is not None:
            return replace(self, epsilon=epsilon)
        return replace(self, epsilon=epsilon, delta=_DELTA, mechanism=DpSgd())

    def trial(self) -> AuditTrial:
        """Withhold a row of each pair by a coin, which bounds epsilon of whole rows.

        Not where the guarantee is for labels alone, and not with persons: how many rows are used then depends on coins.
        """
        rows = self.epsilon is None or self.mechanism.private_features
        coins = "pairs" if rows and self.person is None else "none"
        references = self.mechanism.references
        attack = f"rmia:models={references}" if references else "loss"
        return AuditTrial(
            tells="member",
            apart="its attack tells which rows it was trained on, so half of the rows are not",
            withheld="pairs",
            learn={"test": "withheld"},
            attack={"data": "withheld", "truth": "protected"},
            method=f"{attack}{',' if references else ':'}coins={coins}",
        )
