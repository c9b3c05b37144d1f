import json

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from tacit.privacy import InvalidInput
from tacit.scores.metrics import Accuracy, Auc, Brier, LogLoss
from tacit.scores.policies import Exact, Laplace, Rounded, Thresholdout
from tacit.scores.releases import Budget, Setting, Split, complete_setting, default_setting, identify


def test_the_same_submission_costs_nothing_and_noise_cannot_be_averaged():
    setting, rng = Setting(metric=Brier(), policy=Laplace(epsilon=0.1)), np.random.default_rng(0)
    labels, predictions = np.arange(200) % 2, np.full(200, 0.5)
    answers, known, charged = [], {}, 0
    for _ in range(50):
        name = identify(predictions, setting.metric, rows=200)
        answer = setting.answer(labels, predictions, state={}, rng=rng, remembered=known.get(name))
        known[name] = answer
        charged += answer.charge is not None
        answers.append(answer.released)
    assert charged == 1
    assert len(set(answers)) == 1
    fresh = {setting.answer(labels, predictions, state={}, rng=rng).released for _ in range(10)}
    assert len(fresh) > 1, "control: without the memory every answer has its own noise"


def test_identity_is_of_values_not_of_files():
    metric = LogLoss()
    same = [[0.5, 0.25], np.array([0.5, 0.25], dtype=np.float32), np.array([[0.5], [0.25]])]
    names = {identify(given, metric, rows=2) for given in same}
    assert len(names) == 1
    assert identify([0.5, np.nextafter(0.25, 1)], metric, rows=2) not in names
    assert identify([0.25, 0.5], metric, rows=2) not in names
    assert identify([0.5, 0.25], Brier(), rows=2) not in names
    assert identify([-0.0, 0.5], metric, rows=2) == identify([0.0, 0.5], metric, rows=2)


def test_the_split_is_fixed_by_the_key_and_blind_to_the_other_rows():
    split, ids = Split(public_fraction=0.3), [f"row-{i}" for i in range(20_000)]
    public = split.public_rows(ids, key=b"one")
    assert np.array_equal(public, split.public_rows(ids, key=b"one"))
    assert abs(public.mean() - 0.3) < 0.02
    other = split.public_rows(ids, key=b"two")
    assert chi2_contingency(np.histogram2d(public, other, bins=2)[0]).pvalue > 1e-6, "another key, another split"
    assert chi2_contingency(np.histogram2d(public, public, bins=2)[0]).pvalue < 1e-6, "control"
    assert np.array_equal(split.public_rows(ids[:100], key=b"one"), public[:100])
    with pytest.raises(InvalidInput, match="both parts"):
        Split(public_fraction=1e-9).public_rows(ids, key=b"one")
    with pytest.raises(InvalidInput, match="public_fraction"):
        Split(public_fraction=0)


def test_public_scores_do_not_depend_on_private_labels_and_the_other_way_round():
    setting = Setting(metric=Accuracy(), policy=Exact(), final_policy=Rounded(decimals=3))
    rng = np.random.default_rng(0)
    labels, predictions = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    public = np.arange(400) % 3 == 0

    def scores(y):
        shown = setting.answer(y, predictions, state={}, rng=rng, public=public).released
        return shown, setting.final(y, predictions, public=public, rng=rng).released

    shown, final = scores(labels)
    turned_private, turned_public = np.where(public, labels, 1 - labels), np.where(public, 1 - labels, labels)
    assert scores(turned_private)[0] == shown
    assert scores(turned_private)[1] != final
    assert scores(turned_public)[1] == final
    assert scores(turned_public)[0] != shown


def test_budgets():
    budget = Budget(per_team=5, per_day=2)
    assert budget.refusal(used=0, used_today=0) is None
    assert "tomorrow" in budget.refusal(used=2, used_today=2)
    assert budget.refusal(used=2, used_today=0) is None
    assert "all 5" in budget.refusal(used=5, used_today=0)
    assert Budget(per_team=5, per_day=None).refusal(used=4, used_today=4) is None
    assert [budget.left(used=used, used_today=0) for used in range(6)] == [2, 2, 2, 2, 1, 0]
    for wrong in ({"per_team": 0}, {"per_day": 0}, {"per_team": 1.5}):
        with pytest.raises(InvalidInput):
            Budget(**wrong)


@pytest.mark.parametrize(
    "setting",
    [
        Setting(metric=Accuracy(classes=6)),
        Setting(metric=Auc(class_floor=5), policy=Rounded(decimals=2), budget=Budget(per_team=3, per_day=None)),
        Setting(metric=Brier(), policy=Thresholdout(), split=Split(public_fraction=0.5), final_policy=Exact()),
        default_setting(LogLoss()),
    ],
    ids=["plain", "auc", "brier", "default"],
)
def test_rules_there_and_back(setting):
    document = json.loads(json.dumps(setting.to_json()))
    assert Setting.from_json(document) == setting
    assert all(sentence.endswith(".") for sentence in setting.describe())
    for key in ("budget", "split", "metric", "policy"):
        with pytest.raises(InvalidInput):
            Setting.from_json({**document, key: {**document[key], "extra": 1}})
    with pytest.raises(InvalidInput, match="setting takes"):
        Setting.from_json({**document, "labels": [1]})
    with pytest.raises(InvalidInput, match="metric"):
        Setting.from_json({})


def test_rules_that_cannot_be_kept_are_refused():
    with pytest.raises(InvalidInput, match="class_floor"):
        Setting(metric=Auc(), policy=Laplace()).check(rows=10)
    with pytest.raises(InvalidInput, match="class_floor"):
        Setting(metric=Auc(), policy=Exact(), final_policy=Laplace()).check(rows=10)
    Setting(metric=Auc(), policy=Exact()).check(rows=10)


def test_the_default_is_what_the_page_says():
    setting = default_setting(LogLoss())
    assert setting.policy == Laplace(epsilon=0.2)
    assert setting.final_policy == Laplace(epsilon=5.0)
    assert (setting.budget.per_team, setting.split.public_fraction) == (100, 0.3)


def test_what_a_host_leaves_out_is_the_default():
    document = {"metric": {"metric": "log_loss", "floor": 0.05}}
    assert complete_setting(document) == default_setting(LogLoss(floor=0.05))
    chosen = complete_setting({**document, "policy": {"policy": "exact"}, "final_policy": None})
    assert (chosen.policy, chosen.final_policy, chosen.split) == (Exact(), None, Split(public_fraction=0.3))
    with pytest.raises(InvalidInput, match="setting takes"):
        complete_setting({**document, "labels": [1]})


@pytest.mark.parametrize("metric", [LogLoss(), Brier(), Accuracy(), Auc()], ids=lambda metric: metric.name)
def test_rules_have_words_and_no_underscores(metric):
    for setting in (Setting(metric=metric, policy=Exact()), default_setting(metric)):
        assert "_" not in " ".join(setting.describe())


def test_no_epsilon_is_shown_too_small():
    small = Laplace(epsilon=0.5000001)
    rules = Setting(metric=Accuracy(), policy=small, split=Split(public_fraction=0.5), final_policy=small).describe()
    shown = [sentence.split("epsilon ")[1].rstrip(".") for sentence in rules if "epsilon " in sentence]
    assert len(shown) == 2
    assert all(float(number) >= small.epsilon for number in shown)
