"""Canaries: records in opposite corners of the box, whose noise bounds epsilon from below."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.features.attacks.attacked_features import AttackedFeatures
from tacit.features.mechanisms.selected import BoundMechanism
from tacit.features.methods import CornerCanaries
from tacit.leak import EpsilonBound, FixedThreshold, Leak, gaussian_epsilon, leak_from_scores, mu_from_rates

__all__ = ["canary_leak", "distinguish_canaries"]


def distinguish_canaries(method: CornerCanaries, target: AttackedFeatures) -> Leak:
    """Distinguish records in opposite corners under fresh noise of the release's scale."""
    release = target.release
    leak = canary_leak(
        release.bound.mechanism,
        features=len(release.features),
        records=method.records,
        delta=release.plan.delta,
        rng=target.rng,
        level=target.level,
    )
    noise = "fresh noise of the release's scale, which spends a part of the guarantee"
    notes = [f"Canaries: records in opposite corners of the ranges, under {noise}."]
    if target.truth is not None or target.data is not None:
        notes.append("No table was read: canaries need none.")
    return replace(leak, notes=tuple(notes), facts={"epsilon_of_features": release.settled["epsilon"]["release"]})


def canary_leak(
    mechanism: BoundMechanism,
    *,
    features: int,
    records: int,
    delta: float,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Leak:
    """Distinguish records in one corner of the box from records in the opposite one, under fresh noise.

    The two corners are the neighbors that the noise is calibrated for: no pair of records is easier to distinguish.
    The noise is Gaussian, so its whole trade-off curve bounds epsilon, which proves more than one pair of rates does.

    References
    ----------
    docs/proofs/epsilon_lower_bounds.md, "By the curve".
    """
    here, there = (mechanism.corner_scores(side, features=features, records=records, rng=rng) for side in (1, -1))
    leak = leak_from_scores(here, there, threshold=FixedThreshold(0.0), level=level, delta=delta)
    mu = mu_from_rates(leak.right, leak.trials, leak.baseline_right or 0, len(there), level=level)
    bound = EpsilonBound(
        value=gaussian_epsilon(mu, delta=delta),
        delta=delta,
        level=level,
        method="error rates of independent runs, by the curve of Gaussian noise",
    )
    changes = tuple(replace(change, name="a record's corner") for change in leak.changes)
    return replace(
        leak,
        rate_of="canaries are recognized",
        baseline_of="of records in the opposite corner",
        bound=bound,
        changes=changes,
    )
