"""Membership inference: formulas against plain loops, the pins, and controls that must and must not be caught."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from tacit.leak import HeldOut, leak_from_scores
from tacit.models.attacks.coins import RowCoins
from tacit.models.attacks.confidence import (
    FLOOR,
    confidence_from_logits,
    confidence_from_losses,
    confidence_from_probabilities,
    measure_confidence,
)
from tacit.models.attacks.lira import LEAST_SD, OfflineLira, OnlineLira, PooledSpread, SpreadPerPoint
from tacit.models.attacks.loss_threshold import LossThreshold, attack_losses
from tacit.models.attacks.membership import LargestAdvantage, measure_membership
from tacit.models.attacks.rmia import OfflineRmia, OnlineRmia
from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.attacks.shadow_training import train_shadows
from tacit.models.attacks.targets import attack_confidence, attack_model, gather_targets
from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput


def logit(p):
    return np.log(np.asarray(p) / (1 - np.asarray(p)))


def column(p, member):
    """Shadow models asked about one point."""
    return ShadowConfidences(confidence=logit(p)[:, None], member=np.array(member)[:, None])


# --- the pins of the formula sheet


PIN = column([0.9, 0.96, 0.98, 0.5, 0.6, 0.8], [True] * 3 + [False] * 3)


def test_lira_has_the_pinned_values():
    target = logit([0.95])
    assert OnlineLira(shadows=PIN).score(target)[0] == pytest.approx(7.934461, abs=1e-6)
    assert ndtr(OfflineLira(shadows=PIN).score(target)[0]) == pytest.approx(0.99997248, abs=1e-8)
    assert OnlineLira(shadows=PIN, spread=PooledSpread()).score(target)[0] == pytest.approx(6.682831, abs=1e-6)
    assert ndtr(OfflineLira(shadows=PIN, spread=PooledSpread()).score(target)[0]) == pytest.approx(0.99987530, abs=1e-8)


def both_sides(inside, outside):
    """Two models with each point and two without, which say the same."""
    p = np.array([inside, inside, outside, outside])
    return ShadowConfidences(
        confidence=logit(p), member=np.repeat([True, True, False, False], p.shape[1]).reshape(p.shape)
    )


TARGET = logit([0.9, 0.6, 0.7, 0.3, 0.8, 0.4])
AVERAGE = np.array([0.675, 0.55, 0.7, 0.5, 0.62, 0.6])  # ratios 4/3, 12/11, 1, 3/5, 40/31, 2/3
RANKS = np.array([6, 4, 3, 1, 5, 2]) / 6


def test_rmia_has_the_pinned_values():
    shadows = both_sides([0.85, *AVERAGE[1:]], [0.5, *AVERAGE[1:]])
    assert OnlineRmia(shadows=shadows).score(TARGET) == pytest.approx(RANKS, abs=1e-12)


def test_rmia_offline_has_the_pinned_values():
    # with a = .3 the average is (1.3 p_out + .7)/2, so p_out follows from it
    out = (2 * AVERAGE - 0.7) / 1.3
    shadows = both_sides(np.full(6, 0.85), out)
    assert OfflineRmia(shadows=shadows, a=0.3).score(TARGET) == pytest.approx(RANKS, abs=1e-12)


# --- against plain loops


def by_loop(f, shadows, *, pooled):
    """LiRA, point by point: returns the online and the offline score."""
    split = [(shadows.confidence[m, i], shadows.confidence[~m, i]) for i, m in enumerate(shadows.member.T)]
    residuals = [value - side.mean() for sides in split for side in sides for value in side]
    one = math.sqrt(sum(r * r for r in residuals) / len(residuals))
    online, offline = [], []
    for value, (inside, outside) in zip(f, split, strict=True):
        s_in, s_out = (one, one) if pooled else (inside.std(), outside.std())
        s_in, s_out = max(s_in, LEAST_SD), max(s_out, LEAST_SD)
        online.append(norm.logpdf(value, inside.mean(), s_in) - norm.logpdf(value, outside.mean(), s_out))
        offline.append(norm.cdf(value, outside.mean(), s_out))
    return np.array(online), np.array(offline)


def rmia_by_loop(f, shadows, *, a=None):
    """RMIA, pair by pair, in probabilities."""
    p, own = 1 / (1 + np.exp(-shadows.confidence)), 1 / (1 + np.exp(-np.asarray(f)))
    ratio = []
    for i, m in enumerate(shadows.member.T):
        out = p[~m, i].mean()
        average = (p[m, i].mean() + out) / 2 if a is None else ((1 + a) * out + 1 - a) / 2
        ratio.append(own[i] / average)
    return np.array([sum(x >= z for z in ratio) / len(ratio) for x in ratio])


@pytest.fixture(scope="module")
def some():
    """Random confidences of 12 models on 150 points, unevenly in and out, and a target's."""
    rng = np.random.default_rng(3)
    member = rng.random((12, 150)) < 0.4
    member[:2], member[2:4] = True, False
    mean, sd = rng.normal(0, 3, 150), rng.uniform(0.2, 2, 150)
    shadows = ShadowConfidences(confidence=mean + sd * rng.normal(size=(12, 150)) + member, member=member)
    return shadows, mean + sd * rng.normal(size=150)


