"""The root command: what it prints, how it ends, how quickly it starts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

import tacit
from tacit.cli import app as root
from tacit.privacy.errors import BudgetExceeded, InvalidInput

SURFACES = ("labels", "bags", "features", "scores", "models")
HEAVY = {
    *("dp_accounting", "duckdb", "ibis", "joblib", "matplotlib", "numpy", "opendp", "pandas", "pyarrow", "rich"),
    *("scipy", "sklearn", "sqlalchemy", "torch"),
}


def fail_with(error):
    def command() -> None:
        """Raise what the test asks for."""
        raise error

    return command


@pytest.fixture
def run(monkeypatch, capsys):
    """Run ``tacit demo``, an area of one command, and return its exit code and output."""

    def run(command, *arguments):
        area = typer.Typer()
        area.command()(command)
        monkeypatch.setitem(root.AREAS, "demo", "An area for the tests.")
        monkeypatch.setattr(root, "import_module", lambda name: SimpleNamespace(app=area))
        with pytest.raises(SystemExit) as end:
            root.main(["demo", *arguments])
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return run


def in_process(code, *, stdout=subprocess.PIPE):
    prologue = "import sys, typer\nfrom types import SimpleNamespace\nfrom tacit.cli import app as root\n"
    return subprocess.Popen(
        [sys.executable, "-c", prologue + code], stdout=stdout, stderr=subprocess.PIPE, text=True, env=os.environ
    )


DEMO = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a suite started by nohup ignores it, one in the background SIGINT
signal.signal(signal.SIGINT, signal.default_int_handler)
area = typer.Typer(add_completion=False)
root.AREAS["demo"] = "An area for the tests."
root.import_module = lambda name: SimpleNamespace(app=area)
@area.command()
def demo() -> None:
"""


def test_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as end:
        root.main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"tacit {tacit.__version__}\n")


def test_a_command_that_works_exits_with_0(run):
    assert run(lambda: typer.echo("done")) == (0, "done\n", "")


def test_a_mistake_of_the_user_is_one_sentence_and_exit_code_2(run):
    error = InvalidInput("epsilon must be > 0,\n got -1.0")
    assert run(fail_with(error)) == (2, "", "epsilon must be > 0, got -1.0\n")


def test_a_refused_charge_exits_with_2(run):
    code, out, err = run(fail_with(BudgetExceeded("spent 1, asked 1, left 0")))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_a_file_that_cannot_be_opened_is_named(run, tmp_path):
    code, out, err = run(lambda: open(tmp_path / "absent.csv").close())
    assert (code, out) == (2, "")
    assert err == f"{tmp_path / 'absent.csv'}: No such file or directory\n"


def test_an_unexpected_error_asks_to_be_reported(run):
    code, out, err = run(fail_with(RuntimeError("boom")))
    assert (code, out) == (1, "")
    assert err.startswith("unexpected RuntimeError: boom; please report it")
    assert err.count("\n") == 1


def test_the_traceback_is_shown_on_demand(run, monkeypatch):
    monkeypatch.setenv("TACIT_TRACEBACK", "1")
    code, _, err = run(fail_with(InvalidInput("no")))
    assert code == 2
    assert "Traceback (most recent call last)" in err
    assert err.endswith("\nno\n")


def test_an_unknown_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as end:
        root.main(["nonsense"])
    assert end.value.code == 2
    assert capsys.readouterr().err == "No such command 'nonsense'; see tacit --help\n"


