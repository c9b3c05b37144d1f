"""Models: membership scores of all rows at once, against a loop over the rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from benchmarks.timing import in_turns, timed_row
from tacit.models.attacks.lira import OfflineLira, OnlineLira, PooledSpread
from tacit.models.attacks.rmia import OfflineRmia, OnlineRmia
from tacit.models.attacks.shadow import ShadowConfidences


def run(*, quick: bool) -> list[dict]:
    """Return one row an attack."""
    points, models = (300, 16) if quick else (10_000, 64)
    rng = np.random.default_rng(0)
    coins = rng.random((models // 2, points)) < 0.5
    member = np.stack([coins, ~coins], axis=1).reshape(models, points)
    mean = rng.normal(0, 3, points)
    shadows = ShadowConfidences(confidence=mean + member + rng.normal(size=member.shape), member=member)
    target = mean + rng.normal(size=points)
    cases = {
        "LiRA online": (OnlineLira(shadows=shadows), lambda: _lira(target, shadows)),
        "LiRA online, fixed variance": (
            OnlineLira(shadows=shadows, spread=PooledSpread()),
            lambda: _lira(target, shadows, sd=_pooled(shadows)),
        ),
        "LiRA offline": (OfflineLira(shadows=shadows), lambda: _lira_offline(target, shadows)),
        "RMIA online": (OnlineRmia(shadows=shadows), lambda: _rmia(target, shadows)),
        "RMIA offline": (OfflineRmia(shadows=shadows, a=0.3), lambda: _rmia(target, shadows, a=0.3)),
    }
    return [
        _compare(f"{name}, {points:,} points x {models} models", attack, target, loop)
        for name, (attack, loop) in cases.items()
    ]


def _compare(case, attack, target, loop) -> dict:
    np.testing.assert_allclose(attack.score(target), loop(), rtol=1e-9, atol=1e-9)
    seconds, theirs = in_turns(lambda: attack.score(target), loop, best_of=2)
    return timed_row(case, seconds, "a loop over the points, the same scores to 1e-9", theirs)


def _lira(target, shadows, sd=None) -> list[float]:
    scores = []
    for i, value in enumerate(target):
        chosen, f = shadows.member[:, i], shadows.confidence[:, i]
        inside, outside = f[chosen], f[~chosen]
        s_in, s_out = (inside.std(), outside.std()) if sd is None else (sd, sd)
        scores.append(norm.logpdf(value, inside.mean(), s_in) - norm.logpdf(value, outside.mean(), s_out))
    return scores


def _lira_offline(target, shadows) -> list[float]:
    outside = [shadows.confidence[~shadows.member[:, i], i] for i in range(len(target))]
    return [(value - f.mean()) / f.std() for value, f in zip(target, outside, strict=True)]


def _pooled(shadows) -> float:
    residuals = []
    for f, chosen in zip(shadows.confidence.T, shadows.member.T, strict=True):
        residuals += [f[chosen] - f[chosen].mean(), f[~chosen] - f[~chosen].mean()]
    return float(np.concatenate(residuals).std())


def _rmia(target, shadows, a=None) -> list[float]:
    p, own = 1 / (1 + np.exp(-shadows.confidence)), 1 / (1 + np.exp(-target))
    ratio = np.empty(len(target))
    for i in range(len(target)):
        chosen = shadows.member[:, i]
        outside = p[~chosen, i].mean()
        average = (p[chosen, i].mean() + outside) / 2 if a is None else ((1 + a) * outside + 1 - a) / 2
        ratio[i] = own[i] / average
    return [float(np.mean(x / ratio >= 1.0)) for x in ratio]
