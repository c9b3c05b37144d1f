"""Run the commands of every ``console`` block of README.md and the guide, and write what they print below them.

    python scripts/transcripts.py            # writes the pages
    python scripts/transcripts.py --check    # says which page is out of date, and returns 1

The blocks of a page run in order, in a folder with the tables of examples/. The key of the noise is fixed while they
run, so that a page changes only where a command does. Numbers are not compared: other libraries give other last digits.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

os.environ["COLUMNS"] = "84"  # the pages must not depend on the terminal they were made in
os.environ["NO_COLOR"] = "1"

from tacit.cli import main as tacit
from tacit.privacy.noise import entropy

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{surface}.md" for surface in ("labels", "bags", "features", "scores", "models")),
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FRAME = re.compile("[\u2500-\u257f]+")  # its length follows the numbers
WORST = re.compile(r"\S+(?=: suspicion goes)")  # the class that this draw exposes most
NUMBER = re.compile(r"-?\d[\d,.]*(?:e-?\d+)?")


def run(command: str) -> str:
    """Return what a ``tacit`` command prints on standard output; one that fails raises."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            tacit(shlex.split(command.replace("\\\n", " "))[1:])
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{command}: {said.getvalue()}") from end
    return printed.getvalue()


def transcript(block: str) -> str:
    """Return a block with what its commands print now."""
    shown = []
    for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, flags=re.MULTILINE):
        shown.append(f"$ {command}")
        for line in run(command).splitlines():
            shown += textwrap.wrap(line, 84, break_long_words=False) or [""]
        shown.append("")
    return "\n".join(line.rstrip() for line in shown).rstrip() + "\n"


def render(page: Path) -> str:
    """Return a page whose blocks show what their commands print now."""
    text = page.read_text(encoding="utf-8")
    fixed = SimpleNamespace(randbits=random.Random(0).getrandbits)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(entropy, "secrets", fixed):
        for table in (ROOT / "examples").glob("*.csv"):
            shutil.copy(table, folder)
        with contextlib.chdir(folder), mock.patch.dict(os.environ, XDG_CACHE_HOME=folder):
            return BLOCK.sub(lambda found: f"```console\n{transcript(found[1])}```", text)


def words(text: str) -> list[str]:
    """Return a page without what another draw changes, numbers and the worst class, and without lines and line ends."""
    return NUMBER.sub("#", WORST.sub("#", FRAME.sub(" ", text))).split()


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="Write the transcripts of README.md and the guide.")
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    out_of_date = 0
    for page in options.pages:
        made, text = render(page), page.read_text(encoding="utf-8")
        if not options.check:
            page.write_text(made, encoding="utf-8")
        elif words(made) != words(text):
            print(f"{page.name} is not what its commands print: run python scripts/transcripts.py", file=sys.stderr)
            out_of_date = 1
    return out_of_date


if __name__ == "__main__":
    sys.exit(main())
