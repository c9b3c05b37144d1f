"""Canaries in all labels of a release: coins that its own plan must hide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tacit.labels.attacks.canary import audit_canaries, plant_canaries
from tacit.labels.attacks.guess import guess_labels
from tacit.labels.releases.protect import protect
from tacit.labels.releases.release import Release
from tacit.leak import Leak
from tacit.privacy.errors import InvalidInput

__all__ = ["plant_and_guess"]


def plant_and_guess(release: Release, truth: pa.Table, *, level: float, rng: np.random.Generator) -> Leak:
    """Hide a coin in every label, protect those labels by the same plan, and guess the coins from that release.

    Nothing of it is published, so nothing is charged.
    """
    plan, classes = release.asked, release.settled.get("classes")
    if classes is None:
        raise InvalidInput("must be bayes for labels that are numbers, got canaries", field="method")
    if plan.person is not None:
        raise InvalidInput("must be bayes where rows of a person are left out, got canaries", field="method")
    labels = truth[plan.label]
    canaries = plant_canaries(labels, count=len(labels) - labels.null_count, classes=classes, rng=rng)
    planted = truth.set_column(truth.column_names.index(plan.label), plan.label, canaries.labels)
    same = replace(plan, classes=tuple(str(name) for name in classes), shuffle=False)
    beliefs = guess_labels(protect(planted, same, rng=rng)).beliefs[canaries.rows]
    leak = audit_canaries(canaries, beliefs, level=level, rng=rng)
    notes = ("Canaries: a coin in every label of the table, under fresh noise of the same plan.",)
    return replace(leak, rate_of="coins in labels are guessed correctly", baseline_of="by chance", notes=notes)
