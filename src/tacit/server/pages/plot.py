"""The leaderboard's picture: each team's best score over time, as SVG in the page's own colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from html import escape
from itertools import accumulate

from tacit.server.records import ScoredSubmission

__all__ = ["TEAMS_DRAWN", "draw_history"]

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 140, 16, 34
TEAMS_DRAWN = 8
"""Teams whose scores are drawn."""

_NAME = 15
_POINTS = 400


def draw_history(scores: Sequence[ScoredSubmission], *, lower_is_better: bool) -> str:
    """Draw released scores over time: a dot each, and a line for the best of each team; the better end is up.

    The page draws those that improved on their team's earlier ones.
    """
    if not scores:
        return ""
    best = min if lower_is_better else max
    names = sorted({score.team for score in scores})
    standing = {name: best(score.value for score in scores if score.team == name) for name in names}
    shown = sorted(names, key=lambda name: standing[name], reverse=not lower_is_better)[:TEAMS_DRAWN]
    frame = _PlotFrame([score for score in scores if score.team in shown], lower_is_better=lower_is_better)
    parts = [frame.axes()]
    places = _spread([frame.y(standing[name]) for name in shown])
    for number, (name, place) in enumerate(zip(shown, places, strict=True)):
        own = [score for score in scores if score.team == name][-_POINTS:]
        parts.append(f'<g class="team-{number}">{frame.line(own)}{frame.dots(own)}')
        label = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
        parts.append(f'<text class="name" x="{_WIDTH - _RIGHT + 10}" y="{place:.1f}">{escape(label)}</text></g>')
    better = "lower" if lower_is_better else "higher"
    title = f"Each team's best score over time; {better} is better and higher up. The leaderboard has the numbers."
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="plot-title">'
        f'<title id="plot-title">{title}</title>{"".join(parts)}</svg>'
    )


class _PlotFrame:
    """From times and scores to places in the picture."""

    def __init__(self, scores: Sequence[ScoredSubmission], *, lower_is_better: bool) -> None:
        self.begin, self.end = scores[0].time, scores[-1].time
        values = [score.value for score in scores]
        margin = (max(values) - min(values)) * 0.08 or max(abs(values[0]) * 0.05, 0.01)
        self.low, self.high = min(values) - margin, max(values) + margin
        self.lower_is_better = lower_is_better

    def x(self, time: datetime) -> float:
        span = (self.end - self.begin).total_seconds()
        share = (time - self.begin).total_seconds() / span if span > 0 else 0.5
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        share = share if self.lower_is_better else 1 - share
        return _TOP + share * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self) -> str:
        marks = []
        for value in _ticks(self.low, self.high):
            y = self.y(value)
            marks.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            marks.append(f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.6g}</text>')
        span = (self.end - self.begin).total_seconds()
        layout = "%H:%M:%S" if span < 600 else "%d %b %H:%M" if span < 3 * 86_400 else "%d %b"
        ends = [(self.begin, "start", _LEFT), (self.end, "end", _WIDTH - _RIGHT)]
        for moment, anchor, x in ends if self.end > self.begin else ends[:1]:
            text = moment.strftime(layout)
            marks.append(f'<text class="tick" x="{x}" y="{_HEIGHT - 10}" text-anchor="{anchor}">{text}</text>')
        return "".join(marks)

    def dots(self, scores: Sequence[ScoredSubmission]) -> str:
        return "".join(
            f'<circle cx="{self.x(score.time):.1f}" cy="{self.y(score.value):.1f}" r="3"/>' for score in scores
        )

    def line(self, scores: Sequence[ScoredSubmission]) -> str:
        better = min if self.lower_is_better else max
        bests = accumulate([score.value for score in scores], lambda first, second: better(first, second))
        corners: list[str] = []
        for score, value in zip(scores, bests, strict=True):
            x, y = self.x(score.time), self.y(value)
            corners.append(f"M{x:.1f},{y:.1f}" if not corners else f"H{x:.1f}V{y:.1f}")
        corners.append(f"H{_WIDTH - _RIGHT}")
        return f'<path d="{"".join(corners)}"/>'


def _ticks(low: float, high: float) -> list[float]:
    """Return three to six round numbers between two ends."""
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / step)
    return [round(count * step, 12) for count in range(first, math.floor(high / step) + 1)]


def _spread(wanted: Sequence[float]) -> list[float]:
    """Return places for names near the wanted ones, 15 apart at least."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places = list(wanted)
    last = -1e9
    for index in order:
        places[index] = last = max(wanted[index] + 4, last + 15)
    over = max(0.0, max(places) - (_HEIGHT - 6))
    return [place - over for place in places]
