"""Write the notebooks of examples/ from their scripts, or check that they are up to date.

The script is the source: it is what is read, reviewed and linted. The notebook holds the same cells and no outputs,
because the noise is real and every run prints other numbers.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import jupytext  # type: ignore[import-untyped]
import nbformat

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = (EXAMPLES / "ad_clicks.py",)


def render(script: Path) -> str:
    """Return the notebook of a script in percent format, as the text of its file."""
    notebook = jupytext.read(script, fmt="py:percent")
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # jupytext's are random
    text: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    return f"{text}\n"


def main() -> int:
    """Write the notebooks; with ``--check`` say which are stale instead, and return 1 if one is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a notebook is stale")
    check = parser.parse_args().check
    stale = []
    for script in SCRIPTS:
        file, text = script.with_suffix(".ipynb"), render(script)
        if check and (not file.exists() or file.read_text(encoding="utf-8") != text):
            stale.append(file.name)
        elif not check:
            file.write_text(text, encoding="utf-8")
    if stale:
        print(f"{', '.join(stale)} is out of date; run `python scripts/notebooks.py`", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
