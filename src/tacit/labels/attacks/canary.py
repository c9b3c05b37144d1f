"""Canaries in labels: how well a trained model, or a release, reveals the coins bounds epsilon from below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import leak
from tacit.data.classes import Classes
from tacit.labels.attacks.attacked_labels import AttackedLabels
from tacit.labels.attacks.guess import guess_labels
from tacit.labels.methods import LabelCanaries
from tacit.labels.releases.protect import protect
from tacit.leak import Leak, PlantedCanaries
from tacit.privacy.errors import InvalidInput

__all__ = ["PlantedCanaries", "audit_canaries", "plant_and_guess", "plant_canaries"]

_FLOOR = 1e-12  # a model's 0 as a probability


def plant_canaries(
    labels: object, *, count: int, classes: Sequence[Any] | None = None, rng: np.random.Generator
) -> PlantedCanaries:
    """Choose ``count`` rows, and flip a fair coin for each: keep its label, or give it another one, drawn uniformly.

    Half of the canaries train the model on a wrong label.

    Parameters
    ----------
    labels
        The private column; rows without a label are left alone.
    count
        How many canaries. More give a larger bound: 1,000 are a good start.
    classes
        The class list; None: the classes that occur.
    rng
        Chooses rows, labels and coins. It must not be the generator that randomizes labels later.

    Examples
    --------
    >>> canaries = plant_canaries(["a", "b"] * 50, count=10, rng=np.random.default_rng(0))
    >>> changed = sum(a != b for a, b in zip(canaries.labels.to_pylist(), ["a", "b"] * 50))
    >>> changed == canaries.flipped.sum()
    np.True_
    """
    coding = Classes.of(labels, declared=classes)
    planted = leak.plant_canaries(coding.encode(labels), classes=len(coding), count=count, rng=rng)
    return replace(planted, labels=coding.decode(planted.labels), classes=coding.values)


def audit_canaries(
    canaries: PlantedCanaries,
    probabilities: ArrayLike,
    *,
    reference: ArrayLike | None = None,
    guesses: int | None = None,
    delta: float = 0.0,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Leak:
    """Bound epsilon from below by how well one trained model reveals which label each canary had.

    A canary's score is the log of its other label's probability over its own label's. The highest scores are guessed
    flipped, the lowest not; the bound is that of one run. For a model that meets its guarantee it is above epsilon in
    at most 1 - ``level`` of runs.

    Parameters
    ----------
    canaries
        What was planted before training.
    probabilities
        The model's P(class | x) at ``features[canaries.rows]``: a column for each of ``canaries.classes``. The released
        labels of those rows, one-hot, audit the release itself.
    reference
        The same of a model that has not seen the canaries' labels; its score is subtracted, which sharpens the attack
        and cannot make the bound wrong.
    guesses, delta, level, rng
        As in :meth:`tacit.leak.PlantedCanaries.leak`; delta is that of the guarantee under test.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Algorithm 1. Formula sheet d2.
    """
    score = _log_odds(canaries, probabilities, "probabilities")
    if reference is not None:
        score = score - _log_odds(canaries, reference, "reference")
    return canaries.leak(score, guesses=guesses, delta=delta, level=level, rng=rng)


def _log_odds(canaries: PlantedCanaries, probabilities: ArrayLike, name: str) -> NDArray[np.float64]:
    table = np.asarray(probabilities, dtype=np.float64)
    expected = (len(canaries.rows), len(canaries.classes))
    if table.shape != expected or not np.isfinite(table).all() or (table < 0).any():
        raise InvalidInput(
            f"must be finite numbers >= 0, one row per canary and one column per class, {expected}, got {table.shape}",
            field=name,
        )
    each = np.arange(len(table))
    high = np.maximum(table, _FLOOR)
    return np.asarray(np.log(high[each, canaries.other]) - np.log(high[each, canaries.own]))


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
