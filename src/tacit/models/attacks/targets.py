"""Rows whose membership is asked, and the attack on one model that scores them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tacit.leak import Leak
from tacit.models.attacks.coins import CoinDesign
from tacit.models.attacks.confidence import FLOOR, measure_confidence
from tacit.models.attacks.loss_threshold import LossThreshold
from tacit.models.attacks.membership import measure_membership
from tacit.models.points import row_keys
from tacit.privacy.errors import InvalidInput

__all__ = ["MembershipAttack", "MembershipTargets", "attack_confidence", "attack_model", "gather_targets"]


class MembershipAttack(Protocol):
    """A way to score rows: ``LossThreshold``, ``OnlineLira``, ``OfflineLira``, ``OnlineRmia`` or ``OfflineRmia``."""

    def score(self, confidence: ArrayLike) -> NDArray[np.float64]:
        """Return a score per row from the target model's confidence in its label; higher means "member"."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MembershipTargets:
    """Rows, their labels, and which of them the target model was trained on; made by :func:`gather_targets`.

    ``X`` is a pandas table where both were.
    """

    X: NDArray[Any] | pd.DataFrame
    y: NDArray[Any]
    member: NDArray[np.bool_]


def gather_targets(
    members: tuple[ArrayLike | pd.DataFrame, ArrayLike], nonmembers: tuple[ArrayLike | pd.DataFrame, ArrayLike]
) -> MembershipTargets:
    """Put members and non-members, each (X, y), into one set of rows, or raise if they do not fit.

    Two pandas tables stay one, text and missing values included: for pipelines that choose columns by name.
    """
    inside, inside_labels = _table(*members, name="members")
    outside, outside_labels = _table(*nonmembers, name="nonmembers")
    if _columns(inside) != _columns(outside):
        raise InvalidInput(
            f"members and nonmembers must have the same columns, got {_columns(inside)} and {_columns(outside)}"
        )
    shared = len(_rows(inside, inside_labels) & _rows(outside, outside_labels))
    if shared:
        raise InvalidInput(
            f"members and nonmembers must not share rows, got {shared} in both: a row cannot be in and out, drop it "
            "from one"
        )
    member = np.repeat([True, False], [len(inside), len(outside)])
    labels = np.concatenate([inside_labels, outside_labels])
    if isinstance(inside, pd.DataFrame) and isinstance(outside, pd.DataFrame):
        return MembershipTargets(X=pd.concat([inside, outside], ignore_index=True), y=labels, member=member)
    return MembershipTargets(X=np.concatenate([np.asarray(inside), np.asarray(outside)]), y=labels, member=member)


def attack_model(
    model: Any,  # noqa: ANN401
    targets: MembershipTargets,
    *,
    rng: np.random.Generator,
    attack: MembershipAttack = LossThreshold(),  # noqa: B008 - frozen, without state
    coins: CoinDesign | None = None,
    floor: float = FLOOR,
    level: float = 0.95,
    delta: float = 0.0,
) -> Leak:
    """Query a model with rows and measure how well an attack finds those it was trained on.

    Parameters
    ----------
    model
        As in :func:`tacit.models.attacks.confidence.measure_confidence`.
    targets
        The rows; an attack with shadow models has theirs in the same order.
    floor
        Least probability; the one that the shadow models were asked with.
    rng, coins, level, delta
        As in :func:`tacit.models.attacks.membership.measure_membership`.
    """
    confidence = measure_confidence(model, targets.X, targets.y, floor=floor)
    return attack_confidence(confidence, targets.member, rng=rng, attack=attack, coins=coins, level=level, delta=delta)


def attack_confidence(
    confidence: ArrayLike,
    member: ArrayLike,
    *,
    rng: np.random.Generator,
    attack: MembershipAttack = LossThreshold(),  # noqa: B008 - frozen, without state
    coins: CoinDesign | None = None,
    level: float = 0.95,
    delta: float = 0.0,
) -> Leak:
    """Measure an attack on a model of which only its confidence in each row's label is at hand.

    That is f = ln p - ln(1 - p), as :func:`tacit.models.attacks.confidence.confidence_from_logits` makes it; the rest
    is as in :func:`attack_model`.
    """
    chosen = np.asarray(member)
    scores = attack.score(confidence)
    if chosen.dtype != np.bool_ or chosen.shape != scores.shape:
        raise InvalidInput(
            f"must be true or false for each of {len(scores)} rows, got shape {chosen.shape}", field="member"
        )
    return measure_membership(scores[chosen], scores[~chosen], rng=rng, coins=coins, level=level, delta=delta)


def _table(X: ArrayLike | pd.DataFrame, y: ArrayLike, *, name: str) -> tuple[NDArray[Any] | pd.DataFrame, NDArray[Any]]:
    rows, labels = X if isinstance(X, pd.DataFrame) else np.asarray(X), np.asarray(y)
    if isinstance(rows, np.ndarray) and (rows.ndim < 2 or rows.dtype.kind not in "biuf"):
        raise InvalidInput(
            f"{name} must have rows of numbers, or be a pandas table, got {rows.dtype} of shape {rows.shape}"
        )
    if not rows.size:
        raise InvalidInput(f"{name} must have one row or more, got shape {rows.shape}")
    if labels.shape != (len(rows),):
        raise InvalidInput(f"{name} must have a label for each of {len(rows)} rows, got shape {labels.shape}")
    return rows, labels


def _columns(X: NDArray[Any] | pd.DataFrame) -> list[Any] | tuple[int, ...]:
    return list(X.columns) if isinstance(X, pd.DataFrame) else X.shape[1:]


def _rows(X: NDArray[Any] | pd.DataFrame, y: NDArray[Any]) -> set[tuple[Any, Any]]:
    if isinstance(X, pd.DataFrame):
        plain = X.astype(object).where(X.notna(), None)  # a missing value equals a missing value
        return set(zip(plain.itertuples(index=False, name=None), y.tolist(), strict=True))
    keys = row_keys(np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float64))
    return set(zip(keys, y.tolist(), strict=True))
