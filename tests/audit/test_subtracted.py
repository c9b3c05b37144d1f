"""Exact totals of several releases of one table: what they determine together, and what they do not."""

import numpy as np
import pyarrow as pa
import pytest

from tacit import bags
from tacit.audit import AuditPlan, Permission, ReleaseState, run_audit
from tacit.audit.source import AuditedTable
from tacit.audit.subtracted import determined_together

ROWS = 1000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    table = pa.table({"x": (np.arange(ROWS) + 0.5) / ROWS, "ill": np.where(rng.random(ROWS) < 0.4, "yes", "no")})
    return AuditedTable(name="people", table=table, label="ill", features=("x",))


def edges(shift):
    """Twenty bags of about 50 rows."""
    return [round(float(edge) + shift, 4) for edge in np.arange(0.05, 0.99, 0.05)]


def joint_of(people, step_of, *shifts):
    steps = tuple(
        step_of(people, "bags", epsilon=None, by=[["x"]], edges={"x": edges(shift)}, min_size=10) for shift in shifts
    )
    result = run_audit(AuditPlan(steps=steps, epsilons=()), seed=0)
    assert all(finding.certain == 0 for finding in result.findings), "neither determines a label alone"
    (joint,) = [one for one in result.together if len(one.releases) == len(steps)]
    return joint


def test_labels_between_the_bags_of_two_releases_are_determined(people, step_of):
    """Bags that end one row apart: their difference is the label of that row."""
    joint = joint_of(people, step_of, 0.0, 0.001)
    assert joint.certain >= 10
    assert (joint.answer, joint.measured) == (Permission.NO, ReleaseState.DETERMINED)
    assert f"{joint.certain} labels are determined for certain by the exact totals of 2 releases together." in (
        joint.reason,
        joint.reason_alone,
    )


def test_control_bags_that_end_twenty_rows_apart_determine_none(people, step_of):
    joint = joint_of(people, step_of, 0.0, 0.02)
    assert joint.certain == 0
    assert joint.doubt == "", "known not to be determined, not merely unknown"
    assert joint.measured is not ReleaseState.DETERMINED


def exact(table, **keys):
    return bags.protect(table, bags.Plan(label="ill", epsilon=None, min_size=1, **keys))


def test_every_determined_label_is_the_true_one_and_none_is_missed():
    """Six rows, whose labels are enumerated."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        table = pa.table(
            {"a": rng.integers(0, 2, 6), "b": rng.integers(0, 3, 6), "ill": np.where(rng.random(6) < 0.5, "yes", "no")}
        )
        if len(set(table["ill"].to_pylist())) < 2:
            continue
        releases = [exact(table, by=["a"]), exact(table, by=["b"])]
        found = determined_together(releases, table)
        truth = (np.asarray(table["ill"]) == "yes").astype(int)
        labels = (np.arange(64)[:, None] >> np.arange(6)) % 2
        cells = [np.asarray(table[name])[:, None] == np.arange(3) for name in ("a", "b")]
        same = np.all([(labels @ cell == truth @ cell).all(axis=1) for cell in cells], axis=0)
        fixed = (labels[same] == truth).all(axis=0)
        assert same.any()
        assert (found.known == fixed).all()
        assert (found.labels[fixed] == truth[fixed]).all()


def test_releases_of_other_rows_are_no_system():
    table = pa.table({"a": [0, 1] * 10, "who": [row // 2 for row in range(20)], "ill": ["no", "yes", "yes", "no"] * 5})
    some = exact(table, by=["a"], person="who", rows_per_person=1)
    assert determined_together([exact(table, by=["a"]), some], table) is None
