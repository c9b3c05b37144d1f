"""The beliefs of an attacker about every label after a release, and of a baseline attacker without it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.flags import odds_changes
from tacit.leak.guesses import ABSTAIN, leak_from_guesses
from tacit.leak.measure import Leak
from tacit.leak.utility import largest_advantage
from tacit.privacy.guarantee import AnyGuarantee, Guarantee

__all__ = ["LabelBeliefs"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelBeliefs:
    """P(label) of every row after a release, and before it.

    Parameters
    ----------
    beliefs
        After the release: rows x classes.
    prior
        Of the baseline attacker, who knows the same but not the release: one row for all, or one per row.
    present
        Which rows were released; None: all. The others are not guessed.
    classes
        What the columns stand for; none: their numbers.
    """

    beliefs: Array
    prior: Array
    guarantee: AnyGuarantee
    present: NDArray[np.bool_] | None = None
    classes: tuple[Any, ...] = ()

    @property
    def guesses(self) -> NDArray[np.int64]:
        """The most probable class of each row; ``ABSTAIN`` if nothing was released for it."""
        best = self.beliefs.argmax(axis=1)
        return np.asarray(best if self.present is None else np.where(self.present, best, ABSTAIN), dtype=np.int64)

    @property
    def confidence(self) -> Array:
        """The attacker's probability of each guess."""
        return np.asarray(self.beliefs.max(axis=1))

    @property
    def baseline(self) -> NDArray[np.int64]:
        """The most probable class of each row without the release."""
        return np.broadcast_to(self.prior.argmax(axis=1), len(self.beliefs)).astype(np.int64)

    @property
    def largest_advantage(self) -> float:
        """The largest expected advantage over the baseline that the guarantee allows, if ``prior`` is correct.

        max over k of e^epsilon P_k/(e^epsilon + k - 1), P_k the mass of the k likeliest labels, less P_1, averaged
        over rows. Never above tanh(epsilon/4); for two classes tanh(epsilon/2)/2.
        """
        if not isinstance(self.guarantee, Guarantee):
            return float(1 - self.prior.max(axis=1).mean())
        return largest_advantage(self.prior, epsilon=self.guarantee.epsilon, delta=self.guarantee.delta)

    def leak(self, truth: ArrayLike, *, baseline: float | None = None, level: float = 0.95) -> Leak:
        """Measure the guesses with the true labels, which are not in the release and are used for nothing else.

        Parameters
        ----------
        baseline
            None: the advantage over the baseline attacker, row by row, without a bound on epsilon. A number: the
            largest probability that any of these labels had without the release, such as 1/K for labels drawn
            uniformly; then the leak has a lower bound on epsilon.
        """
        delta = self.guarantee.delta if isinstance(self.guarantee, Guarantee) and baseline is not None else 0.0
        against = self.baseline if baseline is None else baseline
        leak = leak_from_guesses(self.guesses, truth, baseline=against, level=level, delta=delta)
        before = np.broadcast_to(self.prior, self.beliefs.shape)
        shown = slice(None) if self.present is None else self.present
        names = self.classes or range(self.beliefs.shape[1])
        changes = odds_changes(before[shown], self.beliefs[shown], np.asarray(truth)[shown], names=names, level=level)
        return replace(leak, changes=changes, before=before, after=self.beliefs)
