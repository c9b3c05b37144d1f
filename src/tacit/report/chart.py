"""Curves over epsilon of one planned release: its leak and its utility."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from tacit.audit import Finding
from tacit.audit.words import change_of_odds, fold, percent
from tacit.report.drawing import draw_line, draw_points, draw_text, draw_tick, picture
from tacit.report.scale import AxisRange

__all__ = ["draw_leak", "draw_utility"]

_WIDTH, _HEIGHT = 340, 210  # of the drawing's own units: at phone width one of them is about a pixel
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 14, 40
_ROOM = 3.0  # above the largest number that is shown, for intervals that reach further
_LETTER, _CLEAR = 6.5, 12.0  # the width of a letter, and how far a curve stays from words it does not touch


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChartSeries:
    """Values against epsilon, with an interval each; ``lines`` are levels with their names."""

    epsilons: tuple[float, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    kind: str
    lines: tuple[tuple[float, str], ...]
    planned: float | None
    allowed: tuple[float, ...] = ()


def draw_leak(curve: Sequence[Finding], *, planned: float | None = None) -> Markup:
    """Draw the change of odds of the worst class at each epsilon, with its interval, the limit, and e^epsilon.

    Parameters
    ----------
    planned
        The epsilon of the planned release, whose point is marked.
    """
    points = [point for point in _ordered(curve) if point.leak.changes]
    worst = [point.leak.changes[0] for point in points]
    limits = {point.limit: "limit" for point in points}
    series = _ChartSeries(
        epsilons=tuple(point.epsilon or 0.0 for point in points),
        middle=tuple(change.odds for change in worst),
        low=tuple(change.odds_interval.low for change in worst),
        high=tuple(change.odds_interval.high for change in worst),
        kind="leak",
        lines=((1.0, "no change"), *limits.items()),
        planned=planned,
        allowed=tuple(math.exp(min(point.epsilon or 0.0, 700.0)) for point in points),
    )
    known = [*series.low, *limits, *(odds for odds in series.middle if odds < math.inf)]
    most = _ROOM * max(known, default=1.0)  # an end without a limit must not press the rest together
    scale = AxisRange.of_folds([*known, *(min(high, most) for high in series.high)])
    said = "; ".join(f"{change_of_odds(c)} at epsilon {p.epsilon:g}" for c, p in zip(worst, points, strict=True))
    return _draw(series, scale, fold, f"The change of odds: {said}")


def draw_utility(curve: Sequence[Finding], *, planned: float | None = None) -> Markup:
    """Draw the utility of the release at each epsilon, between no data and the private data."""
    points = _ordered(curve)
    uses = [point.utility for point in points]
    # halves are drawn again for every point: the two lines are means over the points
    lines = [] if not uses else [(_mean([use.unprotected for use in uses]), "private data")]
    lines += [] if not uses else [(_mean([use.blind for use in uses]), "no data")]
    series = _ChartSeries(
        epsilons=tuple(point.epsilon or 0.0 for point in points),
        middle=tuple(use.protected for use in uses),
        low=tuple(use.interval.low for use in uses),
        high=tuple(use.interval.high for use in uses),
        kind="use",
        lines=tuple(lines),
        planned=planned,
    )
    scale = AxisRange.of_shares([*series.low, *series.high, *(at for at, _ in series.lines)])
    said = "; ".join(f"{percent(point.utility.protected)} at epsilon {point.epsilon:g}" for point in points)
    return _draw(series, scale, lambda share: f"{100 * share:.0f}%", f"The utility of the release: {said}")


def _ordered(curve: Sequence[Finding]) -> list[Finding]:
    """The points by epsilon, one for each."""
    points = {float(f"{point.epsilon:g}"): point for point in curve if point.epsilon is not None}
    return [points[epsilon] for epsilon in sorted(points)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _draw(series: _ChartSeries, scale: AxisRange, shown: Callable[[float], str], label: str) -> Markup:
    right, count = _WIDTH - _RIGHT, len(series.epsilons)
    x = [_LEFT + 12 + k * (right - _LEFT - 24) / max(count - 1, 1) for k in range(count)]

    def y(value: float) -> float:
        return _TOP + (1 - scale.place(value)) * (_HEIGHT - _TOP - _BOTTOM)

    drawn = [draw_tick(y(at), shown(at), left=_LEFT, right=right) for at in scale.ticks]
    drawn += [
        draw_line(y(at), left=_LEFT, right=right, kind="limit" if name == "limit" else "level")
        for at, name in series.lines
    ]
    drawn += [draw_text(at, _HEIGHT - 22, f"{e:g}", "middle") for at, e in zip(x, series.epsilons, strict=True)]
    drawn.append(draw_text((_LEFT + right) / 2, _HEIGHT - 5, "epsilon", "middle"))
    along = [*zip(x, map(y, series.middle), strict=True)]
    if x:
        around = [*zip(x, map(y, series.high), strict=True), *reversed([*zip(x, map(y, series.low), strict=True)])]
        drawn.append(f'<polygon class="band {series.kind}" points="{draw_points(around)}"/>')
        allowed = [(a, y(most)) for a, most in zip(x, series.allowed, strict=False) if scale.place(most) < 1]
        drawn.append(f'<polyline class="allowed" points="{draw_points(allowed)}"/>' if allowed else "")
        drawn.append(f'<polyline class="path {series.kind}" points="{draw_points(along)}"/>')
        drawn += [_dot(series, k, *place) for k, place in enumerate(along)]
    drawn += [_name(y(at), name, along) for at, name in series.lines]
    return picture(drawn, width=_WIDTH, height=_HEIGHT, words=label)


def _dot(series: _ChartSeries, number: int, x: float, y: float) -> str:
    """A point of the curve; that of the planned release has a ring."""
    dot = f'<circle class="dot {series.kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    if f"{series.epsilons[number]:g}" != f"{series.planned or 0:g}":
        return dot
    return f'{dot}<circle class="ring {series.kind}" cx="{x:.1f}" cy="{y:.1f}" r="7.5"/>'


def _name(level: float, words: str, along: Sequence[tuple[float, float]]) -> str:
    """Label a level above or below one of its ends: the right end, unless the curve runs through there."""
    reach, curve = _LETTER * len(words), np.array(along)
    spots = [(left, down) for down in (-4.0, 13.0) for left in (_WIDTH - _RIGHT - reach, _LEFT + 2.0)]

    def room(spot: tuple[float, float]) -> float:
        left, down = spot
        if not along or level + down > _HEIGHT - _BOTTOM:
            return 0.0
        middle, at = level + down - 4, np.linspace(left, left + reach, 20)
        return min(float(np.abs(np.interp(at, curve[:, 0], curve[:, 1]) - middle).min()), _CLEAR)

    left, down = max(spots, key=room)  # of equals the first
    return draw_text(left + reach, level + down, words, "end")
