"""Run a plan: every release made, attacked and learned from; then the curves, then the total."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tacit import __version__
from tacit.audit.advice import advise, tell_leak
from tacit.audit.answer import ODDS_LIMIT
from tacit.audit.cache import NoCache
from tacit.audit.commands import commands_of
from tacit.audit.finding import Finding
from tacit.audit.measure import measure
from tacit.audit.plan import AuditPlan, Step, bundled_plan
from tacit.audit.result import AuditResult, Skipped
from tacit.audit.total import add_up
from tacit.privacy.errors import InvalidInput, MissingExtra
from tacit.privacy.rounding import check_count

__all__ = ["run_audit"]

Tell = Callable[[str, int, int], None]


def run_audit(
    plan: AuditPlan | None = None,
    *,
    seed: int | None = None,
    cache: NoCache | None = None,
    progress: Tell = lambda *_: None,
) -> AuditResult:
    """Audit every release of a plan; Ctrl-C ends it early, with what was found so far.

    Parameters
    ----------
    plan
        Default: the bundled tables, every surface.
    seed
        Makes the run repeatable; each release has its own random numbers, whatever else is in the plan.
    cache
        Where findings are kept; default: nowhere.
    progress
        Called with what is being done, how many parts are done, and how many there are.
    """
    planned = plan or bundled_plan()
    if seed is not None:
        check_count(seed, name="seed", least=0)
    run = _Run(plan=planned, seed=seed, cache=cache or NoCache(), progress=progress)
    findings: list[Finding] = []
    curve: list[Finding] = []
    points = tuple(_points(planned, run.skipped))
    try:
        run.start(len(planned.steps) + len(points))
        for finding in run.each(planned.steps):
            findings.append(finding)  # noqa: PERF402 (Ctrl-C keeps what is in the list)
        for finding in run.each(points, planned=False):
            curve.append(finding)  # noqa: PERF402
    except KeyboardInterrupt:
        run.skipped.append(Skipped(surface="the rest", reason="the run was interrupted"))
    return AuditResult(
        findings=tuple(findings),
        curve=tuple(curve),
        totals=add_up(findings, delta=planned.delta),
        skipped=tuple(dict.fromkeys(run.skipped)),
        version=__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=seed,
        planned=len(planned.steps),
        command=planned.again((), seed=seed),
    )


def _points(plan: AuditPlan, skipped: list[Skipped]) -> Iterator[Step]:
    """Return every planned surface at every epsilon of the curve: its first release with an epsilon, or its first."""
    first: dict[str, Step] = {}
    for step in sorted(plan.steps, key=lambda step: step.plan.epsilon is None):
        first.setdefault(step.surface, step)
    for surface in plan.surfaces:
        step = first[surface]
        try:
            for epsilon in plan.epsilons:
                yield step.at(epsilon)
        except InvalidInput as error:  # the planned release can be made without noise, and not with it
            skipped.append(Skipped(surface=f"the curve of {surface}", reason=str(error)))


@dataclass(slots=True, kw_only=True)
class _Run:
    plan: AuditPlan
    seed: int | None
    cache: NoCache
    progress: Tell
    done: int = 0
    parts: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def start(self, parts: int) -> None:
        self.parts = parts

    def each(self, steps: Iterable[Step], *, planned: bool = True) -> Iterator[Finding]:
        for step in steps:
            finding = self._one(step) if planned else self._point(step)
            self.done += 1
            if finding is not None:
                yield finding

    def _point(self, step: Step) -> Finding | None:
        """Return a point of a curve; if none can be made, the planned releases are kept."""
        curve = f"the curve of {step.surface}"
        if any(skipped.surface == curve for skipped in self.skipped):
            return None
        try:
            return self._one(step)
        except InvalidInput as error:
            self.skipped.append(Skipped(surface=curve, reason=str(error)))
            return None

    def _one(self, step: Step) -> Finding | None:
        surface = step.surface
        if any(skipped.surface == surface for skipped in self.skipped):
            return None
        name = self.cache.name(step, seed=self.seed)
        kept = self.cache.find(name)
        if kept is not None:
            return self._of_this_plan(kept, step)
        try:
            with warnings.catch_warnings():
                # learners warn of small classes and slow convergence; their accuracy is measured here
                warnings.simplefilter("ignore", UserWarning)
                warnings.simplefilter("ignore", RuntimeWarning)
                finding = measure(step, seed=self.seed, tell=self._tell)
        except MissingExtra as error:
            self.skipped.append(Skipped(surface=surface, reason=str(error)))
            return None
        except ValueError as error:  # also raised by a learner that cannot be fitted to the table
            where = step.places.get(getattr(error, "field", None) or "", f"{surface}, {step.plan.describe()}")
            reason = str(error).partition("\n")[0]
            raise InvalidInput(f"{where}: {reason}") from error
        self.cache.keep(name, finding)
        return self._of_this_plan(finding, step)

    def _of_this_plan(self, finding: Finding, step: Step) -> Finding:
        """Add what depends on the plan and is therefore not cached: limit, advice, commands, the days of an attack."""
        told = tell_leak(finding.leak, per_day=self.plan.per_day)
        again = self.plan.again([step.surface], seed=self.seed)
        commands = commands_of(step, seed=self.seed)
        limit = self.plan.limits.odds or ODDS_LIMIT
        judged = replace(finding, limit=limit, told=told, command=again, commands=commands)
        return replace(judged, remedy=advise(judged))

    def _tell(self, what: str) -> None:
        self.progress(what, self.done, self.parts)