@pytest.mark.parametrize("spread", [SpreadPerPoint(), PooledSpread()])
def test_lira_agrees_with_a_loop(some, spread):
    shadows, f = some
    online, offline = by_loop(f, shadows, pooled=isinstance(spread, PooledSpread))
    np.testing.assert_allclose(OnlineLira(shadows=shadows, spread=spread).score(f), online, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ndtr(OfflineLira(shadows=shadows, spread=spread).score(f)), offline, atol=1e-9)


def test_rmia_agrees_with_a_loop(some):
    shadows, f = some
    online, offline = OnlineRmia(shadows=shadows).score(f), OfflineRmia(shadows=shadows, a=0.3).score(f)
    np.testing.assert_allclose(online, rmia_by_loop(f, shadows), atol=1e-9)
    np.testing.assert_allclose(offline, rmia_by_loop(f, shadows, a=0.3), atol=1e-9)
    assert len(np.unique(online)) == len(f), "no two rows tie"


def test_offline_attacks_do_not_look_at_models_with_the_point(some):
    shadows, f = some
    changed = ShadowConfidences(confidence=np.where(shadows.member, 99.0, shadows.confidence), member=shadows.member)
    for attack in (OfflineLira, OfflineRmia):
        np.testing.assert_array_equal(attack(shadows=shadows).score(f), attack(shadows=changed).score(f))
    assert (OnlineLira(shadows=shadows).score(f) != OnlineLira(shadows=changed).score(f)).any(), "control"


def test_models_that_agree_exactly_give_finite_scores():
    shadows = ShadowConfidences(
        confidence=np.full((4, 3), 36.7), member=np.repeat([[True], [True], [False], [False]], 3, axis=1)
    )
    for attack in (OnlineLira, OfflineLira, OnlineRmia, OfflineRmia):
        assert np.isfinite(attack(shadows=shadows).score([36.7, -36.7, 0.0])).all()


def test_the_offline_score_does_not_saturate():
    shadows = ShadowConfidences(confidence=[[-1.0, -1.0], [1.0, 1.0]], member=np.zeros((2, 2), dtype=bool))
    low, high = OfflineLira(shadows=shadows).score([20.0, 30.0])
    assert low < high
    assert ndtr(low) == ndtr(high) == 1.0, "control: the published score ties them"


# --- confidence


def test_confidence_of_logits_is_exact_where_probabilities_have_rounded():
    assert confidence_from_logits([[50.0, 0.0, -800.0]], [0])[0] == pytest.approx(50.0, rel=1e-15)
    assert confidence_from_logits([[0.0, 900.0]], [0])[0] == -900.0
    p = math.exp(50) / (math.exp(50) + 1)
    assert p == 1.0, "control: ln p - ln(1 - p) would be infinite"


def test_confidence_does_not_depend_on_where_it_comes_from():
    z = np.random.default_rng(0).normal(0, 4, (200, 5))
    y = np.arange(200) % 5
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    f = confidence_from_logits(z, y)
    own = p[np.arange(200), y]
    np.testing.assert_allclose(confidence_from_probabilities(p, y), f, atol=1e-12)
    np.testing.assert_allclose(confidence_from_probabilities(own), f, atol=1e-9)
    np.testing.assert_allclose(confidence_from_losses(-np.log(own)), f, atol=1e-9)


def test_classes_need_not_be_numbers_or_sorted():
    p = [[0.7, 0.2, 0.1]]
    assert confidence_from_probabilities(p, ["x"], classes=["z", "x", "y"])[0] == pytest.approx(math.log(0.2 / 0.8))


