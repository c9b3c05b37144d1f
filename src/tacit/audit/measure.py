"""Measure one planned release by the functions that users call: protect, learn, attack."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.advice import advise, tell_leak
from tacit.audit.commands import ATTACK, BOUND, LEARN, PICKLE, PROTECT, SURE
from tacit.audit.finding import Finding
from tacit.audit.groups import changes_by_group
from tacit.audit.model_utility import model_utility
from tacit.audit.plan import PlannedRelease
from tacit.audit.score_utility import order_utility
from tacit.audit.split import RowSplit
from tacit.audit.utility import Utility
from tacit.data.copies import copies_of
from tacit.leak import Leak, OddsChange
from tacit.privacy.guarantee import NoGuarantee
from tacit.privacy.noise import system_rng
from tacit.privacy.releases import Release
from tacit.privacy.trial import AuditTrial, Part
from tacit.privacy.unfinished import temporary_folder

__all__ = ["MadeRelease", "measure"]

Tell = Callable[[str], None]


def measure(step: PlannedRelease, *, seed: int | None, tell: Tell) -> Finding:
    """Protect the rows that the plan's trial does not withhold, read the release back, attack it and learn from it.

    Parameters
    ----------
    seed
        The audit's; without one every draw is the operating system's.
    """
    setting = step.plan.describe()
    tell(f"{step.surface}: {setting}")
    start = time.perf_counter()
    with temporary_folder() as folder:
        made = MadeRelease(step, step.rows(seed), seed=seed, folder=folder)
        leak, utility = made.leak(), made.utility()
    source, trial = step.source, step.plan.trial()
    table = made.rows.protected
    copies = copies_of(table, step.plan.label, step.plan.shown(table.column_names))
    facts = {**leak.facts, "copies": [*copies]} if copies else leak.facts
    groups: tuple[OddsChange, ...] = ()
    if source.groups is not None and trial.tells == "label":
        classes = step.plan.classes or source.classes
        groups = changes_by_group(leak, made.rows.protected, label=source.label, groups=source.groups, classes=classes)
    found = Finding(
        surface=step.surface,
        data=source.name,
        column=step.plan.label,
        subject=step.plan.label if trial.tells == "label" else "",
        rows=source.rows,
        setting=setting,
        guarantee=made.release.guarantee,
        leak=replace(leak, roc=None, guesses=None, before=None, after=None, facts=facts),  # no number per row
        groups=groups,
        utility=utility,
        told=tell_leak(leak),
        remedy="",
        certain=table.num_rows if copies else int(leak.facts.get("determined", 0)),
        doubt=_doubt(made, leak, trial),
        seconds=time.perf_counter() - start,
    )
    return replace(found, remedy=advise(found, step.plan))


def _doubt(made: MadeRelease, leak: Leak, trial: AuditTrial) -> str:
    """Why a better attack is to be expected."""
    if made.follows_order and "with_order" not in leak.facts:
        return _ORDER
    bare = trial.tells == "member" and isinstance(made.release.guarantee, NoGuarantee)
    return _BARE if bare else ""


_BARE = "nothing is guaranteed, and an attack that trains more models to compare with may find more"
_ORDER = "the labels follow the order of the rows, so their neighbors may reveal them to a better attack"


class MadeRelease:
    """A release in its file, and the rows it was made from.

    Parameters
    ----------
    first_draw
        The number of the first of its draws.
    """

    def __init__(
        self, step: PlannedRelease, rows: RowSplit, *, seed: int | None, folder: Path, first_draw: int = 0
    ) -> None:
        self._step, self.rows, self._seed, self._first = step, rows, seed, first_draw
        self._surface: Any = import_module(f"tacit.{step.surface}")
        path = folder / f"release{step.plan.suffix}"
        drawn = self._surface.protect(rows.protected, step.plan, out=path, rng=self._rng(PROTECT))
        self.follows_order = getattr(drawn, "follows_order", False)
        opened = {"trust": True} if path.suffix == PICKLE else {}  # made here, by the line above
        self.release: Release = self._surface.Release.read(path, **opened)

    def attack(self, *, before: NDArray[np.float64] | None = None) -> Leak:
        """What the attack measures, from the beliefs after another release or from none."""
        trial = self._step.plan.trial()
        given = self._given(trial.attack) | ({} if before is None else {"before": before})
        leak: Leak = self._surface.attack(self.release, **given, method=trial.method, rng=self._rng(ATTACK))
        return leak

    def leak(self) -> Leak:
        """What the attack measures, with the bound of the second attack where there is one."""
        trial, leak = self._step.plan.trial(), self.attack()
        if trial.bound is None:
            return leak
        given = self._given(trial.attack)
        proved = self._surface.attack(self.release, **given, method=trial.bound, level=SURE, rng=self._rng(BOUND))
        return replace(leak, bound=proved.bound, method=f"{leak.method}; {proved.notes[0].rstrip('.')}")

    def utility(self) -> Utility:
        """What is learned from it is worth; of scores, what they say of honest models."""
        trial = self._step.plan.trial()
        if trial.learn is None:
            return order_utility(self._step, self._rng(LEARN))
        model = self._surface.learn(self.release, **self._given(trial.learn), rng=self._rng(LEARN))
        return model_utility(model, self.rows, self._step.plan)

    def _given(self, parts: Mapping[str, Part]) -> dict[str, Any]:
        return {name: self.rows.part(part) for name, part in parts.items()}

    def _rng(self, draw: int) -> np.random.Generator:
        seed = self._step.seed(self._seed, draw=self._first + draw)
        return system_rng() if seed is None else np.random.default_rng(seed)
