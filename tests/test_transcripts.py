"""README.md and the guide show what their commands print; their tables and pictures are what the scripts make."""

import os
import re
import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *(f"docs/{surface}.md" for surface in ("labels", "bags", "features", "scores", "models"))]


def script(name):
    return runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))


@pytest.fixture(scope="module")
def transcripts():
    """The script that writes the pages; it sets the width of the terminal for the whole process."""
    before = dict(os.environ)
    yield script("transcripts")
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(transcripts, page):
    if page == "docs/models.md":
        pytest.importorskip("torch", reason="the extra torch is not installed")
    words = transcripts["words"]
    assert words(transcripts["render"](ROOT / page)) == words((ROOT / page).read_text(encoding="utf-8"))


def test_a_changed_sentence_is_found_and_a_changed_number_is_not(transcripts):
    words = transcripts["words"]
    assert words("2,201 rows, epsilon 1e-6") == words("17 rows,\n  epsilon 0.5")
    assert words("2,201 rows") != words("2,201 labels")


def test_a_command_that_fails_is_not_shown(transcripts):
    with pytest.raises(RuntimeError, match="no-such-file"):
        transcripts["run"]("tacit labels protect no-such-file.csv --label ill --epsilon 1")


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    for table in (ROOT / "examples").glob("*.csv"):
        shutil.copy(table, tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL
    ):
        exec(block, {})
    assert capsys.readouterr().out.startswith("epsilon 1 for one label 0.")


def test_the_tables_of_the_guide_are_what_their_script_makes():
    for name, text in script("example_tables")["tables"]().items():
        assert (ROOT / "examples" / name).read_text(encoding="utf-8") == text, "run python scripts/example_tables.py"


@pytest.mark.parametrize("name", ["pictures", "plots"])
def test_the_pictures_are_what_their_script_draws(name):
    for picture, text in script(name)["pictures"]().items():
        assert (ROOT / "docs" / "images" / picture).read_text(encoding="utf-8") == text, f"run python scripts/{name}.py"
