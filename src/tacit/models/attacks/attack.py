"""Attack a released model, and measure what it reveals about the rows it was trained on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.leak import Leak
from tacit.models.attacks.lira import OnlineLira, PooledSpread, SpreadPerPoint
from tacit.models.attacks.loss_threshold import LossThreshold
from tacit.models.attacks.network_attack import attack_network, is_network, reconstruct_network
from tacit.models.attacks.rmia import OnlineRmia
from tacit.models.attacks.rows import AttackedRows, read_attacked
from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.attacks.shadow_estimator import TrainedLikeRelease
from tacit.models.attacks.shadow_training import train_shadows
from tacit.models.attacks.targets import MembershipAttack, attack_confidence
from tacit.models.mechanisms import PlainTraining
from tacit.models.mechanisms.margin import MarginTraining
from tacit.models.methods import (
    AttackMethod,
    ConfidenceAttack,
    LiraAttack,
    LossAttack,
    MarginAttack,
    ReconstructionAttack,
    RmiaAttack,
    ShadowAttack,
)
from tacit.models.plan import Plan
from tacit.models.releases.release import Release
from tacit.privacy.edge import checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice

__all__ = ["attack"]


@checked
def attack(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    truth: object = None,
    before: object = None,
    method: AttackMethod | str | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Leak:
    """Measure how well an attack finds the rows that a model was trained on.

    Parameters
    ----------
    release
        A release, or the path of a model file. A pickle must be opened with ``Release.read(path, trust=True)``.
    data
        Rows like those trained on that were not; rows that equal a member are left out.
    truth
        Rows that the model was trained on.
    method
        ``margin`` (the default for a network trained to its margin, and for a homogeneous two-layer ReLU network of
        which nothing is known), ``loss`` (else), ``lira``, ``rmia``, or ``reconstruct``, which needs neither ``truth``
        nor ``data``.
    rng
        Draws the rows that choose a threshold, and shadow models.

    Examples
    --------
    >>> import pandas as pd
    >>> from tacit.models.releases.protect import protect
    >>> draw = np.random.default_rng(0)
    >>> def rows(count):
    ...     return pd.DataFrame(draw.normal(size=(count, 30))).assign(ill=draw.integers(0, 2, count))
    >>> table = rows(40)
    >>> release = protect(table, Plan(label="ill", epsilon=None, mechanism="plain:estimator=mlp"))
    >>> attack(release, truth=table, data=rows(400), rng=draw).roc.auc > 0.9
    True
    """
    if before is not None:
        raise InvalidInput("must not be given: membership is not a belief about labels", field="before")
    source = Release.open(release)
    chosen = read_choice(AttackMethod, method or _default_method(source), field="method")
    asked = _AttackInputs(
        release=source,
        truth=truth,
        data=data,
        level=level,
        rng=system_rng() if rng is None else rng,
        progress=progress or (lambda *_: None),
    )
    leak = _MEASURES[type(chosen)](asked, chosen)
    return replace(leak, notes=(f"{source}.", *leak.notes))


def _default_method(release: Release) -> AttackMethod:
    """Return the attack that fits how the model was trained."""
    plan = release.plan
    to_margin = isinstance(plan.mechanism, MarginTraining) if isinstance(plan, Plan) else is_network(release)
    return MarginAttack() if to_margin else LossAttack()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _AttackInputs:
    """What every attack is given."""

    release: Release
    truth: object
    data: object
    level: float
    rng: np.random.Generator
    progress: Callable[[int, int], None]

    def rows(self, *, fair_coins: bool = False) -> AttackedRows:
        return read_attacked(self.release, self.truth, self.data, fair_coins=fair_coins)


def _by_margin(asked: _AttackInputs, method: MarginAttack) -> Leak:
    return attack_network(asked.release, asked.rows(), method, level=asked.level, rng=asked.rng)


def _by_reconstruction(asked: _AttackInputs, method: ReconstructionAttack) -> Leak:
    rows = None if asked.truth is None else asked.rows()
    return reconstruct_network(asked.release, rows, method, level=asked.level, rng=asked.rng, progress=asked.progress)


def _by_confidence(asked: _AttackInputs, method: ConfidenceAttack) -> Leak:
    rows = asked.rows(fair_coins=method.fair_coins)
    how = _scorer(asked, method, rows)
    confidence = rows.confidence(asked.release, black_box=method.black_box)
    leak = attack_confidence(
        confidence,
        rows.member,
        rng=asked.rng,
        attack=how,
        fair_coins=method.fair_coins,
        level=asked.level,
        delta=getattr(asked.release.guarantee, "delta", 0.0),
    )
    scores = pa.table({"trained_on": rows.member, "score": how.score(confidence)})
    notes = [*rows.notes(), f"AUC {leak.roc.auc:.4f}, {leak.roc.at_0_1_percent}."] if leak.roc else rows.notes()
    return replace(leak, guesses=scores, notes=tuple(notes), facts={"method": str(method), **rows.facts()})


def _scorer(asked: _AttackInputs, method: ConfidenceAttack, rows: AttackedRows) -> MembershipAttack:
    if not isinstance(method, ShadowAttack):
        return LossThreshold()
    shadows = _shadows(asked, method, rows)
    if isinstance(method, RmiaAttack):
        return OnlineRmia(shadows=shadows)
    return OnlineLira(shadows=shadows, spread=PooledSpread() if shadows.models < 64 else SpreadPerPoint())


def _shadows(asked: _AttackInputs, method: ShadowAttack, rows: AttackedRows) -> ShadowConfidences:
    plan = asked.release.plan or Plan(label="label", epsilon=None, mechanism=PlainTraining(estimator=method.estimator))
    estimator = TrainedLikeRelease(plan.to_json(), classes=len(rows.classes))
    return train_shadows(estimator, rows.all, rows.labels, rng=asked.rng, models=method.models, progress=asked.progress)


_MEASURES: dict[type[Any], Callable[[_AttackInputs, Any], Leak]] = {
    MarginAttack: _by_margin,
    LossAttack: _by_confidence,
    LiraAttack: _by_confidence,
    RmiaAttack: _by_confidence,
    ReconstructionAttack: _by_reconstruction,
}
