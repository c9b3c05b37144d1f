"""A label of 12 people among 3,000: what accuracy cannot see, the answer, the page and the gate do."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.audit import AuditPlan, ReleaseState, RunLimits, faults, run_audit
from tacit.audit.source import AuditedTable
from tacit.cli import main
from tacit.leak import OddsChange
from tacit.privacy import Guarantee, Unit


def people(rows, ill):
    """A table in which so many people are ill, whatever their age."""
    rng = np.random.default_rng(0)
    sick = rng.permutation(rows) < ill
    return pa.table({"age": rng.integers(20, 90, rows), "ill": np.where(sick, "yes", "no")})


@pytest.fixture
def audit(step_of):
    def make(rows, ill, epsilon):
        source = AuditedTable(name=f"people, {rows} rows", table=people(rows, ill), label="ill", features=("age",))
        return run_audit(AuditPlan(steps=(step_of(source, "labels", epsilon=epsilon),), epsilons=()), seed=0)

    return make


@pytest.mark.parametrize("epsilon", [5, 8])
def test_named_ill_people_are_a_no_and_the_gate_fails(tmp_path, capsys, epsilon):
    pyarrow.csv.write_csv(people(3000, 12), tmp_path / "people.csv")
    plan, page = tmp_path / "tacit.toml", tmp_path / "report.html"
    plan.write_text(
        f'[data]\nfile = "people.csv"\nlabel = "ill"\n[audit]\nepsilons = []\n'
        f'[limits]\nepsilon = 20\nperiod = "2027"\n[[labels]]\nepsilon = {epsilon}\n'
    )
    with pytest.raises(SystemExit) as end:
        main(["audit", str(plan), "--seed", "0", "--fresh", "--json", "--fail-above", "odds=10", "--out", str(page)])
    assert end.value.code == 1
    said = capsys.readouterr().out
    assert "Infinity" not in said, "JSON has no such number"
    told = json.loads(said)
    (found,), (fault,) = told["findings"], told["faults"]
    assert (found["answer"], found["limit"]) == ("no", 10)
    assert found["reason"].startswith("Suspicion of ill = yes goes from 0.4% to ")
    assert found["reason"].removesuffix(".")[1:] in fault
    assert told["verdict"]["headline"] == f"Do not hand out labels: {found['setting']}."
    assert found["leak"]["advantage"] < 0.005, "control: points of accuracy see nothing"
    worst = found["changes"][0]
    assert (worst["class"], worst["share"]) == ("yes", 0.004)
    assert worst["odds_interval"]["low"] > 10
    assert worst["suspicion"] > 0.2
    disclosure = found["disclosure"]
    assert (disclosure["epsilon"], disclosure["budget"], disclosure["budget_period"]) == (epsilon, 20, "2027")
    assert found["reason"] in page.read_text()


def test_a_strong_guarantee_of_many_rows_is_shown_to_be_below(audit):
    run = audit(100_000, 20_000, 0.5)
    assert run.findings[0].state is ReleaseState.BELOW
    assert faults(run, RunLimits(odds=10)) == ()


@pytest.mark.parametrize(("epsilon", "state"), [(0.5, ReleaseState.GUARANTEED), (2.5, ReleaseState.UNKNOWN)])
def test_too_few_rows_pass_by_guarantee_alone(audit, epsilon, state):
    run = audit(300, 4, epsilon)
    assert run.findings[0].state is state
    assert bool(faults(run, RunLimits(odds=10))) == (state is ReleaseState.UNKNOWN)


def test_the_utility_of_a_rare_label_is_how_well_it_is_ranked(step_of):
    """Always guessing no is right for 96% of the rows, and tells nobody who is ill."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, 6_000)
    ill = rng.random(6_000) < 1 / (1 + np.exp(6.5 - age / 18))
    noise = {f"noise {i}": rng.normal(size=6_000) for i in range(5)}
    table = pa.table({"age": age, **noise, "ill": np.where(ill, "yes", "no")})
    source = AuditedTable(name="people", table=table, label="ill", features=("age", *noise))
    plan = AuditPlan(steps=tuple(step_of(source, "labels", epsilon=epsilon) for epsilon in (3, 0.01)), epsilons=())
    told, drowned = (found.utility for found in run_audit(plan, seed=0).findings)
    assert told.measure.startswith("AUC of ill = yes on withheld rows")
    assert told.blind == 0.5
    assert told.protected > 0.75
    assert told.protected <= told.unprotected
    assert not told.worthless
    assert not told.unproved
    assert drowned.protected < told.protected


@pytest.mark.parametrize(("found", "state"), [(18, ReleaseState.UNKNOWN), (10, ReleaseState.GUARANTEED)])
def test_no_yes_by_a_guarantee_that_the_measured_change_exceeds(finding, found, state):
    """Rows that resemble each other reveal labels, which no guarantee for one label limits."""
    guarantee = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    change = OddsChange.from_counts("yes", found=found, rows=20, mistaken=60, others=600, share=0.03, level=0.95)
    leak = replace(finding(guarantee, [1, 0], [1, 0]).leak, changes=(change,))
    made = finding(guarantee, [1, 0], [1, 0], leak=leak)
    assert made.state is state
    assert made.beyond_guarantee == ("rows that resemble each other reveal more" in made.reason)
    assert made.beyond_guarantee == (state is ReleaseState.UNKNOWN)


def test_a_rare_label_that_nobody_can_learn_is_told_apart_from_utility(audit):
    utility = audit(2_000, 12, 1.0).findings[0].utility
    assert utility.protected == utility.blind > 0.99
    assert utility.unproved