@pytest.mark.parametrize(
    ("command", "error", "field"),
    [
        (
            "labels protect t.csv --epsilon 1 --json",
            "Missing option '--label'; see tacit labels protect --help",
            "label",
        ),
        ("labels protect absent.csv --label y --epsilon 1 --json", "IN absent.csv does not exist; give", "table"),
        ("labels protect absent.csv --label y --epsilon 0 --json", "--epsilon must be a finite number > 0", "epsilon"),
        ("labels learn absent.parquet --json", "IN absent.parquet does not exist; give the path of a", "release"),
        ("nonsense --json", "No such command 'nonsense'; see tacit --help", None),
    ],
)
def test_errors_are_json_where_results_are(command, error, field, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        root.main(command.split())
    out, err = capsys.readouterr()
    found = json.loads(err)
    assert (end.value.code, out) == (2, "")
    assert (found["field"], found["exit"], list(found)) == (field, 2, ["error", "field", "exit"])
    assert found["error"].startswith(error)


@pytest.mark.parametrize(("typed", "offered"), [("tacit la", "labels"), ("tacit labels protect --eps", "--epsilon")])
def test_a_shell_completes_commands_and_options(typed, offered, capsys, monkeypatch):
    monkeypatch.setenv("_TACIT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    with pytest.raises(SystemExit):
        root.main([])
    assert offered in capsys.readouterr().out.split()


def test_work_without_a_terminal_says_now_and_then_how_far_it_is(capsys):
    from tacit.cli.progress import show_progress

    with show_progress("audit", every=0.05) as report:
        report(1, 3, "labels")
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 5
    assert lines[0] == "labels, 1 of 3, 0 s"


@pytest.mark.parametrize("code", root.EXIT_CODES)
def test_exit_codes_are_in_the_help_and_in_the_guide(code, capsys):
    with pytest.raises(SystemExit):
        root.main(["--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    assert f"{code} {root.EXIT_CODES[code]}" in help_text
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
    assert f"| {code} | {root.EXIT_CODES[code]} |" in page


def test_an_area_of_one_command_needs_no_second_word(run):
    assert run(lambda: typer.echo("[brackets]"))[1] == "[brackets]\n"
    code, out, _ = run(lambda: None, "--help")
    assert (code, out.split("\n")[0]) == (0, "Usage: tacit demo [OPTIONS]")
    assert "--install-completion" not in out


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 143)])
def test_a_signal_is_one_line_and_leaves_nothing_unfinished(number, code, tmp_path):
    lines = (
        f"    from tacit.privacy.files import write_atomically\n    with write_atomically({str(tmp_path / 'out')!r}):\n"
        "        print('ready', flush=True)\n        import time; time.sleep(60)\n"
        "sys.argv = ['tacit', 'demo']\nroot.main()"
    )
    process = in_process(DEMO + lines)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, number))
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (code, "interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_warning_is_a_sentence_without_a_place_in_the_code():
    process = in_process(
        DEMO + "    import warnings; warnings.warn('two rows are equal')\nsys.argv[1:] = ['demo']\nroot.main()"
    )
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "warning: two rows are equal\n")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes")
@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_broken_pipe_is_quiet(lines):
    read, write = os.pipe()
    os.close(read)
    process = in_process(DEMO + f"    print('line\\n' * {lines})\nroot.main(['demo'])", stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (1, "")


CHEAP = [
    "--help",
    "--version",
    *(f"{surface} {side} --help" for surface in SURFACES for side in ("protect", "learn", "attack")),
    *(f"{surface} protect absent.csv --label y --epsilon 1 --delta 1e-6" for surface in SURFACES),
    *(f"{surface} protect here.csv --label y --epsilon nan" for surface in SURFACES),
    *(f"{surface} {side} absent.parquet" for surface in SURFACES for side in ("learn", "attack")),
    *(f"{surface} {side} here.csv --data absent.csv" for surface in SURFACES for side in ("learn", "attack")),
    *(f"{surface} {side} here.csv --method guess" for surface in SURFACES for side in ("learn", "attack")),
    *(f"{surface} {side} here.csv --out nowhere/out" for surface in SURFACES for side in ("learn", "attack")),
    "labels protect here.csv --label y --epsilon 1 --out here.csv",
    "labels protect here.csv --label y --epsilon 1 --out nowhere/out.parquet",
    "labels protect here.csv --label y --epsilon 1 --ledger absent.db",
    "labels protect here.csv --label y --epsilon 1 --ledger here.csv",
    "labels protect here.csv --label y --epsilon 1 --dataset visits",
    "bags protect here.csv --label y --epsilon 1 --by x --out .",
    "features protect here.csv --label y --epsilon 1 --delta 1e-6 --ranges *=0,1 --ledger absent.db",
    "scores protect here.csv --label y --epsilon 1 --data absent.csv",
    "models protect here.csv --label y --epsilon 1 --delta 1e-6 --ranges *=0,1 --out here.csv",
]


def test_help_and_refusals_of_paths_options_and_ledgers_import_nothing_heavy(tmp_path):
    """One process runs them all: a module that one of them imports stays, and is found after it."""
    (tmp_path / "here.csv").write_text("x,y\n1,a\n")
    code = f"""
import os
os.chdir({str(tmp_path)!r})
for command in {CHEAP!r}:
    try:
        root.main(command.split())
    except SystemExit as end:
        found = {{name.split(".")[0] for name in sys.modules}} & {HEAVY!r}
        print("RESULT", "--help" in command or "--version" in command, end.code, sorted(found), command)
"""
    process = in_process(code)
    out, err = process.communicate(timeout=120)
    results = [line for line in out.splitlines() if line.startswith("RESULT")]
    assert len(results) == len(CHEAP), err
    for line in results:
        assert line.startswith(("RESULT True 0 []", "RESULT False 2 []")), (line, err)
    assert all(name in out for name in root.AREAS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.csv"]


def test_words_of_a_list_may_hold_commas_and_begin_with_blanks():
    from tacit.privacy.words import join_words, split_words

    assert split_words(r"no, yes,\ a,b\,c,") == ["no", "yes", " a", "b,c"]
    for words in (["no", "b,c"], ["  a", "b  ", "c d", " ", "e, f"]):
        assert split_words(join_words(words)) == words


@pytest.mark.parametrize("area", ["bags", "features", "labels", "models", "scores"])
def test_the_seed_of_an_attack_speaks_of_no_release(area):
    """An attack publishes nothing: its seed says what it draws, and marks nothing as seeded."""
    seed = next(param for param in root.load_area(area).commands["attack"].params if param.name == "seed")
    assert "release" not in seed.help
    protect = next(param for param in root.load_area(area).commands["protect"].params if param.name == "seed")
    assert "release" in protect.help, "control: a release that is seeded says so"


def test_a_query_that_was_interrupted_is_no_error_of_ours(monkeypatch, capsys):
    """DuckDB raises its own error from the one of the signal."""

    def interrupted(_):
        raise RuntimeError("Query interrupted") from KeyboardInterrupt()

    monkeypatch.setattr("tacit.cli.init.check_named", interrupted)
    with pytest.raises(SystemExit) as end:
        root.main(["init", "t.csv", "--label", "y"])
    assert (end.value.code, capsys.readouterr().err) == (130, "interrupted\n")
