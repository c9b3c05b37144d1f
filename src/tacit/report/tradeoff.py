"""Leak against utility of all releases, as SVG in the colors of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from tacit.audit import Finding
from tacit.audit.words import change_of_odds, fold, percent
from tacit.report.drawing import draw_line, draw_text, draw_tick, picture
from tacit.report.scale import AxisRange

__all__ = ["draw_tradeoff"]

_WIDTH, _HEIGHT = 400, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 16, 14, 40
_LEAST, _MOST = 0.3, 2e4  # changes of odds beyond these are drawn at the ends
_NEAR = 12.0  # spots that are no further apart share their name


def draw_tradeoff(findings: Sequence[tuple[Finding, str]]) -> Markup:
    """Draw the change of odds of each release's worst class against its utility, numbered in the order given.

    Parameters
    ----------
    findings
        The releases, each with the class of its color.
    """
    measured = [(n, one, tone) for n, (one, tone) in enumerate(findings, 1) if one.leak.changes]
    limits = {one.limit for _, one, _ in measured}
    scale, right = _scale([one for _, one, _ in measured], limits), _WIDTH - _RIGHT
    drawn = [draw_tick(_y(odds, scale), fold(odds), left=_LEFT, right=right) for odds in scale.ticks]
    drawn += [draw_text(_x(share), _HEIGHT - 22, f"{share:.0%}", "middle") for share in (0.0, 0.5, 1.0)]
    drawn.append(draw_text((_LEFT + right) / 2, _HEIGHT - 5, "utility kept", "middle"))
    for limit in limits:
        drawn.append(draw_line(_y(limit, scale), left=_LEFT, right=right, kind="limit"))
        drawn.append(draw_text(_LEFT + 4, _y(limit, scale) - 4, "limit", "start"))
    drawn += [_spot(one, tone, scale) for _, one, tone in measured]
    names = _names(measured, scale)
    drawn += [draw_text(x, y, ", ".join(map(str, numbers)), side) for (x, y, side), numbers in names.items()]
    said = "; ".join(
        f"{number}: odds {change_of_odds(one.leak.changes[0])}, utility {percent(one.utility.kept)}"
        for number, one, _ in measured
    )
    return picture(drawn, width=_WIDTH, height=_HEIGHT, words=f"Leak and utility: {said}")


def _scale(findings: Sequence[Finding], limits: set[float]) -> AxisRange:
    worst = [one.leak.changes[0] for one in findings]
    known = [min(end, _MOST) for one in worst for end in (one.odds_interval.low, one.odds) if end < math.inf]
    most = 3 * max([*known, *limits], default=1.0)
    ends = [*known, *(min(one.odds_interval.high, most) for one in worst)]
    return AxisRange.of_folds([*(max(end, _LEAST) for end in ends), *limits])


def _names(measured: Sequence[tuple[int, Finding, str]], scale: AxisRange) -> dict[tuple[float, float, str], list[int]]:
    """Return where the numbers of the releases are written; those of spots that overlap share a place."""
    names: dict[tuple[float, float, str], list[int]] = {}
    for number, one, _ in measured:
        left, x, y = one.utility.kept <= 0.5, _x(one.utility.kept), _y(one.leak.changes[0].odds, scale)
        place = x + (9 if left else -9), y + 4, "start" if left else "end"
        near = (at for at in names if math.hypot(at[0] - place[0], at[1] - place[1]) < _NEAR)
        names.setdefault(next(near, place), []).append(number)
    return names


def _spot(finding: Finding, tone: str, scale: AxisRange) -> str:
    worst, x = finding.leak.changes[0], _x(finding.utility.kept)
    low, high, y = (_y(odds, scale) for odds in (worst.odds_interval.low, worst.odds_interval.high, worst.odds))
    whisker = f'<line class="whisker" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
    dot = f'<circle class="spot" cx="{x}" cy="{y}" r="5"/>'
    return f'<g class="{tone}">{whisker}{dot}</g>'


def _x(share: float) -> float:
    return round(_LEFT + 14 + share * (_WIDTH - _LEFT - _RIGHT - 28), 1)


def _y(odds: float, scale: AxisRange) -> float:
    return round(_TOP + (1 - scale.place(odds)) * (_HEIGHT - _TOP - _BOTTOM), 1)
