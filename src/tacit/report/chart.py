"""Curves as SVG, in the colors and fonts of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from tacit.audit import Finding
from tacit.audit.words import percent, points

__all__ = ["draw_leak", "draw_utility"]

_WIDTH, _HEIGHT = 340, 210  # of the drawing's own units: at phone width one of them is about a pixel
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 14, 40
_LETTER, _CLEAR = 6.5, 12.0  # the width of a letter, and how far a curve stays from words it does not touch
_LEAST = 0.1  # less than ten percentage points would draw chance as a cliff


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """Values against epsilon, with an interval each."""

    epsilons: tuple[float, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    kind: str
    lines: tuple[tuple[float, str], ...]


def draw_leak(curve: Sequence[Finding]) -> Markup:
    """Draw the advantage of an attacker at each epsilon, with its interval."""
    ends = _ordered(curve)
    spans = [finding.leak.advantage_interval for finding in ends]
    series = _Series(
        epsilons=tuple(finding.epsilon or 0.0 for finding in ends),
        middle=tuple(finding.leak.advantage for finding in ends),
        low=tuple(span.low for span in spans),
        high=tuple(span.high for span in spans),
        kind="leak",
        lines=((0.0, "no advantage"),),
    )
    said = "; ".join(f"{points(f.leak.advantage)} at epsilon {f.epsilon:g}" for f in ends)
    return _draw(series, f"The advantage of an attacker: {said}")


def draw_utility(curve: Sequence[Finding]) -> Markup:
    """Draw the utility of the release at each epsilon, between no data and the private data."""
    ends = _ordered(curve)
    uses = [finding.utility for finding in ends]
    # halves are drawn again for every point: the two lines are means over the points
    lines = [] if not uses else [(_mean([use.unprotected for use in uses]), "private data")]
    lines += [] if not uses else [(_mean([use.blind for use in uses]), "no data")]
    series = _Series(
        epsilons=tuple(finding.epsilon or 0.0 for finding in ends),
        middle=tuple(use.protected for use in uses),
        low=tuple(use.interval.low for use in uses),
        high=tuple(use.interval.high for use in uses),
        kind="use",
        lines=tuple(lines),
    )
    said = "; ".join(f"{percent(f.utility.protected)} at epsilon {f.epsilon:g}" for f in ends)
    return _draw(series, f"The utility of the release: {said}")


def _ordered(curve: Sequence[Finding]) -> list[Finding]:
    return sorted((f for f in curve if f.epsilon is not None), key=lambda finding: finding.epsilon or 0.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _draw(series: _Series, label: str) -> Markup:
    low, high, ticks = _scale([*series.low, *series.high, *(at for at, _ in series.lines)])
    x = [_LEFT + 12 + k * _step(len(series.epsilons)) for k in range(len(series.epsilons))]

    def y(value: float) -> float:
        return _TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    drawn = [_tick(y(at), at, series.kind) for at in ticks]
    drawn += [_line(y(at)) for at, _ in series.lines]
    drawn += [_text(at, _HEIGHT - 22, f"{e:g}", "middle") for at, e in zip(x, series.epsilons, strict=True)]
    drawn.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 5, "epsilon", "middle"))
    along = [*zip(x, map(y, series.middle), strict=True)]
    if x:
        around = [*zip(x, map(y, series.high), strict=True), *reversed([*zip(x, map(y, series.low), strict=True)])]
        drawn.append(f'<polygon class="band {series.kind}" points="{_points(around)}"/>')
        drawn.append(f'<polyline class="path {series.kind}" points="{_points(along)}"/>')
        drawn += [f'<circle class="dot {series.kind}" cx="{a:.1f}" cy="{b:.1f}" r="3.5"/>' for a, b in along]
    drawn += [_name(y(at), name, along) for at, name in series.lines]
    body = "".join(drawn)
    head = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
    return Markup(f"{head}{body}</svg>")


def _scale(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """Return a range that holds the values, and three to six round numbers in it."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    missing = max(0.0, _LEAST - (high - low)) / 2
    low, high = low - missing, high + missing
    step = next(s for s in (0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0) if (high - low) / s <= 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    return first * step, last * step, [k * step for k in range(first, last + 1)]


def _step(count: int) -> float:
    return (_WIDTH - _LEFT - _RIGHT - 24) / max(count - 1, 1)


def _tick(y: float, at: float, kind: str) -> str:
    shown = f"{100 * at:.0f}%" if kind == "use" else f"{100 * at:+.0f}" if abs(at) > 1e-9 else "0"
    grid = f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return grid + _text(_LEFT - 6, y + 4, shown, "end")


def _line(y: float) -> str:
    return f'<line class="level" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'


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
    return _text(left + reach, level + down, words, "end")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _points(pairs: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)
