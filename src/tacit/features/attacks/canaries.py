"""Canaries: records in opposite corners of the box, whose noise bounds epsilon from below."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.features.mechanisms.selected import BoundMechanism
from tacit.leak import HeldOut, Leak, leak_from_scores

__all__ = ["canary_leak"]


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
    Half of the records choose the threshold.
    """
    here, there = (mechanism.corner_scores(side, features=features, records=records, rng=rng) for side in (1, -1))
    leak = leak_from_scores(here, there, threshold=HeldOut(fraction=0.5, rng=rng), level=level, delta=delta)
    return replace(leak, rate_of="canaries are recognized", baseline_of="of records in the opposite corner")
