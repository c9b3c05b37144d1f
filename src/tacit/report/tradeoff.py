"""Leak against utility of all releases, as SVG in the colors of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from tacit.audit import Finding
from tacit.audit.words import change_of_odds, percent

__all__ = ["draw_tradeoff"]

_WIDTH, _HEIGHT = 400, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 16, 14, 40
_NEAR = 12.0  # spots that are no further apart share their name
_LOW, _HIGH = 0.5, 2e4  # changes of odds at the two ends of the axis


def draw_tradeoff(findings: Sequence[tuple[Finding, str]]) -> Markup:
    """Draw the change of odds of each release's worst class against its utility, numbered in the order given.

    Parameters
    ----------
    findings
        The releases, each with the class of its color.
    """
    measured = [(n, one, tone) for n, (one, tone) in enumerate(findings, 1) if one.leak.changes]
    drawn = [_grid(odds) for odds in (1, 10, 100, 1000, 10_000)]
    drawn += [_text(_x(share), _HEIGHT - 22, f"{share:.0%}", "middle") for share in (0.0, 0.5, 1.0)]
    drawn.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 5, "utility kept", "middle"))
    for limit in {one.limit for _, one, _ in measured}:
        drawn.append(f'<line class="limit" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_y(limit)}" y2="{_y(limit)}"/>')
        drawn.append(_text(_LEFT + 4, _y(limit) - 4, "limit", "start"))
    drawn += [_spot(one, tone) for _, one, tone in measured]
    drawn += [_text(x, y, ", ".join(map(str, numbers)), side) for (x, y, side), numbers in _names(measured).items()]
    said = "; ".join(
        f"{number}: odds {change_of_odds(one.leak.changes[0])}, utility {percent(one.utility.kept)}"
        for number, one, _ in measured
    )
    head = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(f"Leak and utility: {said}")}">'
    return Markup(f"{head}{''.join(drawn)}</svg>")


def _names(measured: Sequence[tuple[int, Finding, str]]) -> dict[tuple[float, float, str], list[int]]:
    """Return where the numbers of the releases are written; those of spots that overlap share a place."""
    names: dict[tuple[float, float, str], list[int]] = {}
    for number, one, _ in measured:
        left, x, y = one.utility.kept <= 0.5, _x(one.utility.kept), _y(one.leak.changes[0].odds)
        place = x + (9 if left else -9), y + 4, "start" if left else "end"
        near = (at for at in names if math.hypot(at[0] - place[0], at[1] - place[1]) < _NEAR)
        names.setdefault(next(near, place), []).append(number)
    return names


def _spot(finding: Finding, tone: str) -> str:
    worst, x = finding.leak.changes[0], _x(finding.utility.kept)
    low, high, y = (_y(odds) for odds in (worst.odds_interval.low, worst.odds_interval.high, worst.odds))
    whisker = f'<line class="whisker" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
    dot = f'<circle class="spot" cx="{x}" cy="{y}" r="5"/>'
    return f'<g class="{tone}">{whisker}{dot}</g>'


def _x(share: float) -> float:
    return round(_LEFT + 14 + share * (_WIDTH - _LEFT - _RIGHT - 28), 1)


def _y(odds: float) -> float:
    inside = min(max(odds, _LOW), _HIGH)
    return round(_TOP + math.log(_HIGH / inside) / math.log(_HIGH / _LOW) * (_HEIGHT - _TOP - _BOTTOM), 1)


def _grid(odds: float) -> str:
    line = f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_y(odds)}" y2="{_y(odds)}"/>'
    return line + _text(_LEFT - 6, _y(odds) + 4, f"{odds:,}-fold" if odds == 1 else f"{odds:,}", "end")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
