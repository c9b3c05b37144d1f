"""Choosing among submissions by released scores, with bounds on the regret."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.privacy import InvalidInput
from tacit.scores import Plan, learn, protect
from tacit.scores.learners import choose
from tacit.scores.metrics import Accuracy, LogLoss
from tacit.scores.policies import Laplace

from .conftest import ROWS, WORDS, write_csv

FILES = "--data poor.csv --data good.csv --data poor.csv"


def test_the_best_is_chosen_and_the_choice_is_the_librarys(run, run_json, arrays):
    run(f"protect truth.csv --label ill --epsilon 3 --submissions 3 {FILES} --seed 5")
    found = run_json(f"learn truth.scores.json {FILES}")
    assert (found["choice"], found["index"], found["tied"]) == ("good.csv", 1, [1])
    low, high = LogLoss().term_bounds
    losses = np.array([LogLoss().measure(arrays["y"], arrays[name]).terms for name in ("poor", "good", "poor")])
    regret = Laplace(epsilon=1.0).regret(LogLoss(), rows=ROWS)
    choice = choose([0, 1, 2], [0.3, 0.1, 0.3], regret=regret)
    assert found["probability_within"] == pytest.approx(choice.probability_within)
    assert found["expected_regret"] == pytest.approx(choice.expected_regret)
    for one, mean in zip(found["scores"], losses.mean(axis=1), strict=True):
        assert one["score"] == pytest.approx(mean, abs=20 * (high - low) / ROWS)
    assert run_json("learn truth.scores.json")["choice"] == "submission 2"


def test_the_model_picks_the_chosen_submission():
    labels = pa.table({"y": [0, 1] * 200})
    given = [pa.table({"p": [p, 1 - p] * 200}) for p in (0.4, 0.1)]
    plan = Plan(label="y", epsilon=None, policy="exact", metric="brier", submissions=2)
    model = learn(protect(labels, plan, data=given))
    assert model.predict(given) is given[1]
    assert model.report_.choice.probability_within == 1
    with pytest.raises(InvalidInput, match="data must be the 2 scored submissions"):
        model.predict(given[:1])


def test_higher_is_better_for_accuracy(run, run_json, arrays):
    plan = "--label ill --metric accuracy --epsilon 2000 --submissions 2"
    run(f"protect truth.csv {plan} --data poor_words.csv --data words.csv")
    command = "learn truth.scores.json --data poor_words.csv --data words.csv"
    found = run_json(command)
    assert found["choice"] == "words.csv"
    assert found["score"] == pytest.approx(Accuracy().score(arrays["y"], arrays["good"] > 0.5), abs=1e-3)
    assert "words.csv has the highest released score: accuracy" in run(command).stdout


def test_rmse_is_compared_by_squares_where_noise_was_added(run, run_json, arrays):
    plan = "--label days --metric rmse --submissions 2 --data poor.csv --data good.csv"
    run(f"protect numbers.csv {plan} --epsilon 2000")
    found = run_json("learn numbers.scores.json")
    squares = np.mean((arrays["good"] - arrays["poor"]) ** 2)
    assert (found["index"], found["measure"]) == (1, "the mean squared error")
    assert found["scores"][0]["score"] == pytest.approx(squares, abs=1e-3)
    run(f"protect numbers.csv {plan} --epsilon none --policy rounded:decimals=4 --force")
    found = run_json("learn numbers.scores.json")
    assert (found["index"], found["measure"]) == (1, "the root mean squared error")
    assert found["scores"][0]["score"] == pytest.approx(np.sqrt(squares), abs=1e-4)
    assert (found["probability_within"], found["expected_regret"]) == (1, pytest.approx(1e-4))


def test_a_choice_says_how_sure_it_is(run):
    plan = "protect truth.csv --label ill --force --data good.csv --data poor.csv --data poor.csv --submissions 3"
    run(f"{plan} --epsilon 3")
    text = run("learn truth.scores.json --method best:within=0.1").stdout
    assert "With probability at least 9" in text
    assert "within 0.1 of the best in log loss on these 600 rows" in text
    assert "epsilon 3 for one label." in text
    run(f"{plan} --epsilon 0.001")
    lost = run("learn truth.scores.json --method best:within=0").stdout
    assert "The noise is too large to bound the probability" in lost


def test_the_stated_probability_is_that_of_a_right_choice(folder, run, run_json, arrays):
    """Two models, one with 30 more errors in 600 rows: the bound is sharp for them, from below and from above."""
    wrong = {"few.csv": 60, "many.csv": 90}
    for name, errors in wrong.items():
        write_csv(folder / name, guess=WORDS[np.where(np.arange(ROWS) < errors, 1 - arrays["y"], arrays["y"])])
    plan = "--label ill --metric accuracy --epsilon 0.1 --submissions 2"
    run(f"protect truth.csv {plan} --data few.csv --data many.csv")
    command = "learn truth.scores.json --method best:within="
    stated = {within: run_json(f"{command}{within}")["probability_within"] for within in (0.0499, 0.0501)}
    means, rng = Laplace(epsilon=0.05).means, np.random.default_rng(0)
    few, many = (int(errors / means.step) + means.noise.draw(200_000, rng=rng) for errors in wrong.values())
    right = np.mean(few <= many)
    assert stated[0.0499] == pytest.approx(right, abs=0.005)
    assert 0.8 < right < 0.9, "control: neither sure nor a coin"
    assert stated[0.0501] > stated[0.0499], "a wrong choice is near enough here, and the bound does not know it"


@pytest.mark.parametrize(
    ("protect", "learned", "words"),
    [
        ("--epsilon 1 --data good.csv", "", "IN must have the scores of two submissions or more to choose from, got 1"),
        ("--epsilon 1 --submissions 9", "", "IN must have the scores of two submissions or more to choose from, got 0"),
        ("--epsilon 1 --submissions 2 --data good.csv --data poor.csv", "--data good.csv", "--data must be the 2"),
        ("--epsilon 1 --submissions 2 --data good.csv --data poor.csv", "--test good.csv", "No such option: --test"),
        ("--epsilon 1 --submissions 2 --data good.csv --data poor.csv", "--features x", "No such option: --features"),
        ("--epsilon 1 --submissions 2 --data good.csv --data poor.csv", "--method best:within=-1", "within must be"),
        (
            "--epsilon 1 --submissions 2 --metric auc:class_floor=50 --data good.csv --data poor.csv",
            "",
            "metric must be a mean over rows",
        ),
    ],
)
def test_what_gives_no_choice_is_rejected(run, protect, learned, words):
    run(f"protect truth.csv --label ill {protect}")
    assert words in run(f"learn truth.scores.json {learned}", code=2).stderr
