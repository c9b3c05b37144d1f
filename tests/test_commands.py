"""Every command and option has help that teaches, and is in the reference."""

import importlib.util
import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli.app import app
from tacit.privacy import InvalidInput

SCRIPT = Path(__file__).parents[1] / "scripts" / "command_reference.py"
SURFACES = ("labels", "bags", "features", "scores", "models")


@pytest.fixture(scope="module")
def reference():
    """The script that writes the reference; it sets the width of the terminal for the whole process."""
    before = dict(os.environ)
    spec = importlib.util.spec_from_file_location("command_reference", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    yield script
    os.environ.clear()
    os.environ.update(before)


def is_leaf(command):
    return not hasattr(command, "commands")


def flags(option):
    return [flag for flag in (*option.opts, *option.secondary_opts) if flag.startswith("-")]


def test_a_stale_reference_is_noticed(reference, monkeypatch, tmp_path, capsys):
    stale, page = tmp_path / "commands.md", reference.render()
    stale.write_text(page.replace("--version", "--edition"), encoding="utf-8")
    monkeypatch.setattr(reference, "PAGE", stale)
    monkeypatch.setattr(reference, "render", lambda: page)
    monkeypatch.setattr("sys.argv", ["command_reference.py", "--check"])
    assert reference.main() == 1
    assert "--edition" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["command_reference.py"])
    assert reference.main() == 0
    monkeypatch.setattr("sys.argv", ["command_reference.py", "--check"])
    assert reference.main() == 0


def test_every_command_and_option_is_in_the_reference(reference):
    page = reference.PAGE.read_text(encoding="utf-8")
    for words, command in reference.walk_commands():
        section = page.partition(f"## {words}\n")[2].partition("\n## ")[0]
        assert section, f"`{words}` is not in the reference"
        shown = [flag for option in command.params for flag in flags(option) if not option.hidden]
        assert [flag for flag in shown if flag not in section] == []


def test_every_command_and_option_has_help(reference):
    for words, command in reference.walk_commands():
        assert command.help, f"`{words}` has no help"
        silent = [option.name for option in command.params if not getattr(option, "help", None)]
        assert silent == [], f"options of `{words}` without help"


def test_every_command_shows_an_example_and_takes_json(reference):
    for words, command in reference.walk_commands():
        if is_leaf(command):
            assert f"{words} " in f"{command.help}\n".replace("\n", " "), f"`{words}` shows no example"
            assert "--json" in {flag for option in command.params for flag in flags(option)}, words


def test_no_area_has_completion_options_of_its_own(reference):
    root, *areas = reference.walk_commands()
    assert "install_completion" in [option.name for option in root[1].params], "control: the root has them"
    for words, command in areas:
        assert "install_completion" not in [option.name for option in command.params], words


def commands_shown(text):
    """Each command line of a page, as words: in a code span, or a line of a block, without its comment."""
    spans = re.findall(r"`(tacit [^`\n]+)`", text)
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    blocks = "".join(block for language, block in fenced if language in ("", "console"))
    lines = re.findall(r"^(?:\$ )?(tacit (?:[^#\n]*\\\n)*[^#\n]+)", blocks, flags=re.MULTILINE)
    return [shlex.split(line.replace("\\\n", " ")) for line in (*spans, *lines)]


@pytest.mark.parametrize("page", ["README", *(f"docs/{surface}" for surface in SURFACES)])
def test_a_page_shows_each_cell_of_its_surface_and_no_command_that_is_refused(reference, page):
    known = dict(reference.walk_commands())
    shown = commands_shown((SCRIPT.parents[1] / f"{page}.md").read_text(encoding="utf-8"))
    for line in shown:
        check_command(line, known)
    surface = page.rpartition("/")[2]
    cells = {f"tacit {surface} {side}" for side in ("protect", "learn", "attack") if surface in SURFACES}
    assert cells <= {" ".join(line[:3]) for line in shown}


def check_command(line, known):
    """Fail if a command line names no command, has an option that it does not have, or lacks one that it needs."""
    words = max((name for name in known if line[: len(name.split())] == name.split()), key=len)
    command, rest = known[words], line[len(words.split()) :]
    assert is_leaf(command) or not rest, f"`{words}` does nothing by itself"
    wrong = {word for word in rest if word.startswith("--")} - {f for o in command.params for f in flags(o)}
    assert wrong == set(), f"`{words}` has no such option"
    needed = [option.opts[0] for option in command.params if option.required and option.opts[0].startswith("-")]
    assert not rest or [flag for flag in needed if flag not in rest] == [], f"`{words}` is refused as it is shown"


@pytest.mark.parametrize("group", ["", "labels", "bags", "features", "scores", "scores host", "models", "ledger"])
def test_a_list_of_commands_cuts_no_sentence_short(group):
    listed = CliRunner().invoke(app, [*group.split(), "--help"], env={"COLUMNS": "80"}).output.partition("Commands:")[2]
    assert listed.count(".\n") > 2
    assert "..." not in listed


def test_a_seed_below_zero_is_refused_before_anything_is_read(reference):
    refused = []
    for words, command in reference.walk_commands():
        if any("--seed" in flags(option) for option in command.params):
            found = CliRunner().invoke(app, [*words.split()[1:], "--seed", "-1"])
            assert "--seed" in found.output or isinstance(found.exception, InvalidInput), (words, found)
            assert found.exit_code
            refused.append(words)
    assert {"tacit labels protect", "tacit scores attack", "tacit models protect"} <= set(refused)
