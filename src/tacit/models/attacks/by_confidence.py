"""Attack a released model by its confidence in the label of each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.leak import Leak
from tacit.models.attacks.attacked_release import AttackedRelease
from tacit.models.attacks.coins import CoinDesign, PairCoins, RowCoins
from tacit.models.attacks.lira import CalibratedLira, OnlineLira
from tacit.models.attacks.loss_threshold import LossThreshold
from tacit.models.attacks.rmia import PairwiseRmia
from tacit.models.attacks.rows import AttackedRows
from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.attacks.shadow_estimator import TrainedLikeRelease
from tacit.models.attacks.shadow_training import train_shadows
from tacit.models.attacks.targets import MembershipAttack, attack_confidence
from tacit.models.mechanisms import PlainTraining
from tacit.models.methods import ConfidenceAttack, LiraAttack, LossAttack, RmiaAttack, ShadowAttack
from tacit.models.plan import Plan
from tacit.models.releases.release import Release
from tacit.privacy.errors import InvalidInput

__all__ = ["attack_by_confidence", "score_by_likelihood", "score_by_loss", "score_by_ratio"]

_MANY_MODELS = 64  # from so many on each point has its own spread: Carlini et al. (2022)


def attack_by_confidence(method: ConfidenceAttack, target: AttackedRelease) -> Leak:
    """Score every row by what the method makes of the model's confidence in its label, and separate members."""
    rows = target.rows(coins=method.coins != "none")
    scorer = method.scorer(target, rows)
    confidence = rows.confidence(target.release, black_box=method.black_box)
    leak = attack_confidence(
        confidence,
        rows.member,
        rng=target.rng,
        attack=scorer,
        coins=_coins(method, target.release),
        level=target.level,
        delta=getattr(target.release.guarantee, "delta", 0.0),
    )
    scores = pa.table({"trained_on": rows.member, "score": scorer.score(confidence)})
    notes = [*rows.notes(), f"AUC {leak.roc.auc:.4f}, {leak.roc.at_0_1_percent}."] if leak.roc else rows.notes()
    return replace(leak, guesses=scores, notes=tuple(notes), facts={"method": str(method), **rows.facts()})


def score_by_loss(_: LossAttack, target: AttackedRelease, rows: AttackedRows) -> LossThreshold:  # noqa: ARG001
    """Return the attack that compares with no other model."""
    return LossThreshold()


def score_by_likelihood(method: LiraAttack, target: AttackedRelease, rows: AttackedRows) -> MembershipAttack:
    """Return the likelihood-ratio attack; that of few shadow models shares what they know of all points."""
    shadows = _shadows(method, target, rows)
    return CalibratedLira(shadows=shadows) if shadows.models < _MANY_MODELS else OnlineLira(shadows=shadows)


def score_by_ratio(method: RmiaAttack, target: AttackedRelease, rows: AttackedRows) -> PairwiseRmia:
    """Return the robust membership attack."""
    return PairwiseRmia(shadows=_shadows(method, target, rows))


def _coins(method: ConfidenceAttack, release: Release) -> CoinDesign | None:
    plan = release.plan
    steps = plan.mechanism.noisy_steps(release.settled) if isinstance(plan, Plan) else None
    designs = {"none": None, "rows": RowCoins(), "pairs": PairCoins(steps=steps)}
    return designs[method.coins]


def _shadows(method: ShadowAttack, target: AttackedRelease, rows: AttackedRows) -> ShadowConfidences:
    plan = target.release.plan or Plan(label="label", epsilon=None, mechanism=PlainTraining(estimator=method.estimator))
    estimator = TrainedLikeRelease(plan.to_json(), classes=len(rows.classes))
    models, progress, rng = method.models, target.progress, target.rng
    halves = _halves(rows, models // 2, pairs=method.coins == "pairs", rng=rng)
    order = rng.permutation(len(rows.all))  # a learner may tell early rows from late ones: members come first
    X, y = rows.all[order], rows.labels[order]
    found = train_shadows(estimator, X, y, rng=rng, models=models, halves=halves[:, order], progress=progress)
    place = np.argsort(order)
    return ShadowConfidences(confidence=found.confidence[:, place], member=found.member[:, place])


def _halves(rows: AttackedRows, count: int, *, pairs: bool, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose a row of each pair, as the target's coins do; without pairs, half of the rows of each class.

    Nothing here depends on which row of a pair the target was trained on.
    """
    if pairs:
        if len(rows.inside) != len(rows.outside):
            raise InvalidInput(f"members and nonmembers must be pairs, got {len(rows.inside)} and {len(rows.outside)}")
        coins = rng.random((count, len(rows.inside))) < 0.5
        return np.concatenate([coins, ~coins], axis=1)
    chosen = np.zeros((count, len(rows.all)), dtype=np.bool_)
    for half in chosen:
        shuffled = rng.permutation(len(rows.all))
        half[shuffled[np.argsort(rows.labels[shuffled], kind="stable")][::2]] = True
    return chosen
