"""The target of a release, checked before anything is read, charged or drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.privacy.endings import check_ending, format_of
from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import RELEASE, check_not_read, check_writable, is_inside
from tacit.privacy.folders import check_folder

if TYPE_CHECKING:
    from tacit.privacy.payment import Payment
    from tacit.privacy.plan import Plan

__all__ = ["Overwrite", "Target", "check_target"]


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A path whose file or release may be replaced, as ``out`` of every ``protect``."""

    path: str | os.PathLike[str]


Target = str | os.PathLike[str] | Overwrite | None
"""Where to write; None: nowhere, the release stays in memory."""


def check_target(out: Target, plan: Plan, *, sources: Sequence[Path] = (), payment: Payment | None = None) -> None:
    """Raise if the plan's release cannot be written there, or would replace an input or the ledger."""
    force = isinstance(out, Overwrite)
    named = out.path if isinstance(out, Overwrite) else out
    if named is None:
        return
    target = Path(named)
    check_not_read(target, sources)
    if payment is not None:
        _check_apart(target, payment)
    if plan.suffix:
        check_writable(target, force=force, over=RELEASE)
        check_ending(target, written=format_of(plan.suffix))
    else:
        check_folder(target, force=force)
        check_ending(target, written="a folder")


def _check_apart(target: Path, payment: Payment) -> None:
    """Raise if a target is the ledger or its store, is inside the store, or contains one of them."""
    store, ledger = payment.folder, payment.ledger.file
    if is_inside(target, store):
        raise InvalidInput(f"{target} is in {store}, the store of paid releases; choose another path")
    for kept in (store, ledger):
        if kept is not None and is_inside(kept, target):
            raise InvalidInput(f"{target} is or contains {kept}, which would be lost; choose another path")
