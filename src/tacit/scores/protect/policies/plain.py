"""Policies without a promise: the score itself, and the score rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import NoGuarantee, Promise
from tacit.privacy.rounding import check_count
from tacit.scores.protect.metrics import Measurement
from tacit.scores.protect.policies.base import Answer, Policy, State

__all__ = ["Exact", "Rounded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact(Policy):
    """The score as computed: for comparison, and for labels that are public anyway.

    Examples
    --------
    >>> from tacit.scores.protect import Accuracy
    >>> rng = np.random.default_rng(0)
    >>> Exact().release(Accuracy().measure([0, 1], [0, 0]), state={}, rng=rng).text
    '0.5'
    """

    kind = "exact"

    @property
    def guarantee_per_score(self) -> Promise:
        """None.

        Examples
        --------
        >>> print(Exact().guarantee_per_score)
        no guarantee: exact scores: submissions can be built whose scores are the labels
        """
        return NoGuarantee(reason="exact scores: submissions can be built whose scores are the labels")

    def release(self, measurement: Measurement, *, state: State, rng: np.random.Generator) -> Answer:  # noqa: ARG002
        """Return the score.

        Examples
        --------
        >>> from tacit.scores.protect import Mae
        >>> Exact().release(Mae().measure([1], [0.25]), state={}, rng=np.random.default_rng(0)).released
        0.75
        """
        score = measurement.exact
        return Answer(released=score, text=repr(score), charge=self.guarantee_per_score, state=dict(state))

    def describe(self) -> str:
        """Say so.

        Examples
        --------
        >>> Exact().describe().split(":")[0]
        'Scores are shown as computed'
        """
        return "Scores are shown as computed: a few dozen submissions can tell every label."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded(Policy):
    """The score rounded to a number of decimals. No promise: rounding only makes an attack longer.

    Parameters
    ----------
    decimals
        Decimals kept, 0 to 15.

    Examples
    --------
    >>> from tacit.scores.protect import Brier
    >>> rng = np.random.default_rng(0)
    >>> Rounded(decimals=1).release(Brier().measure([1, 0], [0.4, 0.3]), state={}, rng=rng).text
    '0.2'
    """

    kind = "rounded"

    decimals: int = 3

    def __post_init__(self) -> None:
        if check_count(self.decimals, name="decimals", least=0) > 15:
            raise InvalidInput(f"decimals must be at most 15, got {self.decimals!r}; use Exact")

    @property
    def guarantee_per_score(self) -> Promise:
        """None.

        Examples
        --------
        >>> print(Rounded().guarantee_per_score)
        no guarantee: rounding is no noise: submissions can be built whose rounded scores are the labels
        """
        return NoGuarantee(reason="rounding is no noise: submissions can be built whose rounded scores are the labels")

    def release(self, measurement: Measurement, *, state: State, rng: np.random.Generator) -> Answer:  # noqa: ARG002
        """Return the rounded score.

        Examples
        --------
        >>> from tacit.scores.protect import Mae
        >>> Rounded(decimals=1).release(Mae().measure([1], [0.28]), state={}, rng=np.random.default_rng(0)).released
        0.7
        """
        text = f"{measurement.exact:.{self.decimals}f}"
        return Answer(released=float(text), text=text, charge=self.guarantee_per_score, state=dict(state))

    def describe(self) -> str:
        """Say to how many decimals.

        Examples
        --------
        >>> Rounded(decimals=2).describe()
        'Scores are rounded to 2 decimals; this only makes an attack longer.'
        """
        return f"Scores are rounded to {self.decimals} decimals; this only makes an attack longer."
