"""The parts of every drawing, as SVG in the colors and fonts of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

__all__ = ["draw_line", "draw_points", "draw_text", "draw_tick", "picture"]


def picture(parts: Iterable[str], *, width: int, height: int, words: str) -> Markup:
    """Return a drawing with the words that a screen reader says."""
    head = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(words)}">'
    return Markup(f"{head}{''.join(parts)}</svg>")


def draw_text(x: float, y: float, words: str, anchor: str) -> str:
    """Return words that begin, end or have their middle at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def draw_line(y: float, *, left: float, right: float, kind: str) -> str:
    """Return a level line."""
    return f'<line class="{kind}" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def draw_tick(y: float, words: str, *, left: float, right: float) -> str:
    """Return a line of the grid with its number."""
    return draw_line(y, left=left, right=right, kind="grid") + draw_text(left - 6, y + 4, words, "end")


def draw_points(pairs: Sequence[tuple[float, float]]) -> str:
    """Return places as an attribute of a line or an area."""
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)
