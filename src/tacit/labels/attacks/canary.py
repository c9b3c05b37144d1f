"""Canaries: rows whose label a coin decided. How well a trained model tells the coins proves an epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.data.classes import MISSING, Classes
from tacit.leak import Leak, leak_from_one_run
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["Canaries", "audit_canaries", "plant_canaries"]

Codes = NDArray[np.int64]

_FLOOR = 1e-12  # a model's 0 as a probability


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Canaries:
    """Rows that carry their own label or another one, as a fair coin fell. Secret until the model is trained.

    Parameters
    ----------
    labels
        The whole column with the canaries in it: what the private training gets.
    rows
        Where the canaries are.
    own, other
        The two labels, as class codes, that each canary could carry.
    flipped
        Whether it carries ``other``.
    classes
        The labels that the codes stand for.
    """

    labels: pa.Array
    rows: Codes
    own: Codes
    other: Codes
    flipped: NDArray[np.bool_]
    classes: tuple[Any, ...]


def plant_canaries(
    labels: object, *, count: int, classes: Sequence[Any] | None = None, rng: np.random.Generator
) -> Canaries:
    """Choose ``count`` rows, and flip a fair coin for each: keep its label, or give it another one, drawn uniformly.

    The coins are independent of everything else, so that each is a secret bit in one label, what label privacy
    protects. Half of the canaries train the model on a wrong label.

    Parameters
    ----------
    labels
        The private column; rows without a label are left alone.
    count
        How many canaries. More prove more: 1,000 are a good start.
    classes
        The class list; None: the classes that occur.
    rng
        Chooses rows, labels and coins. It must not be the one that randomizes labels later.

    Examples
    --------
    >>> canaries = plant_canaries(["a", "b"] * 50, count=10, rng=np.random.default_rng(0))
    >>> changed = sum(a != b for a, b in zip(canaries.labels.to_pylist(), ["a", "b"] * 50))
    >>> changed == canaries.flipped.sum()
    np.True_
    """
    coding = Classes.of(labels, declared=classes)
    codes = coding.encode(labels)
    labelled = np.flatnonzero(codes != MISSING)
    if check_count(count, name="count") > len(labelled):
        raise InvalidInput(f"must be at most the {len(labelled)} rows with a label, got {count}", field="count")
    rows = np.sort(rng.choice(labelled, count, replace=False))
    own, K = codes[rows], len(coding)
    other = (own + rng.integers(1, K, size=count)) % K
    flipped = rng.random(count) < 0.5
    planted = codes.copy()
    planted[rows] = np.where(flipped, other, own)
    return Canaries(
        labels=coding.decode(planted), rows=rows, own=own, other=other, flipped=flipped, classes=coding.values
    )


def audit_canaries(
    canaries: Canaries,
    probabilities: ArrayLike,
    *,
    reference: ArrayLike | None = None,
    guesses: int | None = None,
    delta: float = 0.0,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Leak:
    """Bound epsilon from below by how well one trained model tells which label each canary carried.

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
        The same of a model that has not seen the canaries' labels: what it says is taken off the score, which sharpens
        the attack and cannot make the bound wrong.
    guesses
        How many guesses, half of either kind; the rest is left out. Fixed before the scores are seen. Default: all.
    delta
        The delta of the guarantee under test.
    level
        Confidence of the bound.
    rng
        Orders equal scores.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Algorithm 1. Formula sheet d2.

    Examples
    --------
    A nearest neighbour remembers every label it was given. At epsilon 1 as guaranteed; then with the true labels:

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from tacit.labels import Plan, protect
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(2000, 5)), rng.integers(0, 2, 2000)
    >>> canaries = plant_canaries(y, count=1000, rng=rng)
    >>> release = protect(pa.table({"y": canaries.labels}), Plan(label="y", epsilon=1), rng=rng)
    >>> for given in (release.labels, canaries.labels):
    ...     model = KNeighborsClassifier(1).fit(X, given)
    ...     leak = audit_canaries(canaries, model.predict_proba(X[canaries.rows]), rng=rng)
    ...     print(round(leak.epsilon_lower_bound, 2), leak.exceeds(release.guarantee))
    0.8 False
    3.8 True
    """
    score = _log_odds(canaries, probabilities, "probabilities")
    if reference is not None:
        score = score - _log_odds(canaries, reference, "reference")
    count = check_count(len(score) if guesses is None else guesses, name="guesses")
    return leak_from_one_run(
        score[canaries.flipped],
        score[~canaries.flipped],
        guess_members=count // 2,
        guess_nonmembers=count - count // 2,
        level=level,
        delta=delta,
        rng=rng,
    )


def _log_odds(canaries: Canaries, probabilities: ArrayLike, name: str) -> NDArray[np.float64]:
    table = np.asarray(probabilities, dtype=np.float64)
    expected = (len(canaries.rows), len(canaries.classes))
    if table.shape != expected or not np.isfinite(table).all() or (table < 0).any():
        raise InvalidInput(
            f"{name} must be finite numbers >= 0, a row a canary and a column a class, {expected}, got {table.shape}"
        )
    each = np.arange(len(table))
    high = np.maximum(table, _FLOOR)
    return np.asarray(np.log(high[each, canaries.other]) - np.log(high[each, canaries.own]))
