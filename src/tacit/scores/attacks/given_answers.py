"""What released answers to known submissions reveal about the labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.words import counted
from tacit.scores.attacks.competition import AttackResult
from tacit.scores.attacks.posterior import ScoreReading, label_chances, label_posterior, with_unscored
from tacit.scores.releases.release import Release

__all__ = ["posterior_of_answers"]

Floats = NDArray[np.float64]

_MOST = 10**8  # numbers in the matrices of message passing


def posterior_of_answers(release: Release, submissions: Sequence[Floats], prior: Floats) -> AttackResult:
    """Weigh every label by Bayes' rule over all answers to these submissions."""
    if len(submissions) != len(release.scores):
        raise InvalidInput(
            f"must be the {counted(len(release.scores), 'scored submission')}, got {len(submissions)}", field="data"
        )
    if not release.metric.additive or release.policy.improvement is not None:
        raise InvalidInput(
            f"must be answers by a metric that is a mean over rows and a policy other than ladder, got "
            f"{release.metric.name} by {release.policy.name}; attack an offer of them",
            field="release",
        )
    rows, classes = prior.shape
    stacked = np.concatenate([given.reshape(rows, -1) for given in submissions])
    menu, places = np.unique(stacked, axis=0, return_inverse=True)
    if len(menu) * stacked.shape[0] > _MOST:
        raise InvalidInput(f"must have fewer different predictions for this attack, got {len(menu):,}", field="data")
    choices = places.reshape(len(submissions), rows)
    losses = _losses(release, menu, classes)
    readings, scored = _readings(release, choices), release.rows / rows
    known, losses = with_unscored(prior, losses, share=scored) if scored < 1 else (prior, losses)
    after = label_chances(label_posterior(readings, known, losses=losses), prior)
    return AttackResult(
        labels=after.argmax(axis=1), submissions=len(submissions), attack="Bayes' rule over all answers", after=after
    )


def _losses(release: Release, menu: Floats, classes: int) -> Floats:
    """Return (menu, classes): the term of a row with each prediction and label."""
    given = menu[:, 0] if menu.shape[1] == 1 else menu
    labels = [np.full(len(menu), label) for label in range(classes)]
    return np.stack([release.metric.measure(label, given).terms for label in labels], axis=1)


def _readings(release: Release, choices: NDArray[np.int64]) -> list[ScoreReading]:
    readings, last = [], None
    for choice, answer in zip(choices, release.answers, strict=True):
        interval = release.policy.interval(
            float(answer["score"]), metric=release.metric, rows=release.rows, changed=answer["text"] != last
        )
        last = answer["text"]
        low, high, scale = (end * release.rows for end in interval)
        readings.append(ScoreReading(choice, low, high, scale))
    return readings
