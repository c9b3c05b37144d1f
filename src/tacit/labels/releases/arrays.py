"""Bind a plan's mechanism to classes, try it out before anything is charged, and release codes that are in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.data.classes import MISSING
from tacit.labels.mechanisms import LabelMechanism
from tacit.labels.mechanisms.values import Coding
from tacit.labels.plan import Plan
from tacit.labels.releases.release import ROWS, Release
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import is_seeded
from tacit.privacy.releases import ReleaseHeader, TableMember

if TYPE_CHECKING:
    from tacit.labels.mechanisms.staged import StageLearner

__all__ = ["header_of", "release_codes", "settle", "try_out"]

Codes = NDArray[np.int64]


def settle(plan: Plan, coding: Coding, *, counts: Codes, rng: np.random.Generator) -> LabelMechanism:
    """Return the plan's mechanism for these classes; a prior that is estimated from the counts is drawn here."""
    return plan.mechanism.settle(coding, epsilon=plan.epsilon or 0.0, prior=plan.prior, counts=counts, rng=rng)


def try_out(plan: Plan, coding: Coding) -> None:
    """Release a made-up label, so that a mechanism that cannot is found before it is charged."""
    rng = np.random.default_rng(0)
    mechanism = settle(plan, coding, counts=np.ones(len(coding), dtype=np.int64), rng=rng)
    if not mechanism.reads:  # it has checked its columns in every row
        mechanism.emit(np.zeros(1, dtype=np.int64), rng=rng)


def header_of(
    plan: Plan, mechanism: LabelMechanism, guarantee: Guarantee, *, seeded: bool, ordered: bool = True
) -> ReleaseHeader:
    """Return the header of a release by this mechanism."""
    return ReleaseHeader(
        surface=Plan.surface,
        plan=plan.to_json(),
        settled=mechanism.describe(),
        guarantee=guarantee,
        seeded=seeded,
        ordered=ordered,
    )


def release_codes(
    codes: Codes,
    *,
    plan: Plan,
    coding: Coding,
    guarantee: Guarantee,
    rng: np.random.Generator,
    learner: StageLearner | None = None,
) -> Release:
    """Release class codes, each once, as a release in memory; its cost was charged before."""
    counts = np.bincount(codes[codes != MISSING], minlength=len(coding))
    mechanism = settle(plan, coding, counts=counts, rng=rng)
    rows = TableMember(mechanism.draw(codes, rng=rng, learner=learner))
    header = header_of(plan, mechanism, guarantee, seeded=is_seeded(rng))
    return Release(header=header, members={ROWS: rows})
