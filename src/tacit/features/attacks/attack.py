"""The attacks on a release of features."""

from __future__ import annotations

import os

import numpy as np

from tacit.features.attacks.attacked_features import AttackedFeatures
from tacit.features.methods import AttackMethod
from tacit.features.releases.release import Release
from tacit.leak import Leak
from tacit.privacy.edge import Progress, checked
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice

__all__ = ["attack"]


@checked(before="the attacks guess rows, not labels")
def attack(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    truth: object = None,
    before: object = None,  # noqa: ARG001
    method: AttackMethod | str | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Leak:
    """Measure what a release of features reveals about the rows behind it.

    Parameters
    ----------
    data
        For membership: rows that were never used, drawn as the protected ones were.
    truth
        For linkage and membership: the protected table, its rows in the order of the release.
    method
        ``Linkage()``, ``RowMembership()`` or ``CornerCanaries()``. Default: membership with ``data``, linkage with
        ``truth`` alone, canaries with neither, for class totals, which have no rows to attack, and where rows of
        persons were left out, so that the order of ``truth`` is not the release's.
    """
    target = AttackedFeatures(
        release=Release.open(release), data=data, truth=truth, level=level, rng=rng or system_rng(), progress=progress
    )
    chosen: AttackMethod = read_choice(
        AttackMethod, target.default_method() if method is None else method, field="method"
    )
    leak: Leak = chosen.attack(target)
    return leak
