"""One self-contained page from one audit result: draws, never computes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.audit import AuditResult, Finding, Permission, judge
from tacit.audit.compare import compare
from tacit.audit.words import change_of_odds, fold, in_plain_words, percent, points, proved, span
from tacit.leak import OddsChange
from tacit.privacy.files import Replaceable
from tacit.report.chart import draw_leak, draw_utility
from tacit.report.tradeoff import draw_tradeoff

__all__ = ["PAGE", "render_page"]

PAGE = Replaceable("a page of tacit audit", re.compile(rb"<title>tacit audit"))
"""What a new page may replace."""

_ABOUT = {
    "labels": "Every row's label is released, replaced by another one at random.",
    "bags": "Label totals of groups of rows are released, and no single label.",
    "features": "Rows of features are released with their labels, or totals of each class.",
    "scores": "A leaderboard shows how well each submission predicts the hidden labels.",
    "models": "A trained model is released with its weights.",
}
_TONES = {Permission.NO: "no", Permission.UNKNOWN: "unknown", Permission.YES: "yes"}
_LEAST = 1e-4  # probability at the left end of the axis
_DARKEST = 0.5  # of a cell: more would drown its number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heat:
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
    surfaces = tuple(dict.fromkeys(finding.surface for finding in (*result.findings, *result.curve)))
    curves = {name: [point for point in result.curve if point.surface == name] for name in surfaces}
    places = {id(finding): f"release-{place}" for place, finding in enumerate(result.findings, 1)}
    return (
        _environment(places)
        .get_template("page.html")
        .render(
            result=result,
            verdict=judge(result),
            earlier=earlier,
            faults=faults,
            pairs=() if earlier is None else compare(earlier, result),
            surfaces=surfaces,
            about=_ABOUT,
            heat=_heat(result.curve),
            curves={name: (draw_leak(points), draw_utility(points)) for name, points in curves.items() if points},
            points_of=curves,
            tradeoff=draw_tradeoff([(finding, _tone(finding)) for finding in result.ranked]),
        )
    )


def _environment(places: dict[int, str]) -> Environment:
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
        "same_class": _same_class,
        "words": in_plain_words,
        "tone": _tone,
        "short": _short,
        "place": _place,
        "shade": _shade,
        "anchor": lambda finding: places.get(id(finding), finding.surface),
    }
    return environment


def _place(share: float) -> float:
    """Return where a probability is drawn, in percent of the axis: by its log odds, so that 0.4% is seen."""
    inside = min(max(share, _LEAST), 1 - _LEAST)
    return round(50 + 50 * math.log(inside / (1 - inside)) / math.log((1 - _LEAST) / _LEAST), 2)


def _same_class(earlier: Finding | None, change: OddsChange) -> OddsChange | None:
    """Return what an earlier run measured for the same class."""
    changes = () if earlier is None else earlier.leak.changes
    return next((then for then in changes if then.name == change.name), None)


def _tone(finding: Finding) -> str:
    idle = finding.answer is Permission.YES and finding.utility.worthless
    return _TONES[Permission.UNKNOWN if idle else finding.answer]


def _short(finding: Finding) -> str:
    idle = ", but no utility" if finding.utility.worthless else ""
    return f"{finding.answer.capitalize()}: {finding.state}{idle}"


def _heat(curve: Sequence[Finding]) -> _Heat | None:
    # by epsilon as printed: a third of an epsilon, three times, is not the same float
    found = {(point.surface, float(f"{point.epsilon or 0.0:g}")): point for point in curve}
    epsilons = tuple(sorted({epsilon for _, epsilon in found}))
    surfaces = dict.fromkeys(point.surface for point in curve)
    rows = tuple((name, tuple(found.get((name, epsilon)) for epsilon in epsilons)) for name in surfaces)
    return _Heat(epsilons=epsilons, rows=rows) if rows else None


def _shade(cell: Finding | None) -> str:
    """Return how dark a cell is: from a hundredfold change of odds on, as dark as its number allows."""
    if cell is None or not cell.leak.changes:
        return "0"
    strength = math.log(max(cell.leak.changes[0].odds, 1.0)) / math.log(100)
    return f"{0.04 + (_DARKEST - 0.04) * min(strength, 1.0):.2f}"
