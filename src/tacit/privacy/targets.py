"""Where a release is to be written, checked before anything is read, charged or drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.privacy.endings import check_ending, format_of
from tacit.privacy.files import check_writable
from tacit.privacy.folders import check_folder

if TYPE_CHECKING:
    from tacit.privacy.plan import Plan

__all__ = ["Overwrite", "Target", "check_target"]


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A path whose file or release may be replaced, as ``out`` of every ``protect``."""

    path: str | os.PathLike[str]


Target = str | os.PathLike[str] | Overwrite | None
"""Where to write; None: nowhere, the release stays in memory."""


def check_target(out: Target, plan: Plan, *, sources: Sequence[object] = ()) -> None:
    """Raise if the plan's release cannot be written there, or would replace one of the sources."""
    force = isinstance(out, Overwrite)
    target = out.path if isinstance(out, Overwrite) else out
    if target is None:
        return
    if plan.suffix:
        for source in sources or (None,):
            check_writable(target, force=force, source=source)
        check_ending(target, written=format_of(plan.suffix))
    else:
        check_folder(Path(target), force=force)