def test_a_torch_module_is_asked_in_evaluation_mode_and_left_as_it_was():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 4))
    module[1].eval()
    X, y = np.random.default_rng(0).normal(size=(5000, 3)), np.arange(5000) % 4
    f = measure_confidence(module, X, y)
    assert module.training
    assert not module[1].training
    with torch.no_grad():
        logits = module.eval()(torch.tensor(X, dtype=torch.float32)).double().numpy()
    np.testing.assert_allclose(f, confidence_from_logits(logits, y), atol=1e-5)
    one = torch.nn.Linear(3, 1)
    np.testing.assert_allclose(measure_confidence(one, X, y % 2), -measure_confidence(one, X, 1 - y % 2))


def test_a_network_of_the_margin_problem_has_its_margin_as_confidence():
    network = TwoLayerReLU(weights=[[1.0], [-1.0]], biases=[0.0, 0.0], outputs=[1.0, -2.0])
    np.testing.assert_allclose(measure_confidence(network, [[2.0], [-3.0]], [1, -1]), [2.0, 6.0])


# --- what is measured


def test_the_threshold_is_held_out():
    rng = np.random.default_rng(0)
    held, greedy = [], []
    for _ in range(300):
        inside, outside = rng.normal(size=(2, 60))
        held.append(measure_membership(inside, outside, rng=rng).advantage)
        greedy.append(max((inside >= t).mean() - (outside >= t).mean() for t in inside))
    assert abs(np.mean(held)) < 4 * np.std(held) / np.sqrt(300)
    assert np.mean(greedy) > 0.1, "control: the best threshold on the same rows finds what is not there"


def test_the_threshold_is_the_best_of_all():
    rng = np.random.default_rng(1)
    inside, outside = np.sort(rng.normal(1, 1, 80)), np.sort(rng.normal(0, 1, 70))

    class All:  # the whole of the scores chooses
        def permutation(self, n):
            return np.arange(n)

    cut = LargestAdvantage(rng=All()).cut(inside, outside, level=0.95, delta=0.0)
    chosen_in, chosen_out = inside[:40], outside[:35]
    every = np.concatenate([chosen_in, chosen_out])
    best = max((chosen_in >= t).mean() - (chosen_out >= t).mean() for t in every)
    assert (chosen_in >= cut.thresholds[0]).mean() - (chosen_out >= cut.thresholds[0]).mean() == pytest.approx(best)
    below = max(score for score in every if score < cut.thresholds[0])
    above = min(score for score in every if score >= cut.thresholds[0])
    assert cut.thresholds[0] == pytest.approx((below + above) / 2), "half-way between two neighbors"


@pytest.mark.parametrize(
    ("inside", "outside", "threshold"),
    [
        ([1.0, 1.0], [0.0, -5.0], 0.5),
        ([math.inf, math.inf], [0.0, 0.0], math.inf),
        ([1.0, 1.0], [-math.inf, -math.inf], 1.0),
        ([1.0, 1.0], [2.0, 2.0], 1.0),
        ([np.nextafter(1.0, 2.0)] * 2, [1.0, 1.0], np.nextafter(1.0, 2.0)),
        ([1.7e308] * 2, [1.5e308] * 2, 1.6e308),
    ],
)
def test_the_threshold_stands_half_way_where_there_is_a_half_way(inside, outside, threshold):
    class First:
        def permutation(self, n):
            return np.arange(n)

    cut = LargestAdvantage(rng=First()).cut(np.array(inside), np.array(outside), level=0.95, delta=0.0)
    assert cut.thresholds[0] == threshold


def test_scores_that_are_apart_have_advantage_one():
    rng = np.random.default_rng(0)
    inside, outside = rng.uniform(1, 2, 40), rng.uniform(-1, 0, 40)
    assert all(measure_membership(inside, outside, rng=rng).advantage == 1.0 for _ in range(20))


def randomized_response(rng, rows, epsilon):
    """Scores of a mechanism that is epsilon-private for each row's presence, and no better."""
    member = rng.random(rows) < 0.5
    told = member ^ (rng.random(rows) < 1 / (1 + math.exp(epsilon)))
    return told[member].astype(float), told[~member].astype(float)


def test_the_epsilon_that_is_proved_holds_and_is_close():
    rng = np.random.default_rng(0)
    proved = [
        measure_membership(*randomized_response(rng, 4000, 1.0), rng=rng, coins=RowCoins()).epsilon_lower_bound
        for _ in range(100)
    ]
    assert np.mean(np.array(proved) > 1.0) <= 0.05
    assert np.mean(proved) > 0.75
    none = [
        measure_membership(*randomized_response(rng, 500, 0.0), rng=rng, coins=RowCoins()).epsilon_lower_bound
        for _ in range(200)
    ]
    assert np.mean(np.array(none) > 0) <= 0.05


