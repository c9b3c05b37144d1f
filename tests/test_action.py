"""The GitHub Action: its scripts are run as a runner would, in a folder of their own."""

import json
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
import yaml

from tacit.audit import AuditResult

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/audit.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
SCRIPTS = {name: step["run"] for name, step in STEPS.items() if "run" in step}
HOSTILE = "$(touch pwned) `touch pwned`; touch pwned; ' \" && touch pwned #"

PLAN = """\
[data]
bundled = "iris"

[audit]
epsilons = []

[[labels]]
epsilon = 1.0
"""


class Runner:
    """Runs a step's script with the environment and the files that a runner gives it."""

    def __init__(self, home):
        self.workspace, self.temp = home / "workspace", home / "temp"
        self.summary, self.output = home / "summary.md", home / "output.txt"
        for folder in (self.workspace, self.temp):
            folder.mkdir()
        (self.workspace / "tacit.toml").write_text(PLAN)
        self.report, self.environment = self.temp / "tacit-report", self.temp / "tacit-audit"

    def run(self, name, *, said=None, **inputs):
        """Run a step; ``said`` is what another step said, where an input is that."""
        step = STEPS[name]
        environment = {
            **os.environ,
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_ACTION_PATH": str(ROOT),
            "RUNNER_TEMP": str(self.temp),
            **{key: self._value(expression, said, inputs) for key, expression in step["env"].items()},
        }
        # what `shell: bash` is to a runner
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        return subprocess.run(command, cwd=self.workspace, env=environment, capture_output=True, text=True)

    @staticmethod
    def _value(expression, said, inputs):
        name = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", expression)
        return str(said if name is None else inputs.get(name[1], ACTION["inputs"][name[1]]["default"]))

    def write_program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """With the real tacit."""
    made = Runner(tmp_path_factory.mktemp("runner"))
    made.environment.symlink_to(sys.prefix, target_is_directory=True)
    return made


@pytest.fixture
def mute(tmp_path):
    """With a tacit that writes down how it is called, complains and finds nothing."""
    made = Runner(tmp_path)
    made.called = tmp_path / "called"
    made.write_program(made.environment / "bin/python", f'exec "{sys.executable}" "$@"')
    made.write_program(
        made.environment / "bin/tacit", f'printf "%s\\0" "$@" > "{made.called}"\necho "::error::no rows" >&2\nexit 2'
    )
    return made


@pytest.fixture(scope="module")
def passed(runner):
    """The repository's own workflow: below its limits."""
    use = WORKFLOW["jobs"]["audit"]["steps"][1]["with"]
    result = runner.run("Audit", **{**use, "plan": ROOT / use["plan"]})
    numbers = (runner.report / "audit.json").read_text()
    (runner.workspace / "old.json").write_text(numbers)
    return {
        "result": result,
        "numbers": json.loads(numbers),
        "page": (runner.report / "report.html").read_text(),
        "summary": runner.summary.read_text(),
        "output": runner.output.read_text(),
    }


def test_below_its_limits_the_audit_passes_and_leaves_summary_page_and_numbers(passed, runner):
    assert passed["result"].returncode == 0, passed["result"].stdout
    surfaces = [finding.surface for finding in AuditResult.from_json(passed["numbers"]).findings]
    assert surfaces == ["labels", "bags", "scores"]
    assert "| labels | randomized response, epsilon 1 |" in passed["summary"]
    assert "Failed" not in passed["summary"]
    assert "the artifact tacit-audit of this run" in passed["summary"]
    assert passed["page"].startswith("<!doctype html>")
    assert passed["output"] == f"status=0\nfolder={runner.report}\n"


def test_over_a_limit_it_fails_and_still_leaves_everything(passed, runner):
    inputs = {"plan": "tacit.toml", "fail-above": "odds=10\nepsilon=0.5\n", "against": "old.json", "surfaces": "labels"}
    result = runner.run("Audit", seed="0", artifact="", **inputs)
    assert result.returncode == 1
    by_order, fault = json.loads((runner.report / "audit.json").read_text())["faults"]
    assert by_order in result.stdout, "the rows of Iris are sorted"
    assert fault in result.stdout
    summary = runner.summary.read_text().removeprefix(passed["summary"])
    assert f"- **Failed:** {fault}." in summary
    assert "artifact" not in summary
    page = unescape((runner.report / "report.html").read_text())
    assert passed["numbers"]["findings"][1]["setting"] in page, "a release that only the earlier run has"
    assert "status=1\n" in runner.output.read_text()


def test_an_audit_that_did_not_run_says_why_in_the_summary_and_nothing_is_kept(mute):
    assert mute.run("Audit").returncode == 2
    assert mute.summary.read_text() == "### The audit did not run\n\n    ::error::no rows\n"
    assert list(mute.report.iterdir()) == []
    assert mute.output.read_text().startswith("status=2\n")


