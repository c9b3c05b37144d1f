"""Canaries in all labels of a release: coins that its own plan must hide."""

from __future__ import annotations

from dataclasses import replace

from tacit.labels.attacks.attacked_labels import AttackedLabels
from tacit.labels.attacks.canary import audit_canaries, plant_canaries
from tacit.labels.attacks.guess import guess_labels
from tacit.labels.methods import LabelCanaries
from tacit.labels.releases.protect import protect
from tacit.leak import Leak
from tacit.privacy.errors import InvalidInput

__all__ = ["plant_and_guess"]


def plant_and_guess(_: LabelCanaries, target: AttackedLabels) -> Leak:
    """Hide a coin in every label, protect those labels by the same plan, and guess the coins from that release.

    Nothing of it is published, so nothing is charged.
    """
    plan, classes = target.release.asked, target.release.settled.get("classes")
    if classes is None:
        raise InvalidInput("must be bayes for labels that are numbers, got canaries", field="method")
    if plan.person is not None:
        raise InvalidInput("must be bayes where rows of a person are left out, got canaries", field="method")
    truth, rng = target.true_rows(), target.rng
    labels = truth[plan.label]
    canaries = plant_canaries(labels, count=len(labels) - labels.null_count, classes=classes, rng=rng)
    planted = truth.set_column(truth.column_names.index(plan.label), plan.label, canaries.labels)
    same = replace(plan, classes=tuple(str(name) for name in classes), shuffle=False)
    beliefs = guess_labels(protect(planted, same, rng=rng)).beliefs[canaries.rows]
    leak = audit_canaries(canaries, beliefs, level=target.level, rng=rng)
    notes = ("Canaries: a coin in every label of the table, under fresh noise of the same plan.",)
    return replace(leak, rate_of="coins in labels are guessed correctly", baseline_of="by chance", notes=notes)
