"""Write docs/commands.md from the ``--help`` of every command, or check that it is up to date."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

os.environ["COLUMNS"] = "100"  # the page must not depend on the terminal it was made in
os.environ["NO_COLOR"] = "1"

from typer.main import get_command

from tacit.cli.app import AREAS, app, load_area
from tacit.cli.app import main as main_command

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"

HEADER = """\
# Commands

Written by `make reference` from the commands' own `--help`; `make check` fails when it is out of date.
"""


def walk_commands() -> Iterator[tuple[str, Any]]:
    """Yield the words and the command of everything that has a ``--help``, the root first."""
    yield "tacit", get_command(app)
    for area in AREAS:
        yield from _walk(f"tacit {area}", load_area(area))


def _walk(words: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - typer hides its click
    yield words, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _walk(f"{words} {name}", child)


def help_of(words: str) -> str:
    """Return what ``tacit ... --help`` prints."""
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        main_command([*words.split()[1:], "--help"])
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


def render() -> str:
    """Return the whole page."""
    sections = [f"## {words}\n\n```text\n{help_of(words)}\n```\n" for words, _ in walk_commands()]
    return "\n".join([HEADER, *sections])


def main() -> int:
    """Write the page; with ``--check`` say what differs instead, and return 1 if something does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if the page is stale")
    check = parser.parse_args().check
    page = render()
    if not check:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    written = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    difference = list(
        difflib.unified_diff(written.splitlines(), page.splitlines(), "docs/commands.md", "--help", n=1, lineterm="")
    )
    if difference:
        print("docs/commands.md is out of date; run `make reference`", *difference[:40], sep="\n", file=sys.stderr)
    return int(bool(difference))


if __name__ == "__main__":
    sys.exit(main())
