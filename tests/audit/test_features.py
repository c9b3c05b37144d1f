"""The audit of the features surface: what rows give away as they are, and what noise leaves of that."""

import pytest

from tacit.audit import AuditResult, run_audit
from tacit.privacy import Guarantee, NoGuarantee


@pytest.fixture(scope="module")
def result():
    return run_audit(only=["features"], seed=0)


@pytest.fixture(scope="module")
def findings(result):
    return result.findings


def test_rows_and_the_printed_selection_leak_all(findings):
    clear, printed = findings[:2]
    assert all(isinstance(finding.promise, NoGuarantee) for finding in (clear, printed))
    assert clear.leak.rate > 0.99
    assert clear.leak.epsilon_lower_bound > 10
    assert printed.leak.advantage == 1.0


def test_noised_rows_keep_their_promise_over_a_curve_of_epsilon(findings):
    links, members = findings[2:8:2], findings[3:8:2]
    assert [finding.promise.epsilon for finding in links] == [1.0, 4.0, 16.0]
    assert all(isinstance(finding.promise, Guarantee) and not finding.broken for finding in findings[2:])
    assert all(finding.leak.rate < 0.01 for finding in links)
    bounds = [finding.leak.epsilon_lower_bound for finding in members]
    assert bounds[0] <= bounds[1] < bounds[2]
    assert all(
        f.leak.epsilon_lower_bound <= f.promise.epsilon < p.promise.epsilon for f, p in zip(members, links, strict=True)
    )


def test_totals_keep_the_use_at_a_small_epsilon(findings):
    totals = findings[-1]
    assert totals.promise.epsilon < 1
    accuracy = float(totals.utility.split("is ")[1].split("%")[0])
    assert accuracy > 60  # noised rows give that at epsilon 16 alone
    assert "release class totals" in totals.advice


def test_it_is_quick_and_can_be_repeated_and_read_back(result, findings):
    assert sum(finding.seconds for finding in findings) < 60
    again = run_audit(only=["features"], seed=0).findings
    assert [finding.leak for finding in again] == [finding.leak for finding in findings]
    assert AuditResult.from_json(result.to_json()) == result