def test_without_coins_nothing_is_proved():
    """Members from one place and non-members from another: a model that saw neither tells them apart."""
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(2, 1, 500), rng.normal(0, 1, 500)
    assert measure_membership(inside, outside, rng=rng).bound is None
    rates = leak_from_scores(inside, outside, threshold=HeldOut(rng=rng))
    assert rates.epsilon_lower_bound > 1, "control: error rates of rows of one model would have claimed an epsilon"


def test_losses_are_scores_with_the_sign_turned():
    rng = np.random.default_rng(0)
    inside, outside = rng.exponential(0.2, 300), rng.exponential(1.0, 300)
    one = attack_losses(inside, outside, rng=np.random.default_rng(1), coins=RowCoins())
    two = measure_membership(-inside, -outside, rng=np.random.default_rng(1), coins=RowCoins())
    assert one == two
    assert one.roc.auc == pytest.approx(np.mean(inside[:, None] < outside[None, :]))


# --- controls: what must be caught and what must not


def coin_split(X, y, rng):
    """Rows by fair coins, members first."""
    member = rng.random(len(X)) < 0.5
    return gather_targets((X[member], y[member]), (X[~member], y[~member])), member


class Blind(ClassifierMixin, BaseEstimator):
    """Fits, then forgets: a model drawn without looking at any row."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.weights_ = np.random.default_rng(self.random_state).normal(size=(X.shape[1], len(self.classes_)))
        return self

    def predict_proba(self, X):
        z = np.exp(X @ self.weights_)
        return z / z.sum(axis=1, keepdims=True)


def every_attack(shadows):
    attacks = [LossThreshold(), OnlineRmia(shadows=shadows), OfflineRmia(shadows=shadows)]
    return attacks + [
        kind(shadows=shadows, spread=s)
        for kind in (OnlineLira, OfflineLira)
        for s in (SpreadPerPoint(), PooledSpread())
    ]


def test_a_model_that_saw_nothing_is_not_caught():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 5)), rng.integers(0, 3, 2000)
    targets, _ = coin_split(X, y, rng)
    shadows = train_shadows(Blind(), targets.X, targets.y, models=16, rng=rng)
    model = Blind(random_state=1).fit(targets.X[targets.member], targets.y[targets.member])
    for attack in every_attack(shadows):
        leak = attack_model(model, targets, attack=attack, rng=rng, coins=RowCoins())
        assert abs(leak.roc.auc - 0.5) < 0.05
        assert leak.epsilon_lower_bound == 0.0
        assert leak.advantage_interval.low <= 0 <= leak.advantage_interval.high


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(random_state=0), KNeighborsClassifier(1)])
def test_an_overfitted_model_is_caught(estimator):
    rng = np.random.default_rng(0)
    X, y = make_classification(1200, 10, n_informative=5, flip_y=0.3, random_state=0)
    targets, _ = coin_split(X, y, rng)
    shadows = train_shadows(estimator, targets.X, targets.y, models=16, rng=rng)
    model = estimator.fit(targets.X[targets.member], targets.y[targets.member])
    for attack in every_attack(shadows):
        leak = attack_model(model, targets, attack=attack, rng=rng, coins=RowCoins())
        assert leak.roc.auc > 0.6
        assert leak.advantage_interval.low > 0.1
        assert leak.epsilon_lower_bound > 0.3


def test_lira_beats_the_loss_threshold_on_hard_and_easy_points():
    """Rows with random labels are remembered; easy rows have a low loss, in or out, and hide them from a threshold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 150))
    hard = rng.random(800) < 0.2
    y = np.where(hard, rng.integers(0, 2, 800), X[:, 0] > 0)
    X[:, 0] += np.where(hard, 0, 4 * np.sign(X[:, 0]))
    targets, _ = coin_split(X, y, rng)
    estimator = LogisticRegression(C=0.1, max_iter=300)
    shadows = train_shadows(estimator, targets.X, targets.y, models=32, rng=rng)
    model = estimator.fit(targets.X[targets.member], targets.y[targets.member])
    loss = attack_model(model, targets, rng=rng).roc
    for spread in (SpreadPerPoint(), PooledSpread()):
        lira = attack_model(model, targets, attack=OnlineLira(shadows=shadows, spread=spread), rng=rng).roc
        assert lira.at_1_percent.tpr > 3 * loss.at_1_percent.tpr
        assert lira.at_1_percent.interval.low > loss.at_1_percent.interval.high
        assert lira.auc > loss.auc


