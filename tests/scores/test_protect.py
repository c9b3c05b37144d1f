"""Scores of submissions through ``protect``: what is released, who pays, and what is rejected with a clear error."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.payment import Payment
from tacit.privacy.rounding import exact
from tacit.scores import Plan, Release, protect
from tacit.scores.metrics import Accuracy, LogLoss
from tacit.scores.policies import Laplace, Thresholdout
from tacit.scores.policies.laplace import share_of
from tacit.scores.policies.several import NoisyMeans

from .conftest import ROWS, WORDS

ONE = "protect truth.csv --label ill --epsilon 0.5 --data good.csv"
TWO = "protect truth.csv --label ill --epsilon 0.75 --submissions 2 --data good.csv --data poor.csv"
POLICIES = {
    "laplace": "1",
    "thresholdout:refreshes=2": "1",
    "ladder:step=0.05": "none",
    "rounded:decimals=2": "none",
    "bounded:tau=0.01": "none",
    "exact": "none",
}


def score_of(path="truth.scores.json"):
    (score,) = Release.read(path).scores
    return score


def spent():
    return Ledger.open("ledger.db").statement("visits").spent


def test_the_score_is_the_policys_own(run_json, arrays):
    metric, policy = LogLoss(), Laplace(epsilon=0.5)
    measured = metric.measure(arrays["y"], np.genfromtxt("good.csv", skip_header=1))
    expected = policy.release(measured, state={}, rng=np.random.default_rng(7))
    found = run_json(f"{ONE} --seed 7")
    assert score_of() == expected.released
    assert found["settled"]["noise_scale"] == policy.scale(metric, rows=ROWS)
    assert (found["guarantee"]["unit"], found["guarantee"]["epsilon"]) == ("label", 0.5)


def test_noise_is_drawn_at_the_scale_that_the_release_states(arrays):
    """The spread of released scores is that of Laplace noise of the stated scale; of half the scale it is not."""
    labels, rng = pa.table({"ill": arrays["y"]}), np.random.default_rng(0)
    plan = Plan(label="ill", epsilon=1, metric="brier", submissions=300)
    release = protect(labels, plan, data=[pa.table({"p": arrays["poor"]})] * 300, rng=rng)
    exact_score = np.mean((arrays["y"] - arrays["poor"]) ** 2)
    spread = np.mean(np.abs([answer["mean"] - exact_score for answer in release.answers]))
    scale = release.settled["noise_scale"]
    assert scale == pytest.approx(300 / ROWS)
    assert abs(spread / scale - 1) < 4 / np.sqrt(300)
    assert abs(spread / (scale / 2) - 1) > 4 / np.sqrt(300), "control"


def test_a_seeded_score_is_marked_and_another_is_not(run, run_json):
    assert run(f"{ONE} --seed 7").stderr.startswith("warning: seeded")
    first = run_json(f"{ONE} --out a.json")
    run(f"{ONE} --out b.json")
    assert not first["seeded"]
    assert score_of("a.json") != score_of("b.json")


def test_the_owner_reads_score_guarantee_assumptions_and_what_is_not_protected(run):
    text = run(ONE).stdout
    assert "Log loss 0." in text
    assert "scores by laplace: epsilon 0.5 for one label" in text
    assert "which classes occur is public" in text
    assert "Not protected: features, predictions and the number of rows." in text
    assert "which classes occur" not in run(f"{ONE} --classes no,yes --force").stdout
    none = run(
        "protect truth.csv --label ill --epsilon none --policy rounded:decimals=2 --data good.csv --force"
    ).stdout
    assert "no guarantee: rounding is no noise" in none
    assert "Not protected: the labels," in none


def test_every_metric_reads_files_as_the_library_reads_arrays(run, arrays):
    def exact_score(files, metric, label="ill"):
        run(f"protect {files} --label {label} --epsilon none --policy exact --metric {metric} --force --out s.json")
        return score_of("s.json")

    y, good, kind, table = (arrays[name] for name in ("y", "good", "kind", "table"))
    guessed = (good > 0.5).astype(int)
    assert exact_score("truth.csv --data good.csv", "log_loss") == pytest.approx(log_loss(y, good))
    assert exact_score("truth.csv --data good.csv", "brier") == pytest.approx(np.mean((y - good) ** 2))
    assert exact_score("truth.csv --data good.csv", "auc") == pytest.approx(roc_auc_score(y, good))
    assert exact_score("truth.csv --data words.csv", "accuracy") == pytest.approx(np.mean(y == guessed))
    assert exact_score("truth.csv --data words.csv", "f1") == pytest.approx(f1_score(y, guessed))
    errors = np.abs(good - arrays["poor"])
    assert exact_score("numbers.csv --data poor.csv", "mae", "days") == pytest.approx(errors.mean())
    assert exact_score("numbers.csv --data poor.csv", "rmse", "days") == pytest.approx(np.sqrt((errors**2).mean()))
    three = {name: exact_score(f"kinds.csv --data {name}.csv", "brier", "kind") for name in ("table", "by_name")}
    assert three["by_name"] == three["table"]
    assert exact_score("kinds.csv --data out_of_order.csv", "brier", "kind") != three["table"]
    assert exact_score("kinds.csv --data table.csv", "log_loss:floor=0.0001", "kind") == pytest.approx(
        log_loss(kind, table)
    )


def test_rows_are_matched_by_id(run):
    plan = "--label ill --epsilon none --policy exact --force"
    run(f"protect named.csv {plan} --data shuffled.csv --out a.json")
    run(f"protect truth.csv {plan} --data good.csv --out b.json")
    assert score_of("a.json") == score_of("b.json")


def test_a_class_list_may_name_classes_that_do_not_occur(run, run_json):
    plan = "--label ill --metric accuracy --data words.csv --force"
    assert run_json(f"protect truth.csv {plan} --epsilon 1 --classes maybe,no,yes")["settled"]["classes"] == [
        "maybe",
        "no",
        "yes",
    ]
    assert Release.read("truth.scores.json").metric == Accuracy(classes=3)
    run(f"protect same.csv {plan} --epsilon none --policy exact --classes no,yes")
    words = np.genfromtxt("words.csv", dtype=str, skip_header=1)
    assert score_of("same.scores.json") == pytest.approx(np.mean(words == "no"))


@pytest.mark.parametrize(("policy", "epsilon"), POLICIES.items())
def test_every_policy_is_written_read_learned_from_and_attacked(run, run_json, policy, epsilon):
    plan = f"--label ill --policy {policy} --epsilon {epsilon} --submissions 4"
    found = run_json(f"protect truth.csv {plan} --data good.csv --data poor.csv --data good.csv")
    assert found["plan"]["policy"]["name"] == policy.partition(":")[0]
    release = Release.read("truth.scores.json")
    assert len(release.scores) == 3
    assert run("protect truth.csv " + plan + " --out offer.json").stdout.count("An offer of log loss") == 1
    assert Release.read("offer.json").is_offer
    leak = run_json("attack offer.json --truth truth.csv --seed 0")
    assert 0.4 < leak["rate"] <= 1
    assert leak["facts"]["allowed"] == 4
    submissions = "--data good.csv --data poor.csv --data good.csv"
    remembers = policy.startswith(("thresholdout", "ladder"))
    said = run(f"learn truth.scores.json {submissions}", code=2 if remembers else 0)
    assert ("one by one" in said.stderr) == remembers
    ladder = policy.startswith("ladder")
    said = run(f"attack truth.scores.json --truth truth.csv {submissions}", code=2 if ladder else 0)
    assert ("attack an offer" in said.stderr) == ladder


@pytest.mark.parametrize("policy", ["laplace", "thresholdout:refreshes=2"])
def test_a_guarantee_smaller_than_the_noise_keeps_is_rejected(folder, tmp_path, policy):
    plan = Plan(label="ill", epsilon=1, policy=policy, submissions=3)
    release = protect("truth.csv", plan, data=["good.csv", "poor.csv"])
    release.write(tmp_path / "kept.json")
    assert Release.read(tmp_path / "kept.json").guarantee == release.guarantee
    less = Guarantee(unit=Unit.LABEL, epsilon=release.guarantee.epsilon * 0.99)
    replace(release, header=replace(release.header, guarantee=less)).write(tmp_path / "less.json")
    with pytest.raises(InvalidRelease, match="its mechanism has"):
        Release.read(tmp_path / "less.json")
    settled = {**release.settled, "noise_scale": release.settled["noise_scale"] / 2}
    replace(release, header=replace(release.header, settled=settled)).write(tmp_path / "quiet.json")
    with pytest.raises(InvalidRelease, match="other noise than its plan gives"):
        Release.read(tmp_path / "quiet.json")


def test_only_answered_submissions_are_charged_and_all_of_them_cost_the_plans_epsilon(folder):
    plan = Plan(label="ill", epsilon=1, submissions=4)
    assert protect("truth.csv", plan, data="good.csv").guarantee.epsilon == 0.25
    assert protect("truth.csv", plan, data=["good.csv"] * 4).guarantee.epsilon == 1
    assert protect("truth.csv", plan).guarantee.epsilon == 1, "an offer is for all"
    holdout = Plan(label="ill", epsilon=1, policy="thresholdout:refreshes=2", submissions=4)
    assert holdout.bound_policy == Thresholdout(epsilon=0.5, refreshes=2)
    assert protect("truth.csv", holdout, data=["good.csv"] * 3).guarantee.epsilon == 1


def test_shares_of_epsilon_never_add_up_to_more():
    rng = np.random.default_rng(0)
    for epsilon, parts in zip(rng.lognormal(0, 3, 2000).tolist(), rng.integers(2, 200, 2000).tolist(), strict=True):
        share = share_of(epsilon, parts)
        assert parts * exact(share) <= exact(epsilon)
        assert share == pytest.approx(epsilon / parts, rel=1e-15)
    assert any(k * exact(1 / k) > 1 for k in range(2, 200)), "control: plain division overspends"


def test_an_offer_reveals_nothing_of_the_labels_and_is_not_charged(run, folder):
    plan = "--label ill --epsilon 1 --submissions 9 --classes no,yes"
    run(f"protect truth.csv {plan} --out offer.json")
    run(f"protect same.csv {plan} --out other.json")
    assert (folder / "offer.json").read_bytes() == (folder / "other.json").read_bytes()
    assert "is not charged for an offer" in run(f"protect truth.csv {plan} --ledger ledger.db", code=2).stderr


def test_thresholdout_keeps_its_last_score_when_its_changes_are_spent(folder):
    plan = Plan(label="ill", epsilon=5000, policy="thresholdout:refreshes=1", submissions=9)
    scores = protect("truth.csv", plan, data=["good.csv", "poor.csv", "poor.csv"]).scores
    assert len(set(scores)) == 1


def test_the_ledger_pays_once_per_request_and_rejects(run):
    said = run(f"{ONE} --ledger ledger.db")
    assert "entry visits/1: spent epsilon 0.5, left 1." in said.stdout
    assert "earlier release" in run(f"{ONE} --ledger ledger.db --out again.json").stdout
    assert score_of("again.json") == score_of()
    run(f"{TWO} --ledger ledger.db --out two.json")
    assert spent() == 1.25
    said = run("protect truth.csv --label ill --epsilon 0.5 --data poor.csv --ledger ledger.db --out no.json", code=2)
    assert "would bring it to 1.75" in said.stderr
    assert said.stdout == ""
    assert spent() == 1.25


def test_a_score_is_paid_for_before_it_exists(run, monkeypatch):
    def crash(self, *args, **kwargs):
        raise RuntimeError("as if the power failed")

    monkeypatch.setattr(NoisyMeans, "draw", crash)
    run(f"{ONE} --ledger ledger.db --dataset visits", code=1)
    assert spent() == 0.5


def test_persons_of_several_rows_pay_for_all_of_them(folder, arrays):
    budget = Guarantee(unit=Unit.LABEL, epsilon=1.0).for_group(rows=2)
    ledger = Ledger.create("pairs.db")
    ledger.register(WORDS[arrays["y"]], name="visits", budget=budget)
    plan = Plan(label="ill", epsilon=0.25, rows_per_person=2)
    guarantee = protect("truth.csv", plan, data="good.csv", payment=Payment(ledger=ledger)).guarantee
    assert (guarantee.epsilon, guarantee.rows) == (0.5, 2)
    assert ledger.statement("visits").spent == 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--epsilon none --data good.csv", "--epsilon must be a finite number > 0: the policy adds noise"),
        ("--epsilon 0 --data good.csv", "--epsilon must be a finite number > 0"),
        ("--epsilon 1 --policy exact --data good.csv", "--epsilon must be none with exact"),
        ("--epsilon none --policy exact --data good.csv", "must have a guarantee to charge for"),
        ("--epsilon 1 --policy laplace:epsilon=2 --data good.csv", "laplace takes no parameters, got 'epsilon'"),
        ("--epsilon 1 --policy magic --data good.csv", "--policy must be one of"),
        ("--epsilon 1 --metric recall --data good.csv", "--metric must be one of"),
        ("--epsilon 1 --metric log_loss:floor=x --data good.csv", "floor must be a number"),
        ("--epsilon 1 --metric log_loss:classes=3 --data good.csv", "log_loss takes floor, got 'classes'"),
        ("--epsilon 1e-15 --data good.csv", "--epsilon must be from 1e-9 to 1e6, got 1e-15"),
        ("--epsilon 1 --metric auc --data good.csv", "give class_floor"),
        ("--epsilon 1 --metric mae --data good.csv", "a column of numbers for mae, got words"),
        ("--epsilon 1 --metric accuracy --data good.csv", "good.csv: predictions must be one of the classes no, yes"),
        ("--epsilon 1 --data words.csv", "words.csv: column 'guess' is string, not numbers"),
        ("--epsilon 1 --data percent.csv", "percent.csv: predictions must be probabilities in"),
        ("--epsilon 1 --data short.csv", "one row for each of the 600 labels, got 599"),
        ("--epsilon 1 --data wide.csv", "besides id, or one for each of 2 classes, got p, q, r"),
        ("--epsilon 1 --data shuffled.csv", "shuffled.csv has a column id and truth.csv has none"),
        ("--epsilon 1 --data nowhere.csv", "nowhere.csv does not exist"),
        (
            "--epsilon 1 --data good.csv --data poor.csv",
            "--data must be at most as many submissions as the plan has, 1",
        ),
        ("--epsilon 1 --label well --data good.csv", "--label names no column 'well'"),
        ("--epsilon 1 --classes no,maybe --data good.csv", "among the declared classes"),
        ("--epsilon 1 --rows-per-person 0 --data good.csv", "--rows-per-person must be an integer >= 1"),
        ("--epsilon 1 --delta 0.1 --data good.csv", "No such option: --delta"),
        ("--epsilon 1 --unit record --data good.csv", "--unit must be label"),
        ("--epsilon 1 --features x --data good.csv", "No such option: --features"),
        ("--epsilon 1 --out nowhere/score.json --data good.csv", "nowhere"),
        ("--epsilon 1 --out score.csv --data good.csv", "score.csv has the ending of CSV, but JSON is written"),
        ("--epsilon 1 --out good.csv --force --data good.csv", "good.csv is an input file"),
        ("--epsilon 1 --out truth.csv --force --data good.csv", "truth.csv is an input file"),
    ],
)
def test_bad_input_is_one_sentence_and_costs_nothing(run, arguments, words):
    label = "" if "--label" in arguments else "--label ill"
    said = run(f"protect truth.csv {label} {arguments} --ledger ledger.db", code=2)
    assert words in said.stderr
    assert len(said.stderr.strip().splitlines()) == 1
    assert said.stdout == ""
    assert Ledger.open("ledger.db").statement("visits").entries == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("named.csv --label ill --data good.csv", "named.csv has a column id and good.csv has none"),
        ("named.csv --label ill --data twice.csv", "twice.csv must have a different id in each row"),
        ("again.csv --label ill --data named.csv", "again.csv must have a different id in each row"),
        (
            "named.csv --label ill --data others.csv",
            "others.csv must have a row with the id '0' of named.csv, got none",
        ),
        ("same.csv --label ill --data good.csv", "--classes must list the classes if all labels are the same"),
        (
            "numbers.csv --label days --data good.csv --metric mae --classes a,b",
            "--classes requires a metric of classes",
        ),
        ("truth.csv --label ill --data good.csv --dataset visits", "--dataset requires --ledger"),
    ],
)
def test_files_that_do_not_fit_are_rejected(run, arguments, words):
    assert words in run(f"protect {arguments} --epsilon 1", code=2).stderr


def test_labels_beyond_the_range_are_moved_into_it_unless_nothing_is_guaranteed(run):
    words = "protect numbers.csv --label days --data good.csv --metric mae:upper=0.1"
    assert "beyond 0 to 0.1 count as the nearer end." in run(f"{words} --epsilon 1").stdout
    refused = run(f"{words} --epsilon none --policy exact --out exact.json", code=2).stderr
    assert "give the public range, as in metric mae" in refused


def test_what_follows_from_the_plan_is_not_given_twice():
    with pytest.raises(InvalidInput, match="its epsilon follows from the plan's"):
        Plan(label="ill", epsilon=1, policy=Laplace(epsilon=0.1))
    with pytest.raises(InvalidInput, match="its classes follow from the labels"):
        Plan(label="ill", epsilon=1, metric=LogLoss(classes=3))


def test_a_plan_moves_along_epsilon_and_back_from_json():
    plain = Plan(label="ill", epsilon=None, policy="rounded:decimals=5", submissions=400)
    assert plain.describe() == "log loss rounded to 5 decimals, 400 submissions, no guarantee"
    assert plain.at(4.0).bound_policy == Laplace(epsilon=0.01)
    assert Plan.from_json(json.loads(json.dumps(plain.to_json()))) == plain
