"""Randomized labels: what they give away, and what a model still learns from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from shlex import quote
from typing import ClassVar

import numpy as np

from tacit.audit.planned import plain_model, share_utility
from tacit.audit.result import Finding
from tacit.audit.source import Source
from tacit.labels import LabelPrivateClassifier, RandomizedResponse, release_labels
from tacit.labels.attack import audit_canaries, guess_labels_with_features, plant_canaries
from tacit.leak import EpsilonBound, Leak
from tacit.privacy.rounding import check_epsilon

__all__ = ["LabelsRelease"]

# randomized response spends its epsilon to the last bit: at 95% up to one true promise in twenty may look broken
_SURE = 0.9999


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

    @classmethod
    def at(cls, epsilon: float, source: Source) -> LabelsRelease:  # noqa: ARG003
        """Return the release at this epsilon.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> LabelsRelease.at(2.0, bundled_source("iris")).epsilon
        2.0
        """
        return cls(epsilon=epsilon)

    def describe(self) -> str:
        """Return what leaves."""
        return f"randomized response, epsilon {self.epsilon:g}"

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
        model = LabelPrivateClassifier(
            mechanism=RandomizedResponse(epsilon=self.epsilon), classes=range(len(source.classes)), random_state=rng
        ).fit(X[train], y[train])
        leak = guess_labels_with_features(model.release_, X[train], model=plain_model(), rng=rng).leak(y[train])
        leak = replace(leak, bound=self._bound(source, rng))
        clean = plain_model().fit(X[train], y[train]).predict(X[test]) == y[test]
        utility = share_utility("accuracy of a model trained on the release", model.predict(X[test]) == y[test], clean)
        return Finding(
            surface=self.surface,
            data=source.name,
            setting=self.describe(),
            promise=model.guarantee_,
            leak=leak,
            utility=utility,
            advice=_advice(self.epsilon, leak),
            command=f"tacit labels protect {quote(source.file)} --label {quote(source.label)} "
            f"--epsilon {self.epsilon:g} --out labels.release && tacit labels attack labels.release "
            f"--features {quote(source.file)} --truth {quote(source.file)}",
            seconds=time.perf_counter() - start,
        )

    def _bound(self, source: Source, rng: np.random.Generator) -> EpsilonBound | None:
        """Bound epsilon from below: coins are hidden in labels, and read from the release."""
        canaries = plant_canaries(source.codes, count=source.rows, classes=range(len(source.classes)), rng=rng)
        release = release_labels(
            canaries.labels,
            mechanism=RandomizedResponse(epsilon=self.epsilon),
            classes=range(len(source.classes)),
            rng=rng,
        )
        told = np.asarray(release.value["label"])[canaries.rows]
        return audit_canaries(canaries, np.eye(len(source.classes))[told], level=_SURE, rng=rng).bound


def _advice(epsilon: float, leak: Leak) -> str:
    told = f"Whoever sees the randomized labels guesses {leak.rate:.1%} of them right instead of {leak.baseline:.1%}"
    if epsilon > 3:
        return f"{told}: at epsilon {epsilon:g} a label is nearly public; epsilon 1 hides it."
    return f"{told}; train on the release alone, and release these labels once."