def test_half_a_vote_is_the_least_that_is_believed_of_a_forest():
    rng = np.random.default_rng(0)
    X, y = make_classification(600, 10, n_informative=5, flip_y=0.1, random_state=0)
    targets, _ = coin_split(X, y, rng)
    estimator = RandomForestClassifier(20, random_state=0)
    model = estimator.fit(targets.X[targets.member], targets.y[targets.member])

    def auc(floor):
        shadows = train_shadows(estimator, targets.X, targets.y, models=12, rng=np.random.default_rng(1), floor=floor)
        attack = OnlineLira(shadows=shadows, spread=PooledSpread())
        return attack_model(model, targets, attack=attack, rng=rng, floor=floor).roc.auc

    assert auc(1 / 40) > auc(FLOOR) + 0.03


# --- bad input


def refuses(function, words):
    with pytest.raises(InvalidInput) as error:
        function()
    message = str(error.value)
    assert words in message
    assert "\n" not in message


def test_outputs_that_are_no_numbers_are_refused():
    refuses(lambda: confidence_from_logits([[np.nan, 0.0]], [0]), "logits must be finite")
    refuses(lambda: confidence_from_probabilities([[np.nan, 1.0]], [0]), "probabilities must not contain NaN")
    refuses(lambda: confidence_from_probabilities([[1.2, -0.2]], [0]), "probabilities must be in [0, 1], got 1.2")
    refuses(lambda: confidence_from_probabilities([[0.2, 0.2]], [0]), "must sum to 1 in each row, got 0.4 in row 0")
    refuses(lambda: confidence_from_losses([0.1, np.nan]), "without NaN")
    refuses(lambda: confidence_from_losses([-0.1]), "numbers >= 0")
    rng = np.random.default_rng(0)
    refuses(lambda: attack_losses([0.1, np.nan], [0.2, 0.3], rng=rng), "member_losses must not contain NaN, got 1")
    refuses(lambda: attack_losses([0.1, 0.2], [], rng=rng), "nonmember_losses must have at least one score")
    refuses(lambda: attack_losses([0.1], [0.2, 0.3], rng=rng), "members must be 2 rows or more")


def test_a_module_whose_outputs_are_broken_is_refused():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 3)
    torch.nn.init.constant_(module.bias, math.nan)
    refuses(lambda: measure_confidence(module, np.zeros((4, 2)), [0, 1, 2, 0]), "logits must be finite")


def test_a_module_that_returns_probabilities_is_not_read_as_logits():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    one, two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 2)
    for logits, last in ((one, torch.nn.Sigmoid()), (two, torch.nn.Softmax(dim=1))):
        assert np.isfinite(measure_confidence(logits, X, y)).all()
        model = torch.nn.Sequential(logits, last)
        refuses(
            lambda model=model: measure_confidence(model, X, y), "model must return logits, got only numbers in [0, 1]"
        )
    log = torch.nn.Sequential(two, torch.nn.LogSoftmax(dim=1))  # logits up to a constant a row
    np.testing.assert_allclose(measure_confidence(log, X, y), measure_confidence(two, X, y), atol=1e-5)


def test_a_module_that_returns_no_tensor_is_refused():
    torch = pytest.importorskip("torch")

    class Wrapped(torch.nn.Linear):
        def forward(self, rows):
            return {"logits": super().forward(rows)}

    refuses(lambda: measure_confidence(Wrapped(2, 2), np.zeros((4, 2)), [0, 1, 1, 0]), "a tensor of logits, got dict")


def test_labels_that_the_model_does_not_know_are_refused():
    model = KNeighborsClassifier(1).fit([[0.0], [1.0]], ["cat", "dog"])
    refuses(lambda: measure_confidence(model, [[0.0]], ["cow"]), "classes of the model (cat, dog), got 'cow'")
    refuses(lambda: confidence_from_logits([[0.0, 1.0]], [2]), "classes of the model (0, 1), got 2")
    refuses(lambda: confidence_from_logits([[0.0, 1.0]], [0, 1]), "one for each of 1 rows")
    refuses(lambda: measure_confidence(object(), [[0.0]], [0]), "model must have predict_proba")


