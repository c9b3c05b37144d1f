"""A competition's rules: what they say, how they are written, and the splits and limits that follow from them."""

import json

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from tacit.privacy import InvalidInput
from tacit.scores.metrics import F1, Accuracy, Auc, Brier, CustomMetric, LogLoss, Mae, Rmse
from tacit.scores.policies import Bounded, Exact, Ladder, Laplace, Rounded, Thresholdout
from tacit.server.board import CompetitionBoard
from tacit.server.host_files import FeatureRows, PrivateLabels
from tacit.server.rules import Rules
from tests.server.rules import rules_of


def board_of(metric, *, rows=2):
    features = FeatureRows(ids=tuple(map(str, range(rows))), names=(), cells=((),) * rows)
    labels = PrivateLabels(codes=np.arange(rows) % 2, public_rows=np.ones(rows, dtype=bool))
    return CompetitionBoard(id=1, rules=rules_of(metric=metric), metric=metric, features=features, labels=labels)


def test_identity_is_of_values_not_of_files():
    board = board_of(LogLoss())
    same = [[0.5, 0.25], np.array([0.5, 0.25], dtype=np.float32), np.array([[0.5], [0.25]])]
    names = {board.digest(board.check(given)) for given in same}
    assert len(names) == 1
    assert board.digest(board.check([0.5, np.nextafter(0.25, 1)])) not in names
    assert board.digest(board.check([0.25, 0.5])) not in names
    assert board_of(Brier()).digest(board.check([0.5, 0.25])) not in names
    assert board.digest(board.check([-0.0, 0.5])) == board.digest(board.check([0.0, 0.5]))


def test_the_split_is_determined_by_the_key_and_blind_to_the_other_rows():
    rules, ids = rules_of(metric=Accuracy(), public_fraction=0.3), [f"row-{i}" for i in range(20_000)]
    public = rules.public_rows(ids, key=b"one")
    assert np.array_equal(public, rules.public_rows(ids, key=b"one"))
    assert abs(public.mean() - 0.3) < 0.02
    other = rules.public_rows(ids, key=b"two")
    assert chi2_contingency(np.histogram2d(public, other, bins=2)[0]).pvalue > 1e-6, "another key, another split"
    assert chi2_contingency(np.histogram2d(public, public, bins=2)[0]).pvalue < 1e-6, "control"
    assert np.array_equal(rules.public_rows(ids[:100], key=b"one"), public[:100])
    with pytest.raises(InvalidInput, match="both parts"):
        rules_of(metric=Accuracy(), public_fraction=1e-9).public_rows(ids, key=b"one")
    with pytest.raises(InvalidInput, match="public_fraction"):
        rules_of(metric=Accuracy(), public_fraction=0)


def test_how_often_a_team_may_ask():
    rules = rules_of(metric=Accuracy(), submissions=5, per_day=2)
    assert rules.refusal(used=0, used_today=0) is None
    assert "tomorrow" in rules.refusal(used=2, used_today=2)
    assert rules.refusal(used=2, used_today=0) is None
    assert "all 5" in rules.refusal(used=5, used_today=0)
    assert rules_of(metric=Accuracy(), submissions=5, per_day=None).refusal(used=4, used_today=4) is None
    for wrong in ({"submissions": 0}, {"per_day": 0}, {"submissions": 1.5}, {"teams": 0}):
        with pytest.raises(InvalidInput):
            rules_of(policy=Exact(), **wrong)


METRICS = [LogLoss(floor=0.05), Brier(classes=3), Accuracy(classes=6), Auc(class_floor=5), F1(), Rmse(upper=3.0), Mae()]
POLICIES = [Exact(), Rounded(decimals=2), Bounded(tau=0.1), Ladder(step=0.1), Laplace(epsilon=0.3), Thresholdout()]


