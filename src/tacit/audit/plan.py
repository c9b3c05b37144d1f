"""What is to be audited: releases that someone plans, and the private tables they are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.audit.bags import BagsRelease
from tacit.audit.features import FeaturesRelease
from tacit.audit.labels import LabelsRelease
from tacit.audit.models import ModelsRelease
from tacit.audit.planned import PlannedRelease
from tacit.audit.scores import ScoresRelease
from tacit.audit.source import Source, bundled_source
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_delta, check_epsilon

__all__ = ["SURFACES", "Limits", "Plan", "Step", "bundled_plan"]

SURFACES: dict[str, type[PlannedRelease]] = {
    release.surface: release for release in (LabelsRelease, BagsRelease, FeaturesRelease, ScoresRelease, ModelsRelease)
}
"""What each surface's planned release is, by the surface's name."""

_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One planned release of one table.

    Examples
    --------
    >>> Step(source=bundled_source("iris"), release=LabelsRelease(epsilon=1.0)).release.surface
    'labels'
    """

    source: Source
    release: PlannedRelease

    def __post_init__(self) -> None:
        self.release.check(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run must stay under; a run above one of them fails.

    Parameters
    ----------
    leak
        The largest advantage of any planned release, as a share: as it was measured, whatever its interval. An audit's
        trials are the rows there are, and few rows cannot show a leak to be below a small limit; the interval stands
        beside it on the page. :func:`tacit.leak.assert_leak_below` asks for that proof.
    epsilon
        The largest total for one label, over all planned releases of one table: as promised, not as attacked.

    Examples
    --------
    >>> Limits(leak=2)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: leak must be a share between 0 and 1, got 2
    """

    leak: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.leak is not None and not 0 <= self.leak <= 1:
            raise InvalidInput(f"leak must be a share between 0 and 1, got {self.leak}")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The releases to audit, in order.

    Parameters
    ----------
    steps
        The planned releases.
    epsilons
        Where each planned surface's curve is measured; none: no curve.
    delta
        At which the total is taken.
    limits
        What the run must stay under.
    command
        What runs the plan from a shell; empty for a plan made in Python.

    Examples
    --------
    >>> bundled_plan().only(["labels"]).surfaces
    ('labels',)
    """

    steps: tuple[Step, ...]
    epsilons: tuple[float, ...] = _EPSILONS
    delta: float = 1e-6
    limits: Limits = Limits()
    command: str = ""

    def __post_init__(self) -> None:
        for epsilon in self.epsilons:
            check_epsilon(epsilon)
        check_delta(self.delta)
        for step in self.steps:
            step.source.check_delta(self.delta)

    @property
    def surfaces(self) -> tuple[str, ...]:
        """The surfaces that occur, in order."""
        return tuple(dict.fromkeys(step.release.surface for step in self.steps))

    def only(self, surfaces: Sequence[str]) -> Plan:
        """Return the plan for some surfaces alone; none means all.

        Examples
        --------
        >>> bundled_plan().only(["moon"])
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: only must name surfaces among labels, ..., got moon
        """
        unknown = [name for name in surfaces if name not in SURFACES]
        if unknown:
            raise InvalidInput(f"only must name surfaces among {', '.join(SURFACES)}, got {', '.join(unknown)}")
        absent = [name for name in surfaces if name not in self.surfaces]
        if absent:
            raise InvalidInput(f"only must name surfaces that the plan has a release for, got {', '.join(absent)}")
        kept = tuple(step for step in self.steps if not surfaces or step.release.surface in surfaces)
        return replace(self, steps=kept)

    def again(self, surfaces: Sequence[str], *, seed: int | None) -> str:
        """Return what measures some surfaces again; with a seed, to the last digit.

        Examples
        --------
        >>> bundled_plan().again(["labels"], seed=0)
        'tacit audit --only labels --seed 0 --fresh --json --out again.html'
        """
        if not self.command:
            return f"run_audit(plan.only({list(surfaces)!r}), seed={seed})"
        only = f" --only {','.join(surfaces)}" if surfaces else ""
        seeded = "" if seed is None else f" --seed {seed}"
        return f"{self.command}{only}{seeded} --fresh --json --out again.html"


def bundled_plan() -> Plan:
    """Return the releases that are audited when nothing is said: of the bundled tables, on every surface.

    Examples
    --------
    >>> bundled_plan().surfaces
    ('labels', 'bags', 'features', 'scores', 'models')
    """
    titanic, satellite, digits = (bundled_source(name) for name in ("titanic", "satellite", "digits"))
    by = (("class", "sex", "age"),)
    planned: tuple[tuple[Source, PlannedRelease], ...] = (
        (titanic, LabelsRelease(epsilon=1.0)),
        (titanic, BagsRelease(by=by)),
        (titanic, BagsRelease(random=3, bags=2000)),
        (titanic, BagsRelease(by=by, epsilon=1.0)),
        (satellite, FeaturesRelease()),
        (satellite, FeaturesRelease(epsilon=4.0)),
        (satellite, FeaturesRelease(epsilon=1.0, totals=True)),
        (titanic, ScoresRelease(decimals=5)),
        (titanic, ScoresRelease(epsilon=0.1, submissions=100)),
        (digits, ModelsRelease()),
        (digits, ModelsRelease(epsilon=3.0)),
    )
    steps = tuple(Step(source=source, release=release) for source, release in planned)
    return Plan(steps=steps, command="tacit audit")
