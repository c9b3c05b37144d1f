"""Pictures of findings, as SVG that follows the page's colours."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tacit.audit import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curve", "draw_heat", "draw_rates"]

# drawn in these, then replaced by the page's own variables, so that one picture serves light and dark
_INK, _QUIET, _LEAK, _USE = "#010203", "#040506", "#070809", "#0a0b0c"
_WIDTH = 5.6  # inches; at phone width the text is then still read
_COLOURS = {_INK: "var(--ink)", _QUIET: "var(--quiet)", _LEAK: "var(--leak)", _USE: "var(--use)"}


def draw_rates(findings: Sequence[Finding]) -> str:
    """Draw for each finding how often the attack is right, with its interval, against the rate without the release.

    Returns
    -------
    str
        An ``<svg>`` element; text stays text.

    Examples
    --------
    >>> draw_rates([]).startswith("<svg")
    True
    """
    figure = Figure(figsize=(_WIDTH, 0.8 + 0.5 * max(len(findings), 1)))
    axes = figure.add_subplot()
    for place, finding in enumerate(findings):
        leak = finding.leak
        axes.plot([leak.baseline, leak.rate], [place, place], color=_LEAK, linewidth=2)
        axes.plot([leak.interval.low, leak.interval.high], [place, place], color=_LEAK, linewidth=7, alpha=0.35)
        axes.plot(leak.baseline, place, "|", color=_INK, markersize=12, markeredgewidth=2)
        axes.plot(leak.rate, place, "o", color=_LEAK, markersize=8)
        # above its line, not beside it: a phone has no room for two columns
        axes.text(0, place - 0.3, f"{finding.surface}: {finding.setting}", color=_INK, fontsize=8, parse_math=False)
    axes.set_yticks([])
    axes.set_ylim(len(findings) - 0.5, -0.8)
    axes.set_xlim(-0.01, 1.02)
    axes.xaxis.set_major_formatter(_percent)
    axes.set_xlabel("how often the attack is right: bar without the release, dot with it", fontsize=9)
    _quieten(axes)
    return _as_svg(figure)


def draw_heat(curve: Sequence[Finding]) -> str:
    """Draw how much every surface leaks at every epsilon: the darker, the more.

    Examples
    --------
    >>> draw_heat([]).startswith("<svg")
    True
    """
    surfaces = list(dict.fromkeys(finding.surface for finding in curve))
    epsilons = sorted({finding.epsilon for finding in curve if finding.epsilon is not None})
    figure = Figure(figsize=(_WIDTH, 0.8 + 0.42 * max(len(surfaces), 1)))
    axes = figure.add_subplot()
    for finding in curve:
        if finding.epsilon is None:
            continue
        x, y = epsilons.index(finding.epsilon), surfaces.index(finding.surface)
        share = float(np.clip(finding.leak.advantage, 0, 0.5)) * 2
        axes.add_patch(_square(x, y, alpha=0.06 + 0.49 * share))  # more would drown the number, light or dark
        axes.text(x, y, f"+{max(finding.leak.advantage, 0):.0%}", ha="center", va="center", color=_INK)
    axes.set_xlim(-0.5, max(len(epsilons), 1) - 0.5)
    axes.set_ylim(max(len(surfaces), 1) - 0.5, -0.5)
    axes.set_xticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
    axes.set_yticks(range(len(surfaces)), surfaces)
    axes.set_xlabel("epsilon for one label or record; in a cell: right guesses gained", fontsize=9)
    _quieten(axes, grid=False)
    return _as_svg(figure)


def draw_curve(curve: Sequence[Finding]) -> str:
    """Draw one surface's leak and use against epsilon, with intervals.

    Examples
    --------
    >>> draw_curve([]).startswith("<svg")
    True
    """
    points = sorted((f for f in curve if f.epsilon is not None), key=lambda finding: finding.epsilon or 0.0)
    figure = Figure(figsize=(_WIDTH, 2.2))
    leak, use = figure.subplots(1, 2)
    at = range(len(points))
    gained = [(f.leak.advantage, f.leak.advantage_interval.low, f.leak.advantage_interval.high) for f in points]
    worth = [(f.utility.protected, f.utility.interval.low, f.utility.interval.high) for f in points]
    for axes, series, colour, title in ((leak, gained, _LEAK, "leak"), (use, worth, _USE, "use")):
        if series:
            middle, low, high = zip(*series, strict=True)
            axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(at, middle, "o-", color=colour)
        axes.set_xticks(at, [f"{f.epsilon:g}" for f in points])
        axes.set_title(title, color=_INK, fontsize=10)
        axes.yaxis.set_major_formatter(_percent)
        axes.set_xlabel("epsilon", fontsize=9)
        axes.tick_params(labelsize=8)
        _quieten(axes)
        _widen(axes)
    if points:
        use.axhline(points[0].utility.unprotected, color=_INK, linewidth=1, linestyle="--")
    leak.axhline(0, color=_INK, linewidth=1)
    figure.tight_layout()
    return _as_svg(figure)


def _percent(share: float, _: float) -> str:
    return f"{share:.0%}"


def _widen(axes: Axes, *, least: float = 0.1) -> None:
    """Show at least ten points of percent: less would draw chance as a cliff, under labels that are all the same."""
    low, high = axes.get_ylim()
    missing = max(0.0, least - (high - low)) / 2
    axes.set_ylim(low - missing, high + missing)


def _square(x: float, y: float, *, alpha: float) -> Rectangle:
    return Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=_LEAK, alpha=alpha, linewidth=0)


def _quieten(axes: Axes, *, grid: bool = True) -> None:
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom" and grid)
        spine.set_color(_QUIET)
    axes.tick_params(colors=_INK, length=0)
    axes.xaxis.label.set_color(_INK)
    if grid:
        axes.grid(color=_QUIET, linewidth=0.5, alpha=0.5)


def _as_svg(figure: Figure) -> str:
    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    for drawn, variable in _COLOURS.items():
        svg = svg.replace(drawn, variable)
    return re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*" (?:width|height)="[^"]*"', r"\1", svg, count=1)
