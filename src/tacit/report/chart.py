"""Pictures of findings, as SVG that follows the page's colours."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from matplotlib.figure import Figure

from tacit.audit import Finding

__all__ = ["draw_rates"]

# drawn in these, then replaced by the page's own variables, so that one picture serves light and dark
_INK, _QUIET, _LEAK = "#010203", "#040506", "#070809"
_COLOURS = {_INK: "var(--ink)", _QUIET: "var(--quiet)", _LEAK: "var(--leak)"}


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
    figure = Figure(figsize=(8.0, 0.9 + 0.55 * max(len(findings), 1)))
    axes = figure.add_subplot()
    for place, finding in enumerate(findings):
        leak = finding.leak
        axes.plot([leak.baseline, leak.rate], [place, place], color=_LEAK, linewidth=2)
        axes.plot([leak.interval.low, leak.interval.high], [place, place], color=_LEAK, linewidth=7, alpha=0.35)
        axes.plot(leak.baseline, place, "|", color=_INK, markersize=18, markeredgewidth=2)
        axes.plot(leak.rate, place, "o", color=_LEAK, markersize=9)
    axes.set_yticks(range(len(findings)), [f"{f.surface}: {f.setting}" for f in findings])
    axes.set_ylim(len(findings) - 0.4, -0.6)
    axes.set_xlim(0, 1.02)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_xlabel("labels guessed right: bar without the release, dot with it")
    _quieten(axes)
    return _as_svg(figure)


def _quieten(axes: object) -> None:
    for name, spine in axes.spines.items():  # type: ignore[attr-defined]
        spine.set_visible(name == "bottom")
        spine.set_color(_QUIET)
    axes.tick_params(colors=_INK, length=0)  # type: ignore[attr-defined]
    axes.xaxis.label.set_color(_INK)  # type: ignore[attr-defined]
    axes.grid(axis="x", color=_QUIET, linewidth=0.5, alpha=0.5)  # type: ignore[attr-defined]


def _as_svg(figure: Figure) -> str:
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    for drawn, variable in _COLOURS.items():
        svg = svg.replace(drawn, variable)
    return re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*" (?:width|height)="[^"]*"', r"\1", svg, count=1)
