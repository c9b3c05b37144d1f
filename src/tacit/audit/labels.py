"""Randomized labels: what they give away, and what a model still learns from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from shlex import quote
from typing import ClassVar

import numpy as np
import pyarrow as pa

from tacit.audit.finding import Finding
from tacit.audit.planned import plain_model
from tacit.audit.source import Source
from tacit.audit.utility import Utility, share_utility
from tacit.audit.words import percent
from tacit.labels import Plan, attack, protect
from tacit.labels.attacks.canary import audit_canaries, plant_canaries
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.leak import EpsilonBound, Leak, advantage_limit
from tacit.privacy.rounding import check_epsilon

__all__ = ["LabelsRelease"]

# randomized response spends its epsilon to the last bit: at 95% up to one true promise in twenty may look broken
_SURE = 0.9999
_WEAK = 3.0  # the odds of a label may change twenty-fold


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsRelease:
    """Every row's label, randomized.

    Parameters
    ----------
    epsilon
        Of randomized response, for one label.

    Examples
    --------
    >>> LabelsRelease(epsilon=1.0).describe()
    'randomized response, epsilon 1'
    """

    surface: ClassVar[str] = "labels"

    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def check(self, source: Source) -> None:
        """Raise never: any table will do.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> LabelsRelease(epsilon=1.0).check(bundled_source("iris"))
        """

    def at(self, epsilon: float, source: Source) -> LabelsRelease:  # noqa: ARG002
        """Return the release at this epsilon.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> LabelsRelease(epsilon=1.0).at(2.0, bundled_source("iris")).epsilon
        2.0
        """
        return replace(self, epsilon=epsilon)

    def describe(self) -> str:
        """Return what leaves."""
        return f"randomized response, epsilon {self.epsilon:g}"

    def by_hand(self, source: Source) -> str:
        """Return the commands without an audit.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> LabelsRelease(epsilon=1.0).by_hand(replace(bundled_source("iris"), file="iris.csv"))[:50]
        'tacit labels protect iris.csv --label species --ep'
        """
        if source.file is None:
            return ""
        file = quote(source.file)
        return (
            f"tacit labels protect {file} --label {quote(source.label)} --epsilon {self.epsilon:g} "
            f"--out labels.parquet && tacit labels attack labels.parquet --data {file} --truth {file}"
        )

    def audit(self, source: Source, *, rng: np.random.Generator, tell: Callable[[str], None]) -> Finding:
        """Randomize half of the labels, guess them back, and test on the other half a model trained on them.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> found = LabelsRelease(epsilon=1.0).audit(bundled_source("iris"), rng=np.random.default_rng(0), tell=print)
        labels: randomized response, epsilon 1
        >>> found.broken
        False
        """
        tell(f"labels: {self.describe()}")
        start = time.perf_counter()
        X, y = source.X, source.codes
        train, test = source.halves(rng)
        model = LabelPrivateClassifier(epsilon=self.epsilon, classes=range(len(source.classes)), random_state=rng).fit(
            X[train], y[train]
        )
        leak = attack(model.release_, before=source.prior[train], truth=pa.table({"y": y[train]}))
        leak = replace(leak, bound=self._bound(source, rng))
        clean = plain_model().fit(X[train], y[train]).predict(X[test]) == y[test]
        utility = share_utility(
            "accuracy of a model trained on the release", model.predict(X[test]) == y[test], clean, truth=y[test]
        )
        return Finding(
            surface=self.surface,
            data=source.name,
            setting=self.describe(),
            promise=model.guarantee_,
            leak=leak,
            counted=("labels guessed right", "without the release"),
            utility=utility,
            told=f"Whoever sees the randomized labels guesses {percent(leak.rate)} of {leak.trials:,} right instead of "
            f"{percent(leak.baseline)}",
            remedy=_remedy(self.epsilon, leak, utility, classes=len(source.classes)),
            seconds=time.perf_counter() - start,
        )

    def _bound(self, source: Source, rng: np.random.Generator) -> EpsilonBound | None:
        """Bound epsilon from below: coins are hidden in labels, and read from the release."""
        canaries = plant_canaries(source.codes, count=source.rows, classes=range(len(source.classes)), rng=rng)
        plan = Plan(label="y", epsilon=self.epsilon, classes=tuple(map(str, range(len(source.classes)))))
        release = protect(pa.table({"y": canaries.labels}), plan, rng=rng)
        told = np.asarray(release.labels)[canaries.rows]
        return audit_canaries(canaries, np.eye(len(source.classes))[told], level=_SURE, rng=rng).bound


def _remedy(epsilon: float, leak: Leak, utility: Utility, *, classes: int) -> str:
    if utility.worthless:
        return (
            f"a model trained on them is right {percent(utility.protected)} of the time and needs no data to reach "
            f"{percent(utility.blind)}, so allow more than epsilon {epsilon:g}, or release totals of groups"
        )
    if epsilon > _WEAK:
        most = advantage_limit(epsilon=1.0, classes=classes)
        return (
            f"at epsilon {epsilon:g} a label is nearly public, and epsilon 1 lets nobody gain more than "
            f"{100 * most:.0f} points"
        )
    if leak.advantage_interval.low <= 0:
        return "that is within chance, so release them, once, and train on the release alone"
    return f"that is what epsilon {epsilon:g} allows, so release them once, or at a smaller epsilon if it is too much"
