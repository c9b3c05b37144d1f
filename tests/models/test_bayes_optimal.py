"""Our attacks beside the best possible one, on a model whose law is known: one step of noisy gradient descent."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from tacit.models.attacks.lira import CalibratedLira, OnlineLira, PooledSpread
from tacit.models.attacks.loss_threshold import LossThreshold
from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.attacks.shadow_training import train_shadows
from tacit.models.attacks.targets import attack_confidence

NOISE, ROWS, FEATURES = 20.0, 2000, 700
RATE = 1e-3  # of the step: outputs stay where the sigmoid does not saturate


class OneStep(ClassifierMixin, BaseEstimator):
    """Logistic regression after one noisy step from zero: w = sum of y x plus noise."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        rng = np.random.default_rng(self.random_state)
        self.coef_ = RATE * ((2 * y - 1) @ X + NOISE * rng.normal(size=X.shape[1]))
        return self

    def predict_proba(self, X):
        p = expit(X @ self.coef_)
        return np.stack([1 - p, p], axis=1)


def log_odds(f, X, y):
    """The log odds of membership by Bayes' rule for who sees y x.w and knows all rows, but the coin of none.

    With c_k = y_i y_k x_i.x_k, y x.w is about normal. Its mean is half the sum of the other c_k, plus |x|^2 inside; its
    variance is a quarter of the sum of the other c_k^2, plus noise^2 |x|^2.
    """
    signed = (2 * y - 1)[:, None] * X
    shared = signed @ signed.T
    size = np.diag(shared).copy()
    mean = (shared.sum(axis=1) - size) / 2
    variance = (np.square(shared).sum(axis=1) - size**2) / 4 + NOISE**2 * size
    f = f / RATE - mean
    return (f**2 - (f - size) ** 2) / (2 * variance)


@pytest.fixture(scope="module")
def trials():
    return made_trials()


def made_trials(targets=40):
    """Confidences of targets on the same rows, with coins of their own, and shadow models of the attacker's."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ROWS, FEATURES)), rng.integers(0, 2, ROWS)
    shadows = train_shadows(OneStep(), X, y, rng=rng, models=32)
    made_targets = []
    for seed in range(targets):
        coin = rng.random(ROWS) < 0.5
        made = OneStep(random_state=1000 + seed).fit(X[coin], y[coin])
        made_targets.append((coin, (2 * y - 1) * (X @ made.coef_)))
    return X, y, shadows, made_targets


def advantage(trials, attack):
    found = [
        attack_confidence(f, coin, attack=attack, rng=np.random.default_rng(k)).advantage
        for k, (coin, f) in enumerate(trials[3][:10])
    ]
    return np.mean(found)


class ByBayes:
    def __init__(self, X, y):
        self.X, self.y = X, y

    def score(self, f):
        return log_odds(f, self.X, self.y)


def test_lira_comes_within_a_point_of_the_best(trials):
    """And neither does the loss, which knows no other row, nor the published attack with as many models."""
    X, y, shadows, _ = trials
    best = advantage(trials, ByBayes(X, y))
    assert 0.2 < best < 0.6
    assert abs(advantage(trials, CalibratedLira(shadows=shadows)) - best) < 0.01
    assert advantage(trials, OnlineLira(shadows=shadows, spread=PooledSpread())) < best - 0.01
    assert advantage(trials, LossThreshold()) < best - 0.02


def calibration_error(beliefs, member, bins=10):
    order = np.argsort(beliefs)
    parts = zip(np.array_split(beliefs[order], bins), np.array_split(member[order], bins), strict=True)
    return np.mean([abs(belief.mean() - inside.mean()) for belief, inside in parts])


def beliefs(trials, lira, times=1):
    """What the attack believes of each row of all targets, and whether it was in."""
    scores = np.concatenate([lira.score(f) for _, f in trials[3]])
    return expit(times * scores), np.concatenate([coin for coin, _ in trials[3]])


def test_beliefs_are_calibrated(trials):
    lira = CalibratedLira(shadows=trials[2])
    assert calibration_error(*beliefs(trials, lira)) < 0.02
    assert calibration_error(*beliefs(trials, lira, times=2)) > 0.03, "control: beliefs twice as strong"


def test_without_an_effect_or_noise_scores_are_finite():
    rng = np.random.default_rng(1)
    member = np.tile([[True], [False]], (4, 3))
    same = ShadowConfidences(confidence=np.ones((8, 3)), member=member)
    assert np.isfinite(CalibratedLira(shadows=same).score([1.0, 2.0, 0.0])).all()
    noise = ShadowConfidences(confidence=rng.normal(size=(8, 3)), member=member)
    assert np.isfinite(CalibratedLira(shadows=noise).score([1.0, 2.0, 0.0])).all()
