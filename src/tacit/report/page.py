"""One self-contained page from one audit result: draws, never computes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tacit.audit import AuditResult, Finding, Permission, judge
from tacit.audit.checked_guarantee import CheckedGuarantee
from tacit.audit.compare import compare
from tacit.audit.plan import plan_type
from tacit.audit.words import change_of_odds, fold, fold_interval, in_plain_words, percent, points, proved, span
from tacit.leak import OddsChange
from tacit.report.chart import draw_leak, draw_utility
from tacit.report.scale import AxisRange
from tacit.report.tradeoff import draw_tradeoff

__all__ = ["render_page"]
"""What a new page may replace."""

_TONES = {Permission.NO: "no", Permission.UNKNOWN: "unknown", Permission.YES: "yes"}
_DARKEST = 0.5  # of a cell: more would drown its number


class _HeatMap(NamedTuple):
    epsilons: tuple[float, ...]
    rows: tuple[tuple[str, tuple[Finding | None, ...]], ...]


def render_page(result: AuditResult, *, earlier: AuditResult | None = None, faults: Sequence[str] = ()) -> str:
    """Return the report as HTML that needs no network.

    Parameters
    ----------
    earlier
        Another run, shown beside it.
    faults
        Why the run fails, from :func:`tacit.audit.faults`.
    """
    surfaces = tuple(dict.fromkeys(finding.surface for finding in result.findings))
    names = dict.fromkeys(point.curve for point in result.curve)
    curves = {name: [point for point in result.curve if point.curve == name] for name in names}
    return (
        _environment(result, earlier)
        .get_template("page.html")
        .render(
            result=result,
            verdict=judge(result),
            tone=_tone_of_run(result),
            earlier=earlier,
            faults=faults,
            pairs=() if earlier is None else compare(earlier, result),
            surfaces=surfaces,
            about={surface: plan_type(surface).released for surface in surfaces},
            heat=_heat(result.curve),
            curves=curves,
            drawn={name: _drawn(points, result) for name, points in curves.items()},
            tradeoff=draw_tradeoff([(finding, _tone(finding)) for finding in result.ranked]),
        )
    )


def _drawn(points: Sequence[Finding], result: AuditResult) -> tuple[Markup, Markup]:
    """Draw the curves of one planned release, its own point among them."""
    own = [finding for finding in result.findings if finding.name == points[0].curve and finding.data == points[0].data]
    planned = own[0].epsilon if own else None
    return draw_leak([*points, *own], planned=planned), draw_utility([*points, *own], planned=planned)


def _environment(result: AuditResult, earlier: AuditResult | None) -> Environment:
    places = {id(finding): f"release-{place}" for place, finding in enumerate(result.findings, 1)}
    named = {finding.name: places[id(finding)] for finding in reversed(result.findings)}
    chances = _chances(result, earlier)
    environment = Environment(
        loader=PackageLoader("tacit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "points": points,
        "proved": proved,
        "change_of_odds": change_of_odds,
        "span": span,
        "fold": fold,
        "fold_interval": fold_interval,
        "same_class": _same_class,
        "words": in_plain_words,
        "tone": _tone,
        "short": _short,
        "place": lambda share: round(100 * chances.place(share), 2),
        "shade": _shade,
        "upper_first": lambda words: words[:1].upper() + words[1:],
        "anchor": lambda finding: places.get(id(finding), finding.surface),
        "anchor_of": lambda name: named.get(name, "releases"),
    }
    environment.globals["chances"] = chances.ticks
    return environment


def _chances(result: AuditResult, earlier: AuditResult | None) -> AxisRange:
    """Return the axis of every picture of suspicion on this page."""
    shown = [*result.findings, *result.together, *(() if earlier is None else earlier.findings)]
    changes = [change for found in shown for change in (*found.leak.changes, *found.groups)]
    ends = [(change.suspicion_interval.low, change.suspicion_interval.high, change.share) for change in changes]
    return AxisRange.of_chances([end for three in ends for end in three])


def _same_class(earlier: Finding | None, change: OddsChange) -> OddsChange | None:
    """Return what an earlier run measured for the same class."""
    changes = () if earlier is None else earlier.leak.changes
    return next((then for then in changes if then.name == change.name), None)


def _idle(found: CheckedGuarantee) -> bool:
    return isinstance(found, Finding) and found.utility.worthless


def _tone(found: CheckedGuarantee) -> str:
    return _TONES[Permission.UNKNOWN if found.answer is Permission.YES and _idle(found) else found.answer]


def _tone_of_run(result: AuditResult) -> str:
    """Return the color of the verdict: green only if every planned release was audited and has utility."""
    if result.broken:
        return "no"
    tones = [] if result.most_harmful is None else [_tone(result.most_harmful), *map(_tone, result.findings)]
    return (
        next((tone for tone in ("no", "unknown") if tone in tones), "unknown" if result.missing else "yes")
        if tones
        else ""
    )


def _short(found: CheckedGuarantee) -> str:
    return f"{found.answer.capitalize()}: {found.state}{', but no utility' if _idle(found) else ''}"


def _heat(curve: Sequence[Finding]) -> _HeatMap | None:
    # by epsilon as printed: a third of an epsilon, three times, is not the same float
    found = {(point.curve, float(f"{point.epsilon or 0.0:g}")): point for point in curve}
    epsilons = tuple(sorted({epsilon for _, epsilon in found}))
    names = dict.fromkeys(point.curve for point in curve)
    rows = tuple((name, tuple(found.get((name, epsilon)) for epsilon in epsilons)) for name in names)
    return _HeatMap(epsilons=epsilons, rows=rows) if rows else None


def _shade(cell: Finding | None) -> str:
    """Return how dark a cell is: from a hundredfold change of odds on, as dark as its number allows."""
    if cell is None or not cell.leak.changes:
        return "0"
    strength = math.log(max(cell.leak.changes[0].odds, 1.0)) / math.log(100)
    return f"{0.04 + (_DARKEST - 0.04) * min(strength, 1.0):.2f}"
