"""The attacks on a release of features, one function per method."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.features.attacks.canaries import canary_leak
from tacit.features.attacks.linkage import link_rows, linkage_leak
from tacit.features.attacks.membership import membership_leak, membership_scores
from tacit.features.attacks.released_rows import ReleasedRows
from tacit.features.methods import AttackMethod, Canaries, Linkage, RowMembership
from tacit.features.releases.outside_table import read_features
from tacit.features.releases.release import Release
from tacit.leak import Leak
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
    """Measure what a release of features reveals about the rows behind it.

    Parameters
    ----------
    release
        A release of rows or of class totals, or its path.
    data
        For membership: rows that were never used, drawn as the protected ones were.
    truth
        For linkage and membership: the protected table, its rows in the order of the release.
    before
        Has no use on this surface.
    method
        ``Linkage()``, ``RowMembership()`` or ``Canaries()``. Default: membership with ``data``, linkage with ``truth``
        alone, canaries with neither, for class totals, which have no rows to attack, and where rows of persons were
        left out, so that the order of ``truth`` is not the release's.
    level
        Confidence of the intervals and of the bound on epsilon.
    rng
        Splits rows and draws the noise of canaries.
    progress
        Called with rows done and rows in all.
    """
    if before is not None:
        raise InvalidInput("has no use on this surface: the attacks guess rows, not labels", field="before")
    target = _AttackedRelease(
        release=Release.open(release), data=data, truth=truth, level=level, rng=rng or system_rng(), progress=progress
    )
    chosen = read_choice(AttackMethod, target.default_method() if method is None else method, field="method")
    return _ATTACKS[type(chosen)](target, chosen)


@dataclass(frozen=True, kw_only=True, eq=False)
class _AttackedRelease:
    """A release, and what an attacker has besides."""

    release: Release
    data: object
    truth: object
    level: float
    rng: np.random.Generator
    progress: Callable[[int, int], None] | None

    def default_method(self) -> AttackMethod:
        if self.release.rows is None or (self.data is None and self.truth is None):
            return Canaries()
        if self.data is not None:
            return RowMembership()
        return Linkage() if self.release.plan.person is None else Canaries()

    def read(self, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the released features of the rows of ``data`` or ``truth``."""
        table = getattr(self, name)
        if table is None:
            raise InvalidInput("must be given for this attack", field=name)
        return read_features(self.release, table, field=name)


def _link(target: _AttackedRelease, _: AttackMethod) -> Leak:
    if target.data is not None:
        raise InvalidInput("has no use for linkage: its candidates are the rows of truth", field="data")
    released, known = ReleasedRows.of(target.release), target.read("truth")
    if len(known) != len(released.rows):
        raise InvalidInput(f"must have the {len(released.rows)} released rows, got {len(known)}", field="truth")
    linked, order = link_rows(released, known, progress=target.progress), np.arange(len(known))
    delta = target.release.plan.delta
    leak = linkage_leak(linked, order, candidates=len(known), delta=delta, level=target.level)
    return replace(leak, guesses=pa.table({"linked_row": linked, "right": linked == order}))


def _find_members(target: _AttackedRelease, _: AttackMethod) -> Leak:
    released = ReleasedRows.of(target.release)
    inside, outside = (membership_scores(released, target.read(name)) for name in ("truth", "data"))
    leak = membership_leak(inside, outside, rng=target.rng, level=target.level)
    member = np.repeat([True, False], [len(inside), len(outside)])
    return replace(leak, guesses=pa.table({"score": np.concatenate([inside, outside]), "member": member}))


def _tell_canaries(target: _AttackedRelease, method: AttackMethod) -> Leak:
    assert isinstance(method, Canaries)
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


_ATTACKS: dict[type, Callable[[_AttackedRelease, AttackMethod], Leak]] = {
    Linkage: _link,
    RowMembership: _find_members,
    Canaries: _tell_canaries,
}
