"""Draw docs/images/*.svg: for each surface what is private, what is released and who sees it; all five; and the code.

python scripts/pictures.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "docs" / "images"

PRIVATE, PUBLIC, KIND, HOSTILE, PLAIN = "#fde8e8", "#e6f0fb", "#e7f5ea", "#fdf0dc", "#f4f4f6"
STYLE = "text{font:13px sans-serif;fill:#24292f}.t{font-weight:600}.n{fill:#57606a}path{stroke:#57606a;fill:none}"
ARROW = (
    '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" style="fill:#57606a;stroke:none"/></marker>'
)


class Flow(NamedTuple):
    """The words of a surface's picture, each box one or more lines."""

    private: str
    mechanism: str
    release: str
    learner: str
    attacker: str


FLOWS = {
    "labels": Flow(
        "features, and\na private label",
        "randomize\neach label",
        "features, and a\nrandomized label\nper row",
        "a model of the\ntrue labels",
        "the best guess\nof each label",
    ),
    "bags": Flow(
        "features, and\na private label",
        "group the rows,\nadd noise to totals",
        "label totals\nper group",
        "a model of\nsingle rows",
        "labels that the\ntotals determine",
    ),
    "features": Flow(
        "private features\nand label",
        "select columns,\nadd noise",
        "noisy rows, or\nnoisy class totals",
        "Fisher's rule,\ncorrected for noise",
        "which row is whose,\nwho is in the table",
    ),
    "scores": Flow(
        "private labels",
        "score submissions,\nadd noise, count",
        "one noisy score\nper submission",
        "which submission\nis best",
        "every label, from\ncrafted submissions",
    ),
    "models": Flow(
        "features and labels,\none or both private",
        "train: DP-SGD, or\non noisy labels",
        "a model file with\nits guarantee",
        "predictions, and\nhow good they are",
        "which rows it was\ntrained on",
    ),
}
RELEASED = {
    "labels": "one randomized label per row",
    "bags": "label totals of groups of rows",
    "features": "noisy rows or class totals",
    "scores": "one score per submission",
    "models": "a trained model",
}


def box(x: int, y: int, width: int, height: int, title: str, lines: str, color: str) -> str:
    """Return a rounded box with a title and lines below it."""
    text = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{color}" stroke="#d0d7de"/>']
    text.append(f'<text class="t" x="{x + 10}" y="{y + 20}">{escape(title)}</text>')
    for row, line in enumerate(filter(None, lines.split("\n"))):
        text.append(f'<text class="n" x="{x + 10}" y="{y + 39 + 17 * row}">{escape(line)}</text>')
    return "".join(text)


def arrow(*points: tuple[int, int]) -> str:
    """Return a line through the points with a head at its end."""
    return f'<path d="M{" L".join(f"{x} {y}" for x, y in points)}" marker-end="url(#a)"/>'


def svg(width: int, height: int, title: str, *parts: str) -> str:
    """Return the file: a light card, so that it reads on a dark page too."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style><defs>{ARROW}</defs>"
        f'<rect width="{width}" height="{height}" rx="8" fill="#fff"/>' + "\n".join(parts) + "</svg>\n"
    )


def draw_flow(surface: str, flow: Flow) -> str:
    """Return one surface: private table, mechanism, release, learner and attacker."""
    return svg(
        860,
        190,
        f"{surface}: from the private table to the release, and to those who see it",
        box(15, 50, 160, 85, "private table", flow.private, PRIVATE),
        box(225, 50, 160, 85, "protect", flow.mechanism, PLAIN),
        box(435, 50, 160, 85, "release", flow.release, PUBLIC),
        box(665, 12, 180, 76, "learn", flow.learner, KIND),
        box(665, 102, 180, 76, "attack", flow.attacker, HOSTILE),
        arrow((175, 92), (223, 92)),
        arrow((385, 92), (433, 92)),
        arrow((595, 92), (630, 92), (630, 50), (663, 50)),
        arrow((595, 92), (630, 92), (630, 140), (663, 140)),
    )


def draw_whole() -> str:
    """Return all five surfaces between one private table and those who see the releases."""
    rows = []
    for row, (surface, released) in enumerate(RELEASED.items()):
        y = 20 + 62 * row
        rows += [box(330, y, 250, 50, surface, released, PUBLIC), arrow((255, 169), (255, y + 25), (328, y + 25))]
        rows += [f'<path d="M580 {y + 25} L622 {y + 25} L622 169"/>']
    return svg(
        860,
        420,
        "One private table, five surfaces, learners and attackers, the ledger and the audit",
        box(15, 127, 165, 84, "private table", "features and labels,\nat the data owner", PRIVATE),
        '<path d="M180 169 L255 169"/><text class="t" x="190" y="160">protect</text>',
        *rows,
        box(665, 50, 180, 84, "learn", "what an honest\nrecipient can do with it", KIND),
        box(665, 204, 180, 84, "attack", "what a dishonest\nrecipient can infer", HOSTILE),
        arrow((622, 92), (663, 92)),
        arrow((622, 246), (663, 246)),
        box(15, 345, 400, 60, "ledger", "adds up what all releases cost, and enforces a budget", PLAIN),
        box(435, 345, 410, 60, "audit", "compares guarantee, leak and utility on one page", PLAIN),
    )


def draw_code() -> str:
    """Return the way of one label through the code of its surface and the kernel."""
    return svg(
        860,
        330,
        "The files that a label passes from the command to the release, and those that read the release",
        box(15, 20, 190, 76, "command", "cli/surface.py\nwords become a plan", PLAIN),
        box(235, 20, 190, 76, "plan", "labels/plan.py\nfields and guarantee", PLAIN),
        box(455, 20, 190, 76, "protect", "labels/releases/protect.py\nsurvey, request, draw", PLAIN),
        box(15, 130, 190, 76, "private table", "data/table.py\nread in batches", PRIVATE),
        box(235, 130, 190, 76, "mechanism", "labels/mechanisms/*.py\none file each", PLAIN),
        box(455, 130, 190, 76, "deliver", "privacy/delivery.py\ncharge first, then draw", PLAIN),
        box(665, 130, 180, 76, "ledger", "privacy/ledger\none charge per request", PLAIN),
        box(455, 240, 190, 76, "release", "privacy/releases\nheader and members", PUBLIC),
        box(235, 240, 190, 76, "learn", "labels/learners/learn.py\na model", KIND),
        box(15, 240, 190, 76, "attack", "labels/attacks/attack.py\na leak", HOSTILE),
        arrow((205, 58), (233, 58)),
        arrow((425, 58), (453, 58)),
        arrow((550, 96), (550, 128)),
        arrow((645, 168), (663, 168)),
        arrow((205, 168), (233, 168)),
        arrow((425, 168), (453, 168)),
        arrow((550, 206), (550, 238)),
        arrow((455, 278), (427, 278)),
        '<path d="M455 308 L440 308 L440 324 L220 324 L220 278 L207 278" marker-end="url(#a)"/>',
    )


def pictures() -> dict[str, str]:
    """Return the text of every picture by its name."""
    flows = {f"{surface}.svg": draw_flow(surface, flow) for surface, flow in FLOWS.items()}
    return flows | {"tacit.svg": draw_whole(), "architecture.svg": draw_code()}


def main() -> None:
    """Write the pictures."""
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
