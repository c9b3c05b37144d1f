import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.audit.measure import measure
from tacit.cli import main
from tacit.privacy import MissingExtra

pytestmark = pytest.mark.usefixtures("small_forests")

PLAN = """\
[data]
bundled = "iris"

[audit]
epsilons = [1]

[[labels]]
epsilon = 1.0

[[scores]]
epsilon = "none"
policy = "exact"
submissions = 20
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Findings are made once for all tests that let them be made."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def fail_at_scores(monkeypatch):
    """Raise an error instead of measuring scores."""

    def fail(error):
        def stopped(step, **options):
            if step.surface == "scores":
                raise error
            return measure(step, **options)

        monkeypatch.setattr("tacit.audit.run.measure", stopped)

    return fail


@pytest.fixture
def run(tmp_path, kept):
    (tmp_path / "tacit.toml").write_text(PLAN)
    page = tmp_path / "report.html"

    def call(*arguments, cache=kept):
        common = ("--seed", "0", "--out", str(page), "--cache", str(cache))
        with pytest.raises(SystemExit) as end:
            main(["audit", str(tmp_path / "tacit.toml"), *common, *arguments])
        return end.value.code

    call.page = page
    return call


def test_summary_and_page(run, capsys):
    assert run() == 0
    said = capsys.readouterr().out
    assert "Do not hand out scores: log loss as computed" in said
    assert "All 2 releases of Iris, 150 rows: no guarantee" in said
    assert run.page.read_text().startswith("<!doctype html>")


def test_json_alone_on_stdout_and_two_runs_compared(run, capsys, tmp_path):
    assert run("--json") == 0
    told = capsys.readouterr().out
    assert json.loads(told)["faults"] == []
    labels, other = (finding["answer"] for finding in json.loads(told)["findings"])
    assert labels in ("no", "not known yet"), "the rows of Iris are sorted, and the draw is the system's"
    assert other == "no"
    (tmp_path / "old.json").write_text(told)
    assert run("--against", str(tmp_path / "old.json")) == 0
    assert "Compared with the run of" in run.page.read_text()


def test_the_summary_rounds_epsilon_up_and_counts_one_release_as_one(run, tmp_path, capsys):
    (tmp_path / "tacit.toml").write_text(PLAN.replace("epsilon = 1.0", "epsilon = 1.2341"))
    assert run("--surfaces", "labels") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "epsilon 1.24 " in said
    assert "The one release of Iris, 150 rows: epsilon 1.235 for one label." in said


def test_limits(run, capsys):
    assert run("--surfaces", "labels", "--fail-above", "epsilon=1") == 0
    assert capsys.readouterr().err == "", "no bar, nor an empty line for one, where there is no terminal"
    assert run("--surfaces", "labels", "--fail-above", "epsilon=0.5") == 1
    assert "Failed: Iris, 150 rows: the total privacy cost is epsilon 1" in capsys.readouterr().err
    assert "Failed: Iris, 150 rows: the total privacy cost is epsilon 1" in run.page.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--surfaces", "moon"), "surfaces must be some of labels, bags"),
        (("--fail-above", "leak=1"), "fail-above must be odds=NUMBER, advantage=SHARE or epsilon=NUMBER"),
        (("--fail-above", "odds=much"), "fail-above must be odds=NUMBER, advantage=SHARE or epsilon=NUMBER"),
        (("--fail-above", "advantage=2"), "advantage must be a share"),
        (("--against", "none.json"), "--against none.json does not exist; give the JSON of an earlier run"),
        (("--out", "none/report.html"), "none"),
        (("--out", "report.json"), "report.json has the ending of JSON, but HTML is written; call it report.html"),
    ],
)
def test_wrong_input_is_refused_before_anything_runs(run, capsys, arguments, said):
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err
    assert not run.page.exists()


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "Skipped: the rest: the run was interrupted."),
        (MissingExtra("torch is missing"), 3, "Skipped: scores: torch is missing."),
    ],
)
def test_a_partial_run_has_its_page_and_its_code(run, tmp_path, capsys, fail_at_scores, raised, code, said):
    fail_at_scores(raised)
    assert run(cache=tmp_path / "cache") == code
    assert said in capsys.readouterr().err
    assert "labels: " in run.page.read_text()
    assert "epsilon 1" in run.page.read_text()


def test_ctrl_c_leaves_a_usable_page(tmp_path):
    """The signal itself, to a process of its own, in the middle of the second release."""
    (tmp_path / "tacit.toml").write_text(PLAN)
    script = """
import os, signal, sys
from tacit.audit import run
from tacit.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
real = run.measure
def measure(step, **options):
    if step.surface == "scores":
        os.kill(os.getpid(), signal.SIGINT)
    return real(step, **options)
run.measure = measure
main(["audit", "tacit.toml", "--seed", "0", "--cache", "kept", "--out", "page.html", "--json"])
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    told = json.loads(done.stdout)
    assert [finding["surface"] for finding in told["findings"]] == ["labels"]
    assert told["verdict"]["caution"].startswith("Partial: 1 of 2 planned releases were audited")
    page = (tmp_path / "page.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert "Partial: 1 of 2 planned releases were audited" in page


def test_a_refused_release_leaves_the_earlier_page(run, tmp_path, capsys, fail_at_scores):
    run.page.write_text("<title>tacit audit, earlier")
    fail_at_scores(ValueError("too few rows\nand more"))
    assert run(cache=tmp_path / "cache") == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("scores, ")
    assert said.endswith("20 submissions, no guarantee: too few rows")
    assert run.page.read_text() == "<title>tacit audit, earlier"


@pytest.mark.parametrize("name", ["[/x]", "[bold]b[/bold]", "\x1b[31mred\x07", "a" * 300])
def test_a_column_named_like_markup_or_for_the_terminal_is_shown_as_it_is(tmp_path, capsys, monkeypatch, name):
    monkeypatch.setenv("FORCE_COLOR", "1")  # the bar is drawn too
    columns = {name: [row % 2 for row in range(60)], "y": [row % 3 % 2 for row in range(60)]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    written = name.replace("\x1b", "\\u001b").replace("\x07", "\\u0007")
    (tmp_path / "tacit.toml").write_text(
        '[data]\nfile = "t.parquet"\nlabel = "y"\n[audit]\nepsilons = []\n'
        f'[[bags]]\nby = [["{written}"]]\nmin_size = 5\nepsilon = 1\n'
    )
    page = tmp_path / "report.html"
    with pytest.raises(SystemExit) as end:
        main(["audit", str(tmp_path / "tacit.toml"), "--seed", "0", "--fresh", "--out", str(page)])
    said = capsys.readouterr()
    assert end.value.code == 0, said.err
    assert "\x1b[31mred" not in said.out + said.err
    assert name[:4].strip("\x1b") in said.out.replace("\n", "")
    assert page.read_text().count("<html") == 1
