"""Labels recovered from scores: of an offer whose host is played, and of answers to known submissions."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.privacy import InvalidInput
from tacit.scores import Plan, attack, protect
from tacit.scores.attacks import CandidatePredictions, guess_labels, plan_attack
from tacit.scores.metrics import LogLoss
from tacit.scores.policies import Rounded

from .conftest import WORDS


def offer(table, **fields):
    return protect(table, Plan(**{"label": "y", "epsilon": None, **fields}))


@pytest.fixture(scope="module")
def labels():
    return pa.table({"y": np.random.default_rng(0).integers(0, 2, 200)})


@pytest.mark.parametrize(
    "fields",
    [
        {"policy": "exact", "submissions": 40},
        {"policy": "rounded:decimals=5", "submissions": 40},
        {"policy": "bounded:tau=0.00001", "metric": "brier", "submissions": 60},
        {"policy": "rounded:decimals=4", "metric": "accuracy", "submissions": 200},
        {"policy": "rounded:decimals=4", "metric": "f1", "submissions": 200},
        {"policy": "exact", "metric": "auc", "submissions": 200},
        {"policy": "exact", "metric": "rmse", "submissions": 200},
        {"policy": "rounded:decimals=6", "metric": "mae", "submissions": 200},
    ],
)
def test_scores_without_random_noise_reveal_every_label(labels, fields):
    leak = attack(offer(labels, **fields), truth=labels, rng=np.random.default_rng(0))
    assert leak.rate == 1
    assert leak.facts["submissions"] <= fields["submissions"]
    assert leak.guesses["guess"].to_pylist() == labels["y"].to_pylist()
    np.testing.assert_array_equal(leak.after.argmax(axis=1), labels["y"])


@pytest.mark.parametrize("method", ["digits", "joint", "crowded"])
def test_a_method_keeps_the_guarantee_of_its_plan(labels, method):
    open_for_many = offer(labels, policy="rounded:decimals=5", submissions=100)
    leak = attack(open_for_many, truth=labels, method=method, rng=np.random.default_rng(0))
    assert leak.rate == 1
    few = plan_attack(LogLoss(), rows=200, policy=Rounded(decimals=5)).queries
    assert few - 3 <= leak.facts["submissions"] <= 40


def test_an_attack_stops_where_the_offer_ends(labels):
    few = offer(labels, policy="rounded:decimals=5", submissions=5)
    leak = attack(few, truth=labels, method="digits", rng=np.random.default_rng(0))
    assert leak.facts["submissions"] == 5
    assert leak.baseline < leak.rate < 1


def test_more_epsilon_leaks_more_and_none_of_it_above_the_guarantee(labels):
    rates = {}
    for epsilon in (0.5, 400.0):
        noisy = offer(labels, epsilon=epsilon, submissions=100)
        leak = attack(noisy, truth=labels, rng=np.random.default_rng(0))
        rates[epsilon] = leak.rate
        assert not leak.exceeds(noisy.guarantee)
    assert rates[400.0] > 0.9
    assert abs(rates[0.5] - 0.55) < 0.1


@pytest.mark.parametrize(
    "policy", ["laplace", "thresholdout", "ladder", "rounded:decimals=2", "bounded:tau=0.1", "exact"]
)
def test_a_plan_of_a_million_million_submissions_is_rejected_at_once(labels, policy):
    epsilon = 1 if policy in ("laplace", "thresholdout") else None
    with pytest.raises(InvalidInput, match="submissions must be an integer from 1 to 1,000,000, got 1000000000000"):
        Plan(label="y", epsilon=epsilon, policy=policy, submissions=10**12)
    made = protect(labels, Plan(label="y", epsilon=epsilon, policy=policy, submissions=10**6))
    assert made.guarantee.to_json().get("epsilon") == epsilon
    assert len(json.dumps(made.guarantee.to_json())) < 1000  # not one entry for each submission


def test_more_answers_than_fit_in_memory_are_rejected_at_once():
    with pytest.raises(InvalidInput, match="submissions must be at most 1,666,666 for all answers on 200 rows"):
        guess_labels(
            lambda _: pytest.fail("asked"),
            np.full((200, 2), 0.5),
            menu=CandidatePredictions(losses=np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), neutral=2),
            queries=2_000_000,
            deviation=1.0,
            rng=np.random.default_rng(0),
        )


def test_intervals_are_of_this_release_because_all_rows_share_its_scores(labels):
    noisy = offer(labels, epsilon=10, submissions=20)
    leak = attack(noisy, truth=labels, rng=np.random.default_rng(0))
    assert {change["scope"] for change in leak.to_json()["changes"]} == {"of this release"}
    assert leak.method.endswith("; of this release")
    assert " for a flagged row of this release; the odds change " in str(leak.changes[0])


def test_a_seeded_attack_repeats(labels):
    noisy = offer(labels, epsilon=100, submissions=50)
    first, second = (attack(noisy, truth=labels, rng=np.random.default_rng(3)) for _ in range(2))
    assert first == second
    assert first.guesses == second.guesses


@pytest.mark.parametrize("policy", ["thresholdout:refreshes=5", "ladder:step=0.001"])
def test_policies_with_a_memory_are_attacked_in_order(labels, policy):
    epsilon = 500 if policy.startswith("threshold") else None
    leak = attack(
        offer(labels, epsilon=epsilon, policy=policy, submissions=60), truth=labels, rng=np.random.default_rng(0)
    )
    assert leak.facts["submissions"] <= 60
    assert leak.rate > 0.4


def test_beliefs_from_before_are_the_baseline_and_help(labels):
    truth = np.asarray(labels["y"])
    known = np.where(np.arange(200) < 150, truth, 1 - truth)
    before = np.where(np.eye(2)[known] == 1, 0.75, 0.25)
    noisy = offer(labels, epsilon=100, submissions=50)
    leak = attack(noisy, truth=labels, before=before, rng=np.random.default_rng(0))
    assert leak.baseline == 0.75
    assert leak.bound is None
    assert leak.rate > attack(noisy, truth=labels, rng=np.random.default_rng(0)).rate
    with pytest.raises(InvalidInput, match=r"before must be of shape \(200, 2\)"):
        attack(noisy, truth=labels, before=before[1:])


def test_three_classes_by_name():
    kinds = pa.table({"y": np.array(["ash", "elm", "oak"])[np.random.default_rng(0).integers(0, 3, 90)]})
    leak = attack(offer(kinds, policy="rounded:decimals=5", submissions=60), truth=kinds, rng=np.random.default_rng(0))
    assert leak.guesses["guess"].to_pylist() == kinds["y"].to_pylist()


def test_answers_are_weighed_with_their_submissions(labels):
    """30 random halves of 40 labels, as tests of the posterior have it, through the public doors."""
    rng, small = np.random.default_rng(0), labels.slice(0, 40)
    asked = [pa.table({"p": rng.integers(0, 2, 40).astype(float)}) for _ in range(30)]
    for policy, epsilon in (("rounded:decimals=3", None), ("laplace", 120.0)):
        plan = Plan(label="y", epsilon=epsilon, policy=policy, metric="brier", submissions=30)
        leak = attack(protect(small, plan, data=asked, rng=rng), data=asked, truth=small)
        assert leak.right >= 38
        assert leak.bound is None, "the submissions may predict the labels themselves"
    hidden = protect(small, Plan(label="y", epsilon=0.01, metric="brier", submissions=30), data=asked, rng=rng)
    assert attack(hidden, data=asked, truth=small).right < 30, "control"


def test_an_attacker_of_an_offer_has_the_features_of_the_rows(labels):
    made, noise = offer(labels, policy="rounded:decimals=1", submissions=1), np.random.default_rng(1)
    shares = np.bincount(labels["y"].to_numpy()) / labels.num_rows
    idle = pa.table({"x": noise.normal(size=labels.num_rows)})
    telling = pa.table({"x": labels["y"].to_numpy() + noise.normal(0, 0.2, labels.num_rows)})
    found = [attack(made, data=rows, truth=labels, rng=np.random.default_rng(0)).baseline for rows in (idle, telling)]
    assert found[0] >= shares.max(), "features that say nothing are no worse than the majority class"
    assert found[1] > 0.95


def test_guesses_are_written(run, arrays):
    run("protect truth.csv --label ill --epsilon none --policy rounded:decimals=5 --submissions 99 --out offer.json")
    said = run("attack offer.json --truth truth.csv --out guesses.parquet")
    assert "100.0% of 600 labels are guessed correctly" in said.stdout
    assert pq.read_table("guesses.parquet")["guess"].to_pylist() == WORDS[arrays["y"]].tolist()


@pytest.mark.parametrize(
    ("plan", "arguments", "words"),
    [
        ("--epsilon 1", "", "--truth must be given"),
        ("--epsilon 1", "--truth short.csv", "label names no column 'ill'"),
        ("--epsilon 1", "--truth truth.csv --data short.csv", "--data must have the 600 rows of truth"),
        ("--epsilon 1", "--truth truth.csv --data good.csv --data good.csv", "--data must be one table with the"),
        ("--epsilon 1", "--truth truth.csv --method magic", "--method must be one of best, digits, joint, crowded"),
        ("--epsilon 1", "--truth truth.csv --method digits", "policy must keep answers near the score"),
        (
            "--epsilon 1 --data good.csv",
            "--truth truth.csv",
            "--data must be the 1 scored submission, got 0",
        ),
        (
            "--epsilon 1 --metric auc:class_floor=50 --data good.csv",
            "--truth truth.csv --data good.csv",
            "attack an offer of them",
        ),
        (
            "--epsilon none --policy exact --metric auc",
            "--truth truth.csv --method digits",
            "--method must be best for a metric that is no loss",
        ),
    ],
)
def test_what_cannot_be_attacked_is_rejected(run, plan, arguments, words):
    run(f"protect truth.csv --label ill {plan} --out release.json")
    said = run(f"attack release.json {arguments}", code=2)
    assert words in said.stderr
    assert len(said.stderr.strip().splitlines()) == 1


def test_quarters_of_numbers_are_read_one_row_at_a_time():
    """Exact mean errors put every row that was asked about in its quarter; noise of a small epsilon, none."""
    rng = np.random.default_rng(0)
    costs = pa.table({"cost": np.exp(rng.normal(6, 0.5, 120)).round(2)})
    for metric in ("mae:lower=0,upper=4000", "rmse:lower=0,upper=4000"):
        told = {"label": "cost", "metric": metric, "submissions": 121}
        exact = protect(costs, Plan(epsilon=None, policy="exact", **told))
        leak = attack(exact, truth=costs, rng=np.random.default_rng(0))
        assert leak.rate > 0.95
        assert leak.baseline == pytest.approx(0.25)
        assert "in the right quarter" in leak.rate_of
        noisy = attack(protect(costs, Plan(epsilon=1, **told), rng=rng), truth=costs, rng=np.random.default_rng(0))
        assert noisy.rate < 0.4, "control"
    with pytest.raises(InvalidInput, match="method must be best for labels that are numbers, got digits"):
        attack(exact, truth=costs, method="digits")
