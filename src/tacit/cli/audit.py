"""``tacit audit``: every planned release, one summary, one page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import check_exists, check_named, check_out, print_json
from tacit.cli.progress import show_progress
from tacit.privacy.files import ReplaceableFile
from tacit.privacy.plan import check_surfaces
from tacit.privacy.words import split_words

if TYPE_CHECKING:
    from tacit.audit import AuditPlan, AuditResult, Finding, RunLimits
    from tacit.audit.utility import Utility

__all__ = ["app"]

app = typer.Typer(no_args_is_help=False)

FAILED, PARTIAL, INTERRUPTED = 1, 3, 130
_TITLE = "What your data reveals"
PAGE = ReplaceableFile("a page of tacit audit", re.compile(rb"<title>tacit audit"))
"""What a new page may replace."""


@app.command()
def audit(
    plan: Annotated[
        Path | None,
        typer.Argument(
            help="A tacit.toml with your data and planned releases (tacit init). Default: the bundled data."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Where to write the page; it replaces an earlier page, but no other file.")
    ] = Path("report.html"),
    surfaces: Annotated[
        str, typer.Option(help="Comma-separated surfaces: labels,bags,features,scores,models. Default: all.")
    ] = "",
    seed: Annotated[
        int | None,
        typer.Option(
            help="Repeat a run exactly; seeded noise is not private. Default: the operating system's entropy."
        ),
    ] = None,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 unless below a limit: odds=10 (the change of odds of any label by any release), "
            "advantage=0.2 (of an attacker, balanced), epsilon=3 (the total privacy cost). Repeatable."
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="FILE_OR_URL",
            help="Read the table's budget from this ledger, and charge nothing: used, left, and what would be used.",
        ),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The ledger's data set to read. Default: the only one.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="The JSON of an earlier run, to compare side by side on the page.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder where findings are kept; default: under your cache folder.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Neither read nor write cached findings.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything the page shows as JSON.")] = False,
) -> None:
    """Measure what each planned release of your data leaks, and write one page about it.

    Without a plan the bundled data are audited. Findings with the same data, release and seed come from the cache.
    Ctrl-C writes the page with the findings so far.

    Exit status: 0; 1 above a limit or too few rows to tell, or a violated guarantee; 2 wrong input;
    3 a surface was skipped; 130 interrupted.

    Example: tacit audit --surfaces scores --seed 0 --out report.html

    Example: tacit audit tacit.toml --fail-above odds=10 --fail-above epsilon=3 --json > audit.json
    """
    check_named(out)
    check_exists(plan, "plan", remedy="write one with tacit init")
    check_exists(against, "against", remedy="give the JSON of an earlier run")
    check_out(out, plan, against, written="HTML", force=True, over=PAGE)
    chosen = split_words(surfaces)
    if chosen:
        check_surfaces(chosen)
    from tacit.audit import bundled_plan, faults, read_plan

    earlier = None if against is None else _read_result(against)
    planned = (bundled_plan() if plan is None else read_plan(plan)).only(chosen)
    limits = _limits(planned, fail_above or [])
    planned = _with_ledger(planned, ledger, dataset)
    result: AuditResult = _run(replace(planned, limits=limits), seed=seed, cache=cache, fresh=fresh)
    failures = faults(result, limits)
    _write_page(out, result, earlier, failures)
    if as_json:
        print_json(_all_of(result, earlier, failures))
    else:
        _print_summary(result)
        typer.echo(f"\nThe page: {out}")
    _end(result, failures)


def _with_ledger(plan: AuditPlan, place: str | None, dataset: str | None) -> AuditPlan:
    from tacit.audit.budget import BudgetLedger
    from tacit.privacy.errors import InvalidInput

    if place is not None:
        return replace(plan, ledger=BudgetLedger(place=place, dataset=dataset))
    if dataset is not None:
        raise InvalidInput("requires --ledger, which has the data set", field="dataset")
    return plan


def _write_page(out: Path, result: AuditResult, earlier: AuditResult | None, failures: tuple[str, ...]) -> None:
    from tacit.privacy.files import write_atomically
    from tacit.report import render_page

    page = render_page(result, earlier=earlier, faults=failures)
    with write_atomically(out, force=True, over=PAGE) as file:
        file.write(page.encode(errors="replace"))  # a path may contain bytes that are no text


def _all_of(result: AuditResult, earlier: AuditResult | None, failures: tuple[str, ...]) -> dict[str, Any]:
    """Everything that the page shows, as plain JSON."""
    from tacit.audit import judge
    from tacit.audit.compare import compare

    pairs = [] if earlier is None else [pair.to_json() for pair in compare(earlier, result)]
    return {**result.to_json(), "verdict": judge(result).to_json(), "compared": pairs, "faults": list(failures)}


def _end(result: AuditResult, failures: tuple[str, ...]) -> None:
    """Print what failed and what was left out, and exit with the worst status."""
    for fault in failures:
        typer.echo(_shown(f"Failed: {fault}."), err=True)
    for skipped in result.skipped:
        typer.echo(_shown(f"Skipped: {skipped.surface}: {skipped.reason}."), err=True)
    if any(skipped.surface == "the rest" for skipped in result.skipped):
        raise typer.Exit(INTERRUPTED)
    if failures or result.skipped:
        raise typer.Exit(FAILED if failures else PARTIAL)


def _run(plan: AuditPlan, *, seed: int | None, cache: Path | None, fresh: bool) -> AuditResult:
    from tacit.audit import run_audit
    from tacit.audit.cache import FindingCache, default_folder

    kept = None if fresh else FindingCache(cache or default_folder())
    with show_progress("audit") as report:

        def tell(what: str, done: int, parts: int) -> None:
            report(done, parts, _shown(what))

        return run_audit(plan, seed=seed, cache=kept, progress=tell)


def _limits(plan: AuditPlan, given: list[str]) -> RunLimits:
    from tacit.privacy.errors import InvalidInput

    limits = plan.limits
    for text in given:
        name, _, value = text.partition("=")
        if name not in _GATES or not _is_number(value):
            raise InvalidInput(
                f"must be odds=NUMBER, advantage=SHARE or epsilon=NUMBER, got {text!r}", field="fail_above"
            )
        changed: dict[str, Any] = {name: float(value)}
        limits = replace(limits, **changed)
    return limits


_GATES = ("odds", "advantage", "epsilon")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_result(path: Path) -> AuditResult:
    from tacit.audit import AuditResult
    from tacit.privacy.errors import InvalidInput

    try:
        return AuditResult.from_json(json.loads(path.read_bytes()))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise InvalidInput(f"{path} is not the JSON of an audit ({error})") from None


def _print_summary(result: AuditResult) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tacit.audit import judge
    from tacit.privacy.rounding import format_up

    console, verdict = Console(), judge(result)
    table = Table("release", "guarantee", "suspicion, worst class", "utility", "hand it out?", title=_TITLE)
    for finding in result.ranked:
        table.add_row(
            Text(_shown(finding.name)),  # a column may be named like markup
            "none" if finding.epsilon is None else f"epsilon {format_up(finding.epsilon, digits=3)}",
            Text(_shown(_suspicion(finding))),
            _utility(finding.utility),
            f"{finding.answer}{', but no utility' if finding.utility.worthless else ''}",
        )
    if result.findings:
        console.print(table)
    for joint in result.together:
        name = f"{joint.name[0].upper()}{joint.name[1:]}"
        console.print(_shown(f"{name}: {joint.answer}. {joint.reason}"), markup=False, highlight=False)
    for total in result.totals:
        console.print(_shown(f"{total}."), markup=False, highlight=False)
    if result.ledger is not None:
        console.print(_shown(f"{result.ledger}."), markup=False, highlight=False)
    for text in (verdict.caution, f"{verdict.headline} {verdict.told}".strip(), verdict.action):
        if text:
            console.print(f"\n{_shown(text)}", markup=False, highlight=False)


def _utility(utility: Utility) -> str:
    from tacit.audit.words import percent

    found = f"{percent(utility.protected)} of {percent(utility.unprotected)}"
    return f"{found}; no data: {percent(utility.blind)}" if utility.unproved else found


def _suspicion(finding: Finding) -> str:
    from tacit.audit.words import percent

    worst = next(iter(finding.leak.changes), None)
    if worst is None:
        return "not measured"
    return f"{finding.suspected(worst)}: {percent(worst.share)} to {percent(worst.suspicion)}"


def _shown(text: str) -> str:
    """Return text without control characters of a terminal, because names come from the data."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
