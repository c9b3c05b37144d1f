"""The commands of a finding: each succeeds, makes the plan that was measured, and gives the page's numbers again."""

import contextlib
import io
import json
from dataclasses import replace
from importlib.util import find_spec
from shlex import split

import pyarrow.csv
import pytest

from tacit.audit import SURFACES, read_plan, run_audit
from tacit.audit.commands import commands_of
from tacit.cli import main
from tests.hospital import hospital_table

RAN = [name for name in SURFACES if name != "models" or find_spec("opacus")]


def call(command):
    """Run a command that must succeed, and return its JSON."""
    said, failed = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as end, contextlib.redirect_stdout(said), contextlib.redirect_stderr(failed):
        main([*split(command)[1:], "--json"])
    assert end.value.code == 0, (command, failed.getvalue())
    return json.loads(said.getvalue())


@pytest.fixture(scope="module", params=["severity", "ill", "cost"])
def audited(request, tmp_path_factory, small_forests):
    """The audit of the plan that init writes for a mixed table, and what its commands say."""
    folder = tmp_path_factory.mktemp(request.param)
    with contextlib.chdir(folder):
        pyarrow.csv.write_csv(hospital_table(700), "visits.csv")
        call(f"tacit init visits.csv --label {request.param}")
        plan = replace(read_plan("tacit.toml"), epsilons=()).only(RAN)
        result = run_audit(plan, seed=5)
        assert not result.skipped
        yield plan, result, [dict(said_by(finding)) for finding in result.findings]


def said_by(finding):
    for command in finding.commands:
        words = split(command)
        name = words[1] if words[1] == "split" else "bound" if "--level" in words else words[2]
        yield name, call(command)


def test_every_release_has_its_commands(audited):
    plan, result, said = audited
    for step, made in zip(plan.steps, said, strict=True):
        trial = step.plan.trial()
        wanted = {"split", "protect", "attack"} | ({"learn"} if trial.learn else set())
        assert set(made) == wanted | ({"bound"} if trial.bound else set()), step.surface
    assert len(result.findings) == len(RAN)


def test_the_release_has_the_plan_that_was_measured(audited):
    plan, result, said = audited
    for step, finding, made in zip(plan.steps, result.findings, said, strict=True):
        assert made["protect"]["plan"] == step.plan.to_json()
        assert made["protect"]["guarantee"] == finding.guarantee.to_json()


def test_the_numbers_of_the_page_are_given_again(audited):
    _, result, said = audited
    for finding, made in zip(result.findings, said, strict=True):
        leak = finding.leak.to_json()
        for name in ("right", "trials", "baseline", "advantage", "interval", "advantage_interval"):
            assert made["attack"][name] == leak[name], (finding.surface, name)
        assert made.get("bound", made["attack"])["epsilon_lower_bound"] == leak["epsilon_lower_bound"], finding.surface
        if "learn" in made:
            assert learned(made["learn"], finding) == pytest.approx(finding.utility.protected), finding.surface


def learned(said, finding):
    """The accuracy of a model, its AUC of a rare class, or the share of the variance that it explains."""
    found = said["performance"]
    name = "auc" if finding.utility.measure.startswith("AUC") else "accuracy"
    return found["r2" if "r2" in found else name]["value"]


def test_a_plan_that_differs_in_one_field_is_told_apart(audited):
    """Control: the commands of another epsilon make another release, with other numbers."""
    plan, result, said = audited
    other = plan.steps[0].at(4.0)
    made = [call(command) for command in commands_of(other, seed=5)]
    assert made[1]["plan"] != plan.steps[0].plan.to_json()
    assert made[1]["plan"] == other.plan.to_json()
    measured = result.findings[0]
    assert (made[-1]["epsilon_lower_bound"], made[2]) != (
        measured.leak.to_json()["epsilon_lower_bound"],
        said[0]["learn"],
    )


def test_a_file_whose_name_begins_like_an_option_is_a_path(audited):
    step = audited[0].steps[0]
    dashed = replace(step, source=replace(step.source, file="-visits.csv"))
    assert commands_of(dashed, seed=0)[0].startswith("tacit split ./-visits.csv ")


def test_without_a_seed_the_commands_draw_anew(audited):
    plan, _, _ = audited
    commands = commands_of(plan.steps[0], seed=None)
    assert "--seed 0" in commands[0], "the same rows"
    assert not any("--seed" in command for command in commands[1:])
