"""The plan of an audit: the planned releases, and the private tables that they are made from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.answer import RunLimits
from tacit.audit.budget import BudgetLedger
from tacit.audit.source import AuditedTable, bundled_source
from tacit.audit.split import RowSplit, split_rows
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import Plan, check_surfaces
from tacit.privacy.rounding import check_count, check_delta, check_epsilon
from tacit.privacy.settings import settings_of

__all__ = ["AuditPlan", "PlannedRelease", "bundled_plan", "plan_type", "planned_release"]

_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
_NO_LIMITS = RunLimits()
_EVERY = ("*", "all")  # words that mean all columns


def plan_type(surface: str) -> type[Plan]:
    """Return the plan of a surface."""
    found: type[Plan] = import_module(f"tacit.{surface}.plan").Plan
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRelease:
    """One planned release of one table.

    Parameters
    ----------
    source, plan
        The table, and what is asked for.
    places
        The place of each of the plan's fields in its file, for errors.
    """

    source: AuditedTable
    plan: Plan
    places: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for name, column in _named_columns(self.plan):
            if column not in (*self.source.table.column_names, *_EVERY):
                have = ", ".join(self.source.table.column_names)
                raise InvalidInput(f"must name columns of the table ({have}), got {column!r}", field=name)
        self.source.check_delta(self.plan.delta)

    @property
    def surface(self) -> str:
        """The surface of the release."""
        return self.plan.surface

    @property
    def name(self) -> str:
        """The surface and what is released, in words."""
        return f"{self.surface}: {self.plan.describe()}"

    def rows(self, seed: int | None) -> RowSplit:
        """Return the rows that are protected and those that are withheld; without a seed, the same ones each time."""
        return split_rows(self.source, withheld=self.plan.trial().withheld, seed=seed or 0, known=self._columns)

    def all_rows(self, places: NDArray[np.int64]) -> RowSplit:
        """Return all rows in this order, as rows that are protected."""
        whole = split_rows(self.source, withheld="none", seed=0, known=self._columns)
        return replace(whole, inside=places)

    @property
    def _columns(self) -> list[str]:
        return [column for _, column in _named_columns(self.plan) if column not in _EVERY]

    @property
    def folder(self) -> str:
        """Where commands put its rows and its release; the same whatever else is planned."""
        return f"{self.surface}-{self._digest('')[:3].hex()}"

    def seed(self, seed: int | None, *, draw: int) -> int | None:
        """Return the seed of one of the draws: each release, learner and attack has random numbers of its own."""
        return None if seed is None else int.from_bytes(self._digest(f"{seed} ")[:4]) + draw

    def _digest(self, about: str) -> bytes:
        return hashlib.sha256(f"{about}{self.source.name} {self.plan.request()}".encode()).digest()

    def at(self, epsilon: float) -> PlannedRelease:
        """Return the same release at another epsilon: a point of its curve."""
        return replace(self, plan=self.plan.at(epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlan:
    """The releases to audit, in order.

    Parameters
    ----------
    epsilons
        The epsilons of each planned surface's curve; none: no curve.
    delta
        The delta of the total.
    per_day
        How many submissions a team may make per day: the report says how many days an attack on scores takes.
    limits
        The limits of the run.
    ledger
        Where the budget of the table is read.
    command
        The shell command that runs the plan; empty for a plan made in Python.
    """

    steps: tuple[PlannedRelease, ...]
    epsilons: tuple[float, ...] = _EPSILONS
    delta: float = 1e-6
    per_day: int = 5
    limits: RunLimits = _NO_LIMITS
    ledger: BudgetLedger | None = None
    command: str = ""

    def __post_init__(self) -> None:
        for epsilon in self.epsilons:
            check_epsilon(epsilon)
        check_delta(self.delta)
        check_count(self.per_day, name="per_day")
        for step in self.steps:
            step.source.check_delta(self.delta)
        if self.ledger is not None:
            if len({step.source for step in self.steps}) > 1:
                raise InvalidInput("must not be given for a plan of several tables", field="ledger")
            self.ledger.check()

    @property
    def surfaces(self) -> tuple[str, ...]:
        """The surfaces that occur, in order."""
        return tuple(dict.fromkeys(step.surface for step in self.steps))

    def by_table(self) -> Iterator[tuple[PlannedRelease, ...]]:
        """Yield the releases of each table that has several."""
        for source in dict.fromkeys(step.source for step in self.steps):
            steps = tuple(step for step in self.steps if step.source is source)
            if len(steps) > 1:
                yield steps

    def only(self, surfaces: Sequence[str]) -> AuditPlan:
        """Return the plan for some surfaces only; none means all."""
        if surfaces:
            check_surfaces(surfaces)
        absent = [name for name in surfaces if name not in self.surfaces]
        if absent:
            raise InvalidInput(
                f"must name surfaces that the plan has a release for, got {', '.join(absent)}", field="surfaces"
            )
        return replace(self, steps=tuple(step for step in self.steps if not surfaces or step.surface in surfaces))

    def again(self, surfaces: Sequence[str], *, seed: int | None) -> str:
        """Return the command that measures some surfaces again; with a seed, to the last digit."""
        if not self.command:
            return f"run_audit(plan.only({list(surfaces)!r}), seed={seed})"
        chosen = f" --surfaces {','.join(surfaces)}" if surfaces else ""
        seeded = "" if seed is None else f" --seed {seed}"
        return f"{self.command}{chosen}{seeded} --fresh --json --out again.html"


def bundled_plan() -> AuditPlan:
    """Return the default plan: releases of the bundled tables, on every surface."""
    titanic, satellite, digits = (bundled_source(name) for name in ("titanic", "satellite", "digits"))
    by, small = [["class", "sex", "age"]], {"*": [-3.0, 3.0]}
    network = "dp_sgd:width=64,epochs=20,batch_size=200,learning_rate=0.05"
    planned: tuple[tuple[AuditedTable, str, dict[str, Any]], ...] = (
        (titanic, "labels", {"epsilon": 1.0}),
        (titanic, "bags", {"epsilon": None, "by": by, "min_size": 1}),
        (titanic, "bags", {"epsilon": None, "mechanism": "random:size=3,bags=2000"}),
        (titanic, "bags", {"epsilon": 1.0, "by": by, "min_size": 1}),
        (satellite, "features", {"epsilon": None, "ranges": {"*": [-10.0, 10.0]}}),
        (satellite, "features", {"epsilon": 4.0, "delta": 1e-5, "select": 6, "ranges": small}),
        (satellite, "features", {"epsilon": 1.0, "delta": 1e-5, "select": 6, "ranges": small, "mechanism": "totals"}),
        (titanic, "scores", {"epsilon": None, "policy": "rounded:decimals=5", "submissions": 400}),
        (titanic, "scores", {"epsilon": 10.0, "submissions": 100}),
        (digits, "models", {"epsilon": None, "mechanism": "plain:estimator=mlp"}),
        (digits, "models", {"epsilon": 3.0, "delta": 1e-5, "mechanism": network, "ranges": {"*": [0.0, 16.0]}}),
    )
    steps = tuple(
        PlannedRelease(source=table, plan=planned_release(surface, table, keys)) for table, surface, keys in planned
    )
    return AuditPlan(steps=steps, command="tacit audit")


def planned_release(surface: str, source: AuditedTable, keys: Mapping[str, Any]) -> Plan:
    """Return a surface's plan for a table, which supplies what the keys leave out, such as its label."""
    named = source.features if len(source.features) + 1 < source.table.num_columns else ()
    plan = plan_type(surface)
    return plan.for_table(keys, label=source.label, features=named, classes=len(source.classes))


def _named_columns(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield each field that names columns with each column that it names."""
    for one in settings_of(type(plan)):
        named = getattr(plan, one.name)
        if not one.metavar.startswith("COL") or named is None:
            continue
        for part in [named] if isinstance(named, str) else named:
            for column in [part] if isinstance(part, str) else part:
                yield one.name, column
