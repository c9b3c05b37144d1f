"""The forecast: a plan where there is one, an expectation where there is noise, and honesty where there is neither."""

import numpy as np
import pytest

from tacit.scores.attacks import attack_competition
from tacit.scores.metrics import F1, Accuracy, Auc, LogLoss, Mae
from tacit.scores.policies import Exact, Ladder, Laplace, Rounded, Thresholdout
from tacit.server.forecast import forecast
from tests.server.rules import rules_of


def forecast_of(rules, **known):
    return forecast(rules, rules.plan.metric, **known)


@pytest.mark.parametrize(
    ("metric", "policy"),
    [(LogLoss(), Exact()), (LogLoss(), Rounded(decimals=5)), (Accuracy(), Exact()), (Auc(), Rounded(decimals=6))],
)
def test_the_plan_is_kept_by_the_attack(metric, policy):
    rng = np.random.default_rng(0)
    rows, rules = 200, rules_of(metric=metric, policy=policy, submissions=1000, per_day=7, public_fraction=1.0)
    truth = rng.integers(0, 2, rows)
    told = forecast_of(rules, rows=rows)
    assert told.days == -(-told.submissions // 7)

    def submit(predictions):
        return policy.release(metric.measure(truth, predictions), state={}, rng=rng).text

    found = attack_competition(submit, metric, policy, prior=np.full((rows, 2), 0.5), submissions=1000, rng=rng)
    np.testing.assert_array_equal(found.labels, truth)
    if not told.sentence.startswith("About"):
        assert found.submissions == told.submissions


@pytest.mark.parametrize("known", [0.5, 0.8])
def test_labels_that_the_features_tell_count_where_scores_tell_them_one_by_one(known):
    rules = rules_of(metric=Accuracy(), policy=Exact(), submissions=100, per_day=7, public_fraction=1.0)
    told = forecast_of(rules, rows=2201, known=known)
    assert told.attack == "one by one"
    assert told.share_within_budget == pytest.approx(known + (1 - known) * 100 / told.submissions)


def test_less_epsilon_takes_more_submissions():
    told = [
        forecast_of(rules_of(metric=Accuracy(), policy=Laplace(epsilon=epsilon), public_fraction=1.0), rows=500)
        for epsilon in (10.0, 1.0, 0.1)
    ]
    counts = [one.submissions for one in told]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    shares = [one.share_within_budget for one in told]
    assert shares == sorted(shares, reverse=True)
    assert all(0.5 < share <= 1 for share in shares)


@pytest.mark.parametrize("epsilon", [1.0, 0.2])
def test_the_expectation_under_noise_is_near_what_the_attack_gets(epsilon):
    rng = np.random.default_rng(1)
    rows, metric, policy = 400, Accuracy(), Laplace(epsilon=epsilon)
    rules = rules_of(metric=metric, policy=policy, submissions=200, public_fraction=1.0)
    told = forecast_of(rules, rows=rows).share_within_budget
    got = []
    for _ in range(5):
        truth = rng.integers(0, 2, rows)

        def submit(predictions, truth=truth):
            return policy.release(metric.measure(truth, predictions), state={}, rng=rng).text

        found = attack_competition(submit, metric, policy, prior=np.full((rows, 2), 0.5), submissions=200, rng=rng)
        got.append((found.labels == truth).mean())
    # the forecast is for many rows; with few, one run in ten or so is caught far below
    assert told - 0.1 < np.mean(got) < told + 0.06
    fewer = rules.without_limit(50)
    assert np.mean(got) > forecast_of(fewer, rows=rows).share_within_budget + 0.06, (
        "control: of a quarter of the scores"
    )


def test_what_the_features_know_is_in_the_share():
    rules = rules_of(metric=Accuracy(), policy=Laplace(epsilon=0.1), public_fraction=1.0)
    coins, known = (forecast_of(rules, rows=300, doubt=np.full(300, doubt)) for doubt in (0.5, 0.1))
    assert known.share_within_budget > 0.9 > coins.share_within_budget


@pytest.mark.parametrize("policy", [Ladder(), Thresholdout()])
def test_where_the_attack_does_not_get_there_it_says_so(policy):
    told = forecast_of(rules_of(metric=Accuracy(), policy=policy, public_fraction=1.0), rows=100)
    assert told.sentence.startswith("Not by this attack")
    assert (told.submissions, told.days, told.labels_per_query) == (None, None, None)


def test_no_number_is_made_up_for_a_metric_without_an_attack():
    for metric in (Mae(upper=3.0), F1(classes=3)):
        rules = rules_of(metric=metric, policy=Rounded(decimals=2), public_fraction=1.0)
        told = forecast(rules, metric, rows=100)
        assert told.submissions is None
        assert "does not mean that none exists" in told.sentence


def test_a_split_leaves_the_private_rows_alone():
    rules = rules_of(metric=Accuracy(), policy=Exact(), public_fraction=0.5, final=None)
    told = forecast_of(rules, rows=1000)
    assert told.attack == "all scores together"
    assert told.share_within_budget < 0.75


def test_a_budget_that_ends_early_is_said():
    rules = rules_of(metric=LogLoss(), policy=Rounded(decimals=5), submissions=10, per_day=None, public_fraction=1.0)
    told = forecast_of(rules, rows=2201)
    assert told.days is None
    assert "One team's budget ends at 10" in told.sentence
    assert 0.5 < told.share_within_budget < 0.55, "a coin tells half of them"


def test_the_final_score_is_counted_with_the_live_ones():
    finals = (Laplace(epsilon=1e-6), Laplace(epsilon=5.0))
    without, told = (forecast_of(rules_of(metric=LogLoss(), final=final), rows=2201) for final in finals)
    assert 0 < told.share_within_budget - without.share_within_budget < 10 / 2201
    assert "its final score included" in told.sentence
    assert "labels behind the live scores (30%)" in told.sentence