def test_members_and_nonmembers_must_fit_each_other():
    a, b = ([[0.0, 1.0], [2.0, 3.0]], [0, 1]), ([[4.0, 5.0]], [0])
    refuses(lambda: gather_targets(a, ([[1.0, 2.0, 3.0]], [0])), "the same columns, got (2,) and (3,)")
    refuses(lambda: gather_targets(a, ([[0.0, 1.0], [-0.0, 1.0]], [0, 0])), "must not share rows, got 1 in both")
    refuses(lambda: gather_targets(a, ([[4.0, 5.0]], [0, 1])), "nonmembers must have a label for each of 1 rows")
    refuses(lambda: gather_targets(([["a"]], [0]), b), "members must have rows of numbers")
    refuses(lambda: gather_targets((np.zeros((0, 2)), []), b), "members must have one row or more")
    assert gather_targets(a, ([[0.0, 1.0]], [1])).member.sum() == 2, "another label is another row"


def test_tables_stay_tables():
    a = pd.DataFrame({"city": ["Bern", None], "age": [1.0, math.nan]})
    b = pd.DataFrame({"city": ["Wien"], "age": [1.0]})
    targets = gather_targets((a, [0, 1]), (b, [0]))
    assert targets.X.equals(pd.concat([a, b], ignore_index=True))
    refuses(lambda: gather_targets((a, [0, 1]), (a[1:], [1])), "must not share rows, got 1 in both")
    refuses(lambda: gather_targets((a, [0, 1]), (b[["age", "city"]], [0])), "got ['city', 'age'] and ['age', 'city']")
    refuses(lambda: gather_targets((a, [0, 1]), ([[1.0, 2.0]], [0])), "must have the same columns")


def test_a_pipeline_of_named_columns_is_attacked_as_it_is():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice(["Bern", "Wien", "Köln"], 600), "age": rng.normal(size=600)})
    y, coin = rng.integers(0, 2, 600), rng.random(600) < 0.5
    encode = ColumnTransformer([("city", OneHotEncoder(), ["city"])], remainder="passthrough")
    pipeline = make_pipeline(encode, DecisionTreeClassifier(max_depth=12))
    targets = gather_targets((table[coin], y[coin]), (table[~coin], y[~coin]))
    model = clone(pipeline).fit(table[coin], y[coin])
    assert attack_model(model, targets, rng=rng, coins=RowCoins()).epsilon_lower_bound > 0.3
    shadows = train_shadows(pipeline, targets.X, targets.y, models=8, rng=rng)
    told = attack_model(model, targets, attack=OnlineLira(shadows=shadows, spread=PooledSpread()), rng=rng)
    other = clone(pipeline).fit(table, rng.integers(0, 2, 600))
    assert told.roc.auc > 0.7
    assert attack_model(other, targets, rng=rng, coins=RowCoins()).epsilon_lower_bound == 0


def test_too_few_shadow_models_are_refused():
    f, zeros = [0.0], np.zeros((4, 1))
    one_in = ShadowConfidences(confidence=zeros, member=[[True], [False], [False], [False]])
    one_out = ShadowConfidences(confidence=zeros, member=[[True], [True], [True], [False]])
    for attack in (OnlineLira, OnlineRmia):
        refuses(
            lambda attack=attack: attack(shadows=one_in).score(f), "2 models or more trained with each point, got 1"
        )
    for attack in (OnlineLira, OfflineLira, OnlineRmia, OfflineRmia):
        refuses(lambda attack=attack: attack(shadows=one_out).score(f), "trained without each point, got 1 of 4")
    refuses(lambda: OnlineLira(shadows=PIN).score([0.0, 1.0]), "one number for each of 1 points, got shape (2,)")
    refuses(lambda: OnlineLira(shadows=PIN).score([np.nan]), "confidence must be finite")
    refuses(lambda: ShadowConfidences(confidence=[[np.inf]], member=[[True]]), "confidence must be finite")
    refuses(lambda: ShadowConfidences(confidence=[[0.0]], member=[[1]]), "member must have true or false")


def test_settings_out_of_range_are_refused():
    refuses(lambda: OfflineRmia(shadows=PIN, a=1.5), "a must be in [0, 1], got 1.5")
    refuses(lambda: confidence_from_probabilities([0.5], floor=0.7), "floor must be in (0, 0.5), got 0.7")
    rng = np.random.default_rng(0)
    refuses(lambda: attack_confidence([0.0, 1.0], [True], rng=rng), "member must be true or false for each of 2 rows")
    many, few = np.zeros(900), np.zeros(100)
    refuses(lambda: measure_membership(many, few, rng=rng, coins=RowCoins()), "900 members of 1000 rows")
