"""Run a plan: every release made, attacked and learned from; then the curves, then the total."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tacit import __version__
from tacit.audit.advice import advise, tell_leak
from tacit.audit.answer import ODDS_LIMIT, Permission
from tacit.audit.cache import FindingCache, Found
from tacit.audit.commands import commands_of
from tacit.audit.finding import Finding
from tacit.audit.joint import JointFinding
from tacit.audit.measure import measure
from tacit.audit.plan import AuditPlan, PlannedRelease, bundled_plan
from tacit.audit.result import AuditResult, SkippedSurface
from tacit.audit.together import attack_together
from tacit.audit.total import add_up
from tacit.privacy.errors import InvalidInput, MissingExtra
from tacit.privacy.rounding import check_count

__all__ = ["run_audit"]

Tell = Callable[[str, int, int], None]


def run_audit(
    plan: AuditPlan | None = None,
    *,
    seed: int | None = None,
    cache: FindingCache | None = None,
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
    run = _AuditRun(plan=planned, seed=seed, cache=cache, progress=progress)
    findings: list[Finding] = []
    together: list[JointFinding] = []
    curve: list[Finding] = []
    points = tuple(_points(planned, run.skipped))
    tables = tuple(planned.by_table())
    try:
        run.parts = len(planned.steps) + len(tables) + len(points)
        for finding in run.each(planned.steps):
            findings.append(finding)  # noqa: PERF402 (Ctrl-C keeps what is in the list)
        for joint in run.joint(tables, findings):
            together.append(joint)  # noqa: PERF402
        for finding in run.points(points):
            curve.append(finding)  # noqa: PERF402
    except KeyboardInterrupt:
        run.skipped.append(SkippedSurface(surface="the rest", reason="the run was interrupted"))
    return AuditResult(
        findings=tuple(findings),
        together=tuple(together),
        curve=tuple(curve),
        totals=add_up(findings, delta=planned.delta, budget=planned.limits.epsilon),
        ledger=None if planned.ledger is None else planned.ledger.balance(findings),
        skipped=tuple(dict.fromkeys(run.skipped)),
        version=__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=seed,
        planned=len(planned.steps),
        command=planned.again((), seed=seed),
    )


def _points(plan: AuditPlan, skipped: list[SkippedSurface]) -> Iterator[tuple[PlannedRelease, PlannedRelease]]:
    """Yield every planned release that has an epsilon with the same one at every epsilon of the curve.

    A surface whose releases have none has the curve of its first. Releases that differ by epsilon share a curve.
    """
    seen = set()
    for surface in plan.surfaces:
        steps = [step for step in plan.steps if step.surface == surface]
        for step in [step for step in steps if step.plan.epsilon is not None] or steps[:1]:
            try:
                points = [step.at(epsilon) for epsilon in plan.epsilons]
            except InvalidInput as error:  # the planned release can be made without noise, and not with it
                skipped.append(SkippedSurface(surface=f"the curve of {surface}", reason=str(error)))
                continue
            for point in points:
                if (asked := (point.source.name, point.plan.request())) not in seen:
                    seen.add(asked)
                    yield step, point


@dataclass(slots=True, kw_only=True)
class _AuditRun:
    plan: AuditPlan
    seed: int | None
    cache: FindingCache | None
    progress: Tell
    done: int = 0
    parts: int = 0
    skipped: list[SkippedSurface] = field(default_factory=list)
    measured: list[tuple[PlannedRelease, Finding]] = field(default_factory=list)

    def each(self, steps: Iterable[PlannedRelease]) -> Iterator[Finding]:
        for step in steps:
            finding = self._one(step)
            self.done += 1
            if finding is not None:
                self.measured.append((step, finding))
                yield finding

    def points(self, points: Iterable[tuple[PlannedRelease, PlannedRelease]]) -> Iterator[Finding]:
        """Yield the points of curves; if one cannot be made, the planned releases are kept."""
        for planned, point in points:
            curve = f"the curve of {planned.surface}"
            if not any(skipped.surface == curve for skipped in self.skipped):
                try:
                    yield from (replace(one, curve=planned.name) for one in [self._point(point)] if one is not None)
                except InvalidInput as error:
                    self.skipped.append(SkippedSurface(surface=curve, reason=str(error)))
            self.done += 1

    def _point(self, point: PlannedRelease) -> Finding | None:
        """Return the finding about a point of a curve, which may be a planned release that is measured already."""
        asked = point.source, point.plan.request()
        same = (finding for step, finding in self.measured if (step.source, step.plan.request()) == asked)
        return next(same, None) or self._one(point)

    def joint(self, tables: Iterable[Sequence[PlannedRelease]], findings: Sequence[Finding]) -> Iterator[JointFinding]:
        """Yield what the releases of each table leak together, and then those that are not refused by themselves."""
        no = {(found.data, found.name) for found in findings if found.answer is Permission.NO}
        for steps in tables:
            refused = [step for step in steps if (step.source.name, step.name) in no]
            for left_out in [[], refused] if refused else [[]]:
                joint = self._joint(steps, left_out)
                if joint is not None:
                    yield self._compared(joint, findings)
            self.done += 1

    def _joint(self, steps: Sequence[PlannedRelease], refused: Sequence[PlannedRelease]) -> JointFinding | None:
        made = [step for step in steps if not any(skipped.surface == step.surface for skipped in self.skipped)]

        def attack() -> JointFinding | None:
            return attack_together(made, delta=self.plan.delta, seed=self.seed, tell=self._tell, refused=refused)

        try:
            return self._kept(JointFinding, steps, attack, about=[step.name for step in refused])
        except ValueError as error:
            reason = str(error).partition("\n")[0]
            self.skipped.append(
                SkippedSurface(surface=f"all releases of {steps[0].source.name} together", reason=reason)
            )
            return None

    def _compared(self, joint: JointFinding, findings: Sequence[Finding]) -> JointFinding:
        """Add the limit, and the worst of the releases by itself."""
        own = [found for found in findings if found.data == joint.data and found.name in joint.releases]
        worst = min(own, key=lambda found: (found.state.harm, -found.exposed), default=None)
        judged = replace(joint, limit=self.plan.limits.odds or ODDS_LIMIT)
        return judged if worst is None else replace(judged, alone=worst.state, reason_alone=worst.reason)

    def _one(self, step: PlannedRelease) -> Finding | None:
        surface = step.surface
        if any(skipped.surface == surface for skipped in self.skipped):
            return None
        try:
            found = self._kept(Finding, [step], lambda: measure(step, seed=self.seed, tell=self._tell))
        except MissingExtra as error:
            self.skipped.append(SkippedSurface(surface=surface, reason=str(error)))
            return None
        except ValueError as error:  # also raised by a learner that cannot be fitted to the table
            where = step.places.get(getattr(error, "field", None) or "", f"{surface}, {step.plan.describe()}")
            reason = str(error).partition("\n")[0]
            raise InvalidInput(f"{where}: {reason}") from error
        return None if found is None else self._of_this_plan(found, step)

    def _kept(
        self,
        kind: type[Found],
        steps: Sequence[PlannedRelease],
        make: Callable[[], Found | None],
        about: Sequence[str] = (),
    ) -> Found | None:
        """Return what the cache has about these releases, or else what is made now."""
        name = "" if self.cache is None else self.cache.name(*steps, about=about, seed=self.seed)
        found = None if self.cache is None else self.cache.find(name, kind)
        if found is not None:
            return found
        with warnings.catch_warnings():
            # learners warn of small classes and slow convergence; their accuracy is measured here
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            found = make()
        if self.cache is not None and found is not None:
            self.cache.keep(name, found)
        return found

    def _of_this_plan(self, finding: Finding, step: PlannedRelease) -> Finding:
        """Add what depends on the plan and is therefore not cached: limit, advice, commands, the days of an attack."""
        told = tell_leak(finding.leak, per_day=self.plan.per_day)
        again = self.plan.again([step.surface], seed=self.seed)
        commands = commands_of(step, seed=self.seed)
        limits = self.plan.limits
        judged = replace(
            finding,
            limit=limits.odds or ODDS_LIMIT,
            budget=limits.epsilon,
            period=limits.period,
            told=told,
            command=again,
            commands=commands,
        )
        return replace(judged, remedy=advise(judged, step.plan))

    def _tell(self, what: str) -> None:
        self.progress(what, self.done, self.parts)