def test_a_complaint_is_no_markup_in_the_summary(mute):
    mute.write_program(mute.environment / "bin/tacit", "printf 'no file a\\r# b\\n<img src=x>\\n' >&2; exit 2")
    assert mute.run("Audit").returncode == 2
    said = mute.summary.read_bytes().decode().removeprefix("### The audit did not run\n\n")
    assert [line.strip() for line in re.split(r"[\r\n]", said)] == ["no file a", "# b", "<img src=x>", ""]
    assert all(line.startswith("    ") for line in re.split(r"[\r\n]", said) if line), "each is a line of code"


@pytest.mark.parametrize(
    ("inputs", "arguments"),
    [
        ({}, []),
        ({"plan": "a b.toml", "surfaces": "labels,bags"}, ["--surfaces=labels,bags", "--", "a b.toml"]),
        ({"fail-above": " odds=10  epsilon=3\n"}, ["--fail-above=odds=10", "--fail-above=epsilon=3"]),
        ({"fail-above": "*"}, ["--fail-above=*"]),
        ({"plan": "--help"}, ["--", "--help"]),
        ({"seed": "1", "against": "old.json"}, ["--against=old.json", "--seed=1"]),
        ({"plan": HOSTILE, "surfaces": HOSTILE}, [f"--surfaces={HOSTILE}", "--", HOSTILE]),
        ({"seed": HOSTILE, "against": HOSTILE}, [f"--against={HOSTILE}", f"--seed={HOSTILE}"]),
        ({"fail-above": HOSTILE}, [f"--fail-above={word}" for word in HOSTILE.split()]),
    ],
)
def test_inputs_reach_the_command_as_they_are_and_are_never_run(mute, inputs, arguments):
    assert mute.run("Audit", **inputs).returncode == 2
    common = ["audit", "--json", "--fresh", f"--out={mute.report}/report.html"]
    assert mute.called.read_text().split("\0")[:-1] == [*common, *arguments]
    assert not list(mute.workspace.rglob("*pwned*"))


def test_what_the_audit_says_is_no_command_to_the_runner(mute):
    start, said, end = mute.run("Audit").stdout.splitlines()
    assert said == "::error::no rows"
    token = start.removeprefix("::stop-commands::")
    assert re.fullmatch(r"[0-9a-f]{64}", token)
    assert end == f"::{token}::"
    assert token not in mute.run("Audit").stdout, "another one each time"


@pytest.mark.parametrize(("extras", "wanted"), [("", ""), ("torch", "[torch]"), (HOSTILE, f"[{HOSTILE}]")])
def test_installation_is_apart_and_its_extras_are_no_shell(tmp_path, extras, wanted):
    """With a Python that writes down how it is called; the real installation takes minutes."""
    runner, calls = Runner(tmp_path), tmp_path / "calls"
    write = f'printf "%s\\0" "$@" >> "{calls}"'
    runner.write_program(tmp_path / "python", f'{write}\nmkdir -p "$3/bin" && cp "$0" "$3/bin/python"')
    assert runner.run("Install tacit", said=tmp_path / "python", extras=extras).returncode == 0
    venv, pip = calls.read_text().split("-m\0")[1:]
    assert venv == f"venv\0{runner.environment}\0"
    assert pip.split("\0")[-4:-1] == ["-c", f"{ROOT}/constraints.txt", f"{ROOT}{wanted}"]
    assert not list(runner.workspace.rglob("*pwned*"))


def test_no_script_holds_an_expression():
    """GitHub pastes the value of an expression into the script before bash reads it."""
    scripts = [*SCRIPTS.values(), *(step.get("run", "") for job in WORKFLOW["jobs"].values() for step in job["steps"])]
    assert len(SCRIPTS) == 2, "control: the scripts were found"
    assert not [script for script in scripts if "${{" in script]


def test_actions_of_others_are_pinned():
    """A tag can be moved to other code, a commit cannot."""
    steps = [*STEPS.values(), *WORKFLOW["jobs"]["audit"]["steps"]]
    used = [step["uses"] for step in steps if not step.get("uses", "./").startswith("./")]
    assert len(used) == 3, "control: they were found"
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name) for name in used)


def test_every_input_is_used_and_every_used_input_exists():
    assert set(re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"]))) == set(ACTION["inputs"])


def test_the_page_is_kept_when_the_audit_fails():
    keep = ACTION["runs"]["steps"][-1]
    assert keep["if"].startswith("always()")
    assert keep["with"]["path"] == "${{ runner.temp }}/tacit-report"


def test_the_workflow_has_no_rights_and_runs_this_repositorys_action():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert list(WORKFLOW[True]) == ["pull_request"], "YAML 1.1 reads on: as true"
    assert "secrets" not in (ROOT / ".github/workflows/audit.yml").read_text(encoding="utf-8")
    checkout, use = WORKFLOW["jobs"]["audit"]["steps"]
    assert checkout["with"]["persist-credentials"] is False
    assert use["uses"] == "./"
    assert set(use["with"]) <= set(ACTION["inputs"])
