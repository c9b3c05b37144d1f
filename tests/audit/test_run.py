import pytest

from tacit.audit import AuditResult, Finding, run_audit
from tacit.leak import leak_from_guesses
from tacit.privacy import Guarantee, InvalidInput, NoGuarantee, Unit


@pytest.fixture(scope="module")
def result():
    return run_audit(only=["scores"], seed=0)


def test_every_titanic_label_is_recovered(result):
    assert [finding.leak.rate for finding in result.findings] == [1.0, 1.0]
    assert all(finding.leak.baseline == pytest.approx(0.791, abs=1e-3) for finding in result.findings)
    assert all(isinstance(finding.promise, NoGuarantee) for finding in result.findings)


def test_json_round_trip(result):
    assert AuditResult.from_json(result.to_json()) == result


def test_a_seed_repeats_the_run(result):
    def stable(run):
        return [{**finding.to_json(), "seconds": 0} for finding in run.findings]

    assert stable(run_audit(only=["scores"], seed=0)) == stable(result)


def test_unknown_surface_is_refused_before_anything_runs():
    with pytest.raises(InvalidInput, match=r"only must name surfaces among .*, got moon"):
        run_audit(only=["scores", "moon"], progress=lambda text: pytest.fail(f"ran {text}"))


def finding(promise, guesses, truth):
    return Finding(
        surface="labels", data="made up", setting="a release", promise=promise, utility="none", advice="None.",
        leak=leak_from_guesses(guesses, truth, baseline=0.5), command="none", seconds=0.0,
    )  # fmt: skip


def test_a_leak_above_its_promise_is_said():
    truth = [0, 1] * 500
    assert finding(Guarantee(unit=Unit.LABEL, epsilon=1.0), truth, truth).broken
    assert not finding(Guarantee(unit=Unit.LABEL, epsilon=1.0), [0] * 1000, truth).broken
    assert not finding(NoGuarantee(reason="exact"), truth, truth).broken


def test_the_worst_has_the_largest_advantage():
    truth = [0, 1] * 50
    small, large = (finding(NoGuarantee(reason="exact"), guesses, truth) for guesses in ([0] * 100, truth))
    run = AuditResult(findings=(small, large), version="0", date="2026-01-01", seed=None)
    assert run.worst is large
    with pytest.raises(InvalidInput, match="an audit must say its findings"):
        AuditResult.from_json({})


def test_randomized_labels_keep_their_promise_and_their_use():
    findings = run_audit(only=["labels"], seed=0).findings
    assert [finding.promise.epsilon for finding in findings] == [0.5, 1.0, 3.0]
    assert not any(finding.broken for finding in findings)
    advantages = [finding.leak.advantage for finding in findings]
    assert advantages[0] < 0.1 < advantages[2]  # tanh(.25)/2 = .12 is the most at epsilon 0.5
