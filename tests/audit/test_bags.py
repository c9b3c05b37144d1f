"""The audit of the bags surface: what it finds on the bundled data, and that noise takes it away."""

import pytest

from tacit.audit import run_audit
from tacit.privacy import Guarantee, NoGuarantee


@pytest.fixture(scope="module")
def findings():
    return run_audit(only=["bags"], seed=0).findings


def test_exact_totals_fix_labels(findings):
    exact, random, _ = findings
    assert "fix 30 of 2,201 labels for certain" in exact.advice
    assert random.leak.advantage_interval.low > 0.1
    assert all(isinstance(finding.promise, NoGuarantee) for finding in (exact, random))


def test_noise_takes_that_away_and_leaves_the_use(findings):
    noised = findings[2]
    assert isinstance(noised.promise, Guarantee)
    assert "fix 0 of 2,201 labels" in noised.advice
    assert noised.leak.advantage < 0.05
    assert "7" in noised.utility.split("is ")[1][:2]


def test_the_rival_has_the_features(findings):
    assert all(finding.leak.baseline == pytest.approx(0.78, abs=0.02) for finding in findings)


def test_it_is_quick_and_can_be_repeated(findings):
    assert sum(finding.seconds for finding in findings) < 60
    again = run_audit(only=["bags"], seed=0).findings
    assert [finding.leak for finding in again] == [finding.leak for finding in findings]
    assert all("tacit bags protect titanic.csv" in finding.command for finding in findings)
