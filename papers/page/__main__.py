"""Write the page, or check it; see the package's own words."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from papers.page import bags, features, networks, retraining, scores
from papers.page.items import Paper, grid
from tacit.privacy.files import write_atomically

PAGE = Path(__file__).parents[2] / "docs" / "published.md"
COMMAND = "python -m papers.page"
HEAD = f"""# Published tables and figures

This page has every table and figure of the five papers that tacit implements, main text and appendices, beside ours.
`{COMMAND}` makes this page from the JSON in `benchmarks/results`: no number of ours is typed,
and a test fails if the page and the JSON disagree. Numbers are means ± standard deviations over the seeds; without a
deviation there is one seed. Where a paper draws curves and prints no values, its words are compared with our points.

*Seen* says whether ours shows what the paper says: yes, in part (at some settings), no. Where nothing else is said
means are compared, however far the seeds are apart. *Illustration*: nothing to measure. **Bold**: ours is at least as
printed. GPU seconds are added up over points, on one NVIDIA H200: where several ran at once each has its share of the
time, and a point that stands in several tables is counted in each.
"""


def papers() -> list[Paper]:
    """Return the five papers, with everything read from the results."""
    return [retraining.paper(), bags.paper(), features.paper(), scores.paper(), networks.paper()]


def make() -> str:
    """Return the page."""
    return "\n".join(_lines(papers())).rstrip() + "\n"


def _lines(found: list[Paper]) -> Iterator[str]:
    yield from (HEAD, "## All of them", "")
    rows = [row for paper in found for row in paper.rows()]
    yield from grid(("paper", "table or figure", "what it shows", "status", "seen", "seeds"), rows)
    yield ""
    for paper in found:
        yield from paper.section()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; return 1 if the page is not what the results give."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="The page of published tables and figures")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page would change")
    options = parser.parse_args(arguments)
    text = make()
    if options.check:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"docs/{PAGE.name} is not what benchmarks/results gives: run {COMMAND}", file=sys.stderr)
        return 1
    with write_atomically(PAGE, force=True) as file:
        file.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