@pytest.mark.parametrize(
    "rules",
    [
        *(rules_of(metric=metric) for metric in METRICS),
        *(rules_of(metric=Brier(), policy=policy, per_day=None, final=policy) for policy in POLICIES),
        rules_of(metric=Accuracy(), submissions=3, public_fraction=1.0, final=None),
    ],
    ids=lambda rules: f"{rules.plan.metric.name} {rules.policy.name}",
)
def test_rules_there_and_back(rules):
    document = json.loads(json.dumps(rules.to_json()))
    assert Rules.from_json(document) == rules
    assert all(sentence.endswith(".") for sentence in rules.describe())
    assert "_" not in " ".join(rules.describe())
    plan = document["plan"]
    for key in ("metric", "policy"):
        with pytest.raises(InvalidInput, match=f"{key}.*takes"):
            Rules.from_json({**document, "plan": {**plan, key: {**plan[key], "extra": 1}}})
    with pytest.raises(InvalidInput, match="is no field of a plan"):
        Rules.from_json({**document, "plan": {**plan, "labels": [1]}})
    with pytest.raises(InvalidInput, match="rules take"):
        Rules.from_json({**document, "labels": [1]})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"metric": "nope"}, "metric must be one of"),
        ({"metric": ["log_loss"]}, "metric must be one of"),
        ({"metric": "accuracy:classes=2"}, "accuracy takes no parameters"),
        ({"metric": "mae", "classes": "no,yes"}, "classes requires a metric of classes"),
        ({"metric": "custom:metric=os.system"}, "custom metrics"),
        ({"policy": {}}, "policy must be one of"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": "x"}, "epsilon must be"),
        ({"policy": "laplace", "epsilon": None}, "epsilon must be a finite number > 0"),
        ({"policy": "exact", "epsilon": 1}, "epsilon must be none with exact"),
        ({"policy": "laplace:epsilon=1"}, "laplace takes no parameters"),
        ({"policy": "ladder:step=2"}, "step must be in"),
        ({"person": "name"}, "person has no use in a competition"),
        ({"rows_per_person": 2}, "person has no use in a competition"),
    ],
)
def test_wrong_plans_are_refused(document, message):
    with pytest.raises(InvalidInput, match=message):
        Rules.from_json({"plan": document})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"final": "rounded:decimals=99"}, "from 0 to 15"),
        ({"final": "exact"}, "final_epsilon must be none with exact"),
        ({"final_epsilon": "none"}, "final_epsilon must be a finite number > 0"),
    ],
)
def test_wrong_rules_are_refused(document, message):
    with pytest.raises(InvalidInput, match=message):
        Rules.from_json(document)


def test_custom_functions_come_from_the_operator_alone():
    own = CustomMetric(function=lambda y, p: 0.5, metric="half", lower=0, upper=1, lower_is_better=True)
    rules = rules_of(metric=own)
    assert Rules.from_json(json.loads(json.dumps(rules.to_json())), custom=[own]) == rules
    assert Rules.from_json({"plan": {"metric": "custom:metric=half"}}, custom=[own]).plan.metric is own
    with pytest.raises(InvalidInput, match="of 2 classes for half, got 3"):
        own.for_classes(3)


def test_rules_that_cannot_be_kept_are_refused():
    for rules in (rules_of(metric=Auc(), final=Exact()), rules_of(metric=Auc(), policy=Exact())):
        with pytest.raises(InvalidInput, match="class_floor"):
            rules.check(rules.plan.metric, public=10, private=10)
    rules_of(metric=Auc(), policy=Exact()).check(Auc(), public=10, private=0)


def test_what_a_host_leaves_out_is_what_the_page_recommends():
    rules = Rules.from_json({"plan": {"metric": "log_loss:floor=0.05"}})
    assert rules == rules_of(metric=LogLoss(floor=0.05), policy=Rounded(), together=10, teams=10)
    assert (rules.policy, rules.final_policy) == (Rounded(decimals=3), Laplace(epsilon=5.0))
    for unlimited in (None, "none"):
        noisy = Rules.from_json({"together": unlimited})
        assert (noisy.policy, noisy.plan.epsilon) == (Laplace(epsilon=0.2), 20.0)
    assert (rules.plan.submissions, rules.per_day, rules.public_fraction) == (100, 10, 0.3)
    chosen = Rules.from_json({"plan": {"policy": "exact", "epsilon": None}, "final": "exact", "final_epsilon": None})
    assert (chosen.policy, chosen.final_policy) == (Exact(), Exact())


@pytest.mark.parametrize("policy", [Laplace(epsilon=0.1), Thresholdout(epsilon=0.3, refreshes=3), Rounded()])
@pytest.mark.parametrize("submissions", [1, 3, 7])
def test_another_number_of_submissions_leaves_each_score_as_it_is(policy, submissions):
    rules = rules_of(policy=policy, submissions=5)
    assert rules.without_limit(submissions).policy == rules.policy == policy
    assert rules.without_limit(submissions).per_day is None


def test_no_epsilon_is_shown_too_small():
    small = Laplace(epsilon=0.5000001)
    rules = rules_of(metric=Accuracy(), policy=small, public_fraction=0.5, final=small).describe()
    shown = [sentence.split("epsilon ")[1].rstrip(".") for sentence in rules if "epsilon " in sentence]
    assert len(shown) == 2
    assert all(float(number) >= small.epsilon for number in shown)
