"""Lower bounds on epsilon by canaries, for surfaces whose attack on the rows bounds it loosely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from tacit.audit.plan import Step
from tacit.leak import Leak
from tacit.privacy.releases import Release

__all__ = ["with_bound"]

# randomized response spends its epsilon to the last bit: at 95% up to one true guarantee in twenty may look violated
_SURE = 0.9999
_NOISE_OF_ROWS = "epsilon from canaries under the noise of the rows, a part of the guarantee: the rest is not attacked"


def with_bound(leak: Leak, release: Release, step: Step, rng: np.random.Generator) -> Leak:
    """Return the leak with the bound that canaries give on its surface; on others as it is."""
    if step.plan.epsilon is None or step.surface not in _BOUNDS:
        return leak
    return _BOUNDS[step.surface](leak, release, step, rng)


def _labels(leak: Leak, release: Release, step: Step, rng: np.random.Generator) -> Leak:
    """Hide a coin in every label, protect those labels by the same plan, and read the coins from that release."""
    from tacit.labels.attacks.canary import audit_canaries, plant_canaries

    labels: Any = import_module("tacit.labels")
    if "classes" not in release.settled or step.plan.person is not None:
        return leak  # numbers are rounded to values, and rows of a person are left out
    table, label, classes = step.source.table, step.plan.label, step.plan.classes or step.source.classes
    canaries = plant_canaries(table[label], count=table.num_rows, classes=step.source.values_of(classes), rng=rng)
    planted = table.set_column(table.column_names.index(label), label, canaries.labels)
    beliefs = labels.attack(labels.protect(planted, replace(step.plan, classes=classes), rng=rng), rng=rng).after
    if beliefs is None:
        return leak
    return replace(leak, bound=audit_canaries(canaries, beliefs, level=_SURE, rng=rng).bound)


def _features(leak: Leak, release: Release, _step: Step, rng: np.random.Generator) -> Leak:
    """Tell records in opposite corners of the ranges apart, under noise of the release's scale."""
    features: Any = import_module("tacit.features")
    if "epsilon_of_features" in leak.facts:
        return leak  # of totals, which canaries attacked already
    proved = features.attack(release, method="canaries:records=5000", rng=rng)
    return replace(leak, bound=proved.bound, method=f"{leak.method}; {_NOISE_OF_ROWS}")


_BOUNDS: dict[str, Callable[[Leak, Release, Step, np.random.Generator], Leak]] = {
    "labels": _labels,
    "features": _features,
}
