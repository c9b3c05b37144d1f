"""What the releases of one table leak together: each attack begins with the beliefs after the one before."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.audit import (
    AuditPlan,
    AuditResult,
    JointFinding,
    Permission,
    ReleaseState,
    RunLimits,
    faults,
    judge,
    read_plan,
    run_audit,
)
from tacit.audit.cache import FindingCache
from tacit.audit.groups import changes_by_group
from tacit.audit.source import AuditedTable
from tacit.audit.together import attack_together
from tacit.leak import LabelBeliefs
from tacit.privacy import Guarantee, InvalidInput, NoGuarantee, Unit
from tacit.report import render_page

CLASSES = ("no", "yes")


def people(rows, share=0.3):
    """A table whose label hardly depends on its features."""
    rng = np.random.default_rng(0)
    ill = rng.random(rows) < share
    table = pa.table({"age": rng.integers(20, 90, rows), "ward": rng.choice(["a", "b", "c"], rows)})
    table = table.append_column("ill", pa.array(np.where(ill, "yes", "no")))
    return AuditedTable(name=f"people, {rows} rows", table=table, label="ill", features=("age", "ward"))


@pytest.fixture(scope="module")
def run(step_of):
    """Two releases that are below the limit by themselves; the second one lists its classes in another order."""
    source = people(20_000)
    steps = (
        step_of(source, "labels", epsilon=1.6),
        step_of(source, "labels", epsilon=1.6, classes=["yes", "no"]),
    )
    return run_audit(AuditPlan(steps=steps, epsilons=()), seed=0)


@pytest.fixture
def together(step_of):
    def make(source, *releases):
        steps = [step_of(source, surface, **keys) for surface, keys in releases]
        return attack_together(steps, delta=1e-6, seed=0, tell=lambda _: None)

    return make


class TestTwoReleases:
    def test_each_is_below_the_limit_and_both_are_above_it(self, run):
        assert [finding.state for finding in run.findings] == [ReleaseState.BELOW] * 2
        (joint,) = run.together
        assert (joint.state, joint.alone) == (ReleaseState.ABOVE, ReleaseState.BELOW)
        worst = joint.leak.changes[0]
        assert worst.odds_interval.low < np.exp(3.2) < worst.odds_interval.high, "what two draws at epsilon 1.6 say"
        assert joint.guarantee.epsilon == pytest.approx(3.2)

    def test_the_verdict_the_gate_and_the_page_name_them(self, run):
        (joint,) = run.together
        assert judge(run).headline == "Do not hand out all 2 releases of people, 20000 rows together."
        (fault,) = faults(run, RunLimits(odds=10))
        assert fault.startswith("all 2 releases of people, 20000 rows together: suspicion of ill = ")
        page = render_page(run)
        assert '<div class="verdict no">' in page
        assert joint.reason in page
        assert faults(run, RunLimits(odds=100)) == (), "control: another limit"

    def test_json_and_the_cache_keep_it(self, run, step_of, tmp_path, monkeypatch):
        assert AuditResult.from_json(json.loads(json.dumps(run.to_json()))) == run
        steps = tuple(step_of(people(300), "labels", epsilon=epsilon) for epsilon in (0.5, 0.6))
        plan, cache = AuditPlan(steps=steps, epsilons=()), FindingCache(tmp_path / "cache")
        first = run_audit(plan, seed=0, cache=cache)
        monkeypatch.setattr("tacit.audit.run.attack_together", lambda *_, **__: pytest.fail("made again"))
        assert run_audit(plan, seed=0, cache=cache).together == first.together

    def test_a_release_that_is_refused_by_itself_hides_nothing_of_the_others(self, step_of):
        source = people(2_000)
        plans = [step_of(source, "labels", epsilon=epsilon) for epsilon in (9.0, 0.4, 0.5)]
        everything, others = run_audit(AuditPlan(steps=tuple(plans), epsilons=()), seed=0).together
        assert (everything.answer, len(everything.releases)) == (Permission.NO, 3)
        assert (others.answer, len(others.releases)) == (Permission.YES, 2)
        assert others.left_out == ((plans[0].name, "it must not be handed out by itself"),)
        assert others.name == "the other 2 releases of people, 2000 rows together"


class TestSurfaces:
    def test_labels_bags_and_scores_are_one_attack(self, together):
        keys = {"epsilon": 1.0}
        joint = together(
            people(3_000),
            ("labels", keys),
            ("bags", {**keys, "by": [["ward"]]}),
            ("scores", {**keys, "submissions": 5}),
        )
        assert [name.partition(":")[0] for name in joint.releases] == ["labels", "bags", "scores"]
        assert joint.left_out == ()
        assert joint.guarantee.epsilon == pytest.approx(3.0)
        assert max(change.odds_interval.low for change in joint.leak.changes) < np.e, "bags and scores say little"

    def test_what_bags_determine_is_determined_together(self, together):
        exact = {"epsilon": None, "by": [["age", "ward"]], "min_size": 1}
        joint = together(people(120), ("labels", {"epsilon": 0.1}), ("bags", exact))
        assert joint.certain > 0
        assert joint.state is ReleaseState.DETERMINED
        assert isinstance(joint.guarantee, NoGuarantee)

    def test_other_rows_and_orders_are_left_out_and_said(self, together):
        encoded = {"epsilon": 1.0, "delta": 1e-5, "features": ["age"], "ranges": {"age": [0, 100]}}
        joint = together(
            people(300),
            ("labels", {"epsilon": 1.0}),
            ("labels", {"epsilon": 1.0, "shuffle": True, "features": "age"}),
            ("labels", {"epsilon": 1.0, "classes": ["no", "yes", "maybe"]}),
            ("bags", {"epsilon": 1.0, "by": [["ward"]]}),
            ("features", encoded),
            ("models", {**encoded, "mechanism": "dp_sgd:epochs=1"}),
        )
        assert len(joint.releases) == 2
        assert [why for _, why in joint.left_out] == [
            "its rows are in random order",
            "its list of classes is not that of the table",
            "its attack names whose row it is, and no label",
            "its attack tells which rows it was trained on, so half of the rows are not",
        ]

    def test_one_release_is_no_more_than_itself(self, together):
        assert together(people(300), ("labels", {"epsilon": 1.0})) is None


def test_an_attacker_may_ignore_all_but_the_worst_release(finding):
    quiet = finding(Guarantee(unit=Unit.LABEL, epsilon=1.0), [0, 1] * 400, [1, 1, 0, 0] * 200)
    joint = JointFinding(
        data="x", column="ill", subject="ill", rows=800, guarantee=quiet.guarantee, leak=quiet.leak, releases=("a", "b")
    )
    assert joint.answer is Permission.YES
    checked = replace(joint, alone=ReleaseState.GUARANTEED, reason_alone="By guarantee: epsilon 1 for one label.")
    assert (checked.state, checked.reason) == (joint.measured, joint.reason), "one yes is no reason for another"
    worse = replace(joint, alone=ReleaseState.DETERMINED, reason_alone="2 labels are determined for certain.")
    assert (worse.answer, worse.reason) == (Permission.NO, "2 labels are determined for certain.")


class TestGroups:
    @pytest.fixture
    def leak(self):
        """Labels of one region are released as they are, those of the others not at all."""
        rng = np.random.default_rng(0)
        codes, region = rng.integers(0, 2, 3_000), rng.choice(["east", "north", "west"], 3_000)
        sure = np.where(codes[:, None] == np.arange(2), 0.999, 0.001)
        beliefs = np.where((region == "north")[:, None], sure, 0.5)
        exact = LabelBeliefs(beliefs=beliefs, prior=np.array([[0.5, 0.5]]), guarantee=NoGuarantee(reason="exact"))
        rows = pa.table({"ill": np.array(CLASSES)[codes], "region": region})
        return replace(exact, classes=CLASSES).leak(codes), rows

    def test_the_group_that_leaks_comes_first_with_its_name(self, leak):
        worst, *others = changes_by_group(*leak, label="ill", groups="region", classes=CLASSES)
        assert worst.name in ("no, region north", "yes, region north")
        assert worst.odds_interval.low > 10
        assert len(others) == 2
        assert all(change.odds == 1.0 for change in others)

    def test_a_group_above_the_limit_is_above_it(self, leak, finding):
        found = finding(NoGuarantee(reason="exact"), [0, 1, 1, 1] * 250, [0, 1] * 500)
        groups = changes_by_group(*leak, label="ill", groups="region", classes=CLASSES)
        assert found.answer is Permission.YES
        grouped = replace(found, groups=groups)
        assert (grouped.state, grouped.answer) == (ReleaseState.ABOVE, Permission.NO)
        assert ", region north goes from " in grouped.reason
        assert ", region north" in render_page(AuditResult(findings=(grouped,), version="0", date="2026-01-01", seed=0))

    def test_beliefs_of_other_rows_have_no_groups(self, leak):
        measured, rows = leak
        assert changes_by_group(measured, rows.slice(1), label="ill", groups="region", classes=CLASSES) == ()
        bare = replace(measured, before=None)
        assert changes_by_group(bare, rows, label="ill", groups="region", classes=CLASSES) == ()

    def test_the_column_is_a_key_of_the_plan(self, tmp_path):
        pa.csv.write_csv(people(300).table, tmp_path / "people.csv")
        plan = tmp_path / "tacit.toml"
        data = '[data]\nfile = "people.csv"\nlabel = "ill"\ngroups = "{}"\n'
        text = f"{data}[audit]\nepsilons = []\n[[labels]]\nepsilon = 1\n"
        plan.write_text(text.format("ward"))
        (found,) = run_audit(read_plan(plan), seed=0).findings
        assert {change.name.rpartition(", ")[2] for change in found.groups} == {"ward a", "ward b", "ward c"}
        for groups, said in (("ill", "must not name the label"), ("war", "'war'"), ("nobody", "nobody")):
            plan.write_text(text.format(groups))
            with pytest.raises(InvalidInput, match=rf"tacit\.toml, line [34], data\.(label|groups): .*{said}"):
                read_plan(plan)
