"""What all teams together learn from the live scores that they share, and how well these rank models.

Run ``TACIT_DATA=... python -m benchmarks.scoring_together``. For the live rows of four sets and each limit X: how many
accuracies, rounded to 3 decimals, the server gives all teams where every class has at least a fifth of the rows; the
points of balanced advantage that attackers gain from them; and Kendall's tau-b of 50 honest models
(``scoring_models.py``) between released and exact scores of the live rows.

The attackers know the rules, predict at random the rows that they ask about, and use Bayes' rule: approximate message
passing (``amp``), Gibbs sampling (``gibbs``), and message passing about the rows that features leave unsure, in four
sizes of which the best is reported (``unsure``). The first two face labels of which a fifth or a half are 1 and which
features do not tell; the third faces labels drawn from what a calibrated model of the set's features believes, and its
gain is beyond that model's. Every attack is repeated on new labels until it has faced 200,000 of them for each seed
(Gibbs: 100,000). ``before`` is the earlier default, 20 teams of 100 scores with Laplace noise of epsilon 0.2.
``replay`` is the attack of all teams on the server's demo over HTTP, on the real labels and with the final scores.
Results: ``benchmarks/results/scoring_together.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import kendalltau
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from benchmarks.__main__ import HERE, describe_machine
from benchmarks.data_sets import adult
from benchmarks.scoring_models import Scored, each_prediction, held_out
from tacit.data import satellite, titanic
from tacit.leak.prior import calibrated_prior
from tacit.scores.metrics import Accuracy, LogLoss, Metric
from tacit.scores.policies import Rounded
from tacit.server import CompetitionPlan, Rules, ScoringEngine, ServerSettings
from tacit.server.app import running
from tacit.server.coalition import answers_within
from tacit.server.demo import create_titanic
from tacit.server.replay import replay_attack

LIMITS, RAREST, LIVE = (3.0, 10.0, 30.0), 0.2, 0.3
SIZES = (1.0, 0.5, 0.25, 0.1)
_FACED, _ROUNDS, _SWEEPS = 200_000, 40, 400
_BEFORE = 20 * 100
Beliefs = NDArray[np.float32]
Attack = Callable[[Beliefs, Beliefs, Beliefs, float], Beliefs]


def amp(asked: Beliefs, answers: Beliefs, prior: Beliefs, noise: float) -> Beliefs:
    """Return P(label = 1) by approximate message passing, for (runs, answers, rows) of signs."""
    odds, count = logit(prior), asked.shape[1]
    mean = np.array(prior)
    rest, scale = answers - _times(asked, mean), None
    for _ in range(_ROUNDS):
        spread = (mean * (1 - mean)).sum(axis=1, keepdims=True)
        if scale is not None:
            rest = answers - _times(asked, mean) + rest * spread / scale
        scale = noise + spread
        seen = mean + _times(asked.transpose(0, 2, 1), rest) / count
        mean = 0.5 * mean + 0.5 * expit(odds + (2 * seen - 1) * count / (2 * scale))  # damped
    return mean


def gibbs(asked: Beliefs, answers: Beliefs, prior: Beliefs, noise: float) -> Beliefs:
    """Return P(label = 1) as the mean of a Gibbs sampler's conditional chances after a third of the sweeps.

    Exact answers freeze it, so it takes their noise for a little larger: 3% of what the labels add, or more.
    """
    rng, odds, count = np.random.default_rng(0), logit(prior), asked.shape[1]
    noise = max(noise, count / 4, 0.03 * float((prior * (1 - prior)).sum(axis=1).mean()))
    now = (rng.random(prior.shape) < prior).astype(np.float32)
    rest, total = answers - _times(asked, now), np.zeros_like(now)
    for sweep in range(_SWEEPS):
        for row in rng.permutation(prior.shape[1]):
            signs = asked[:, :, row]
            without = rest + signs * now[:, row, None]
            chance = expit(odds[:, row] + ((signs * without).sum(axis=1) - count / 2) / noise)
            now[:, row] = rng.random(len(chance)) < chance
            rest = without - signs * now[:, row, None]
            if sweep >= _SWEEPS // 3:
                total[:, row] += chance
    return np.clip(total / (_SWEEPS - _SWEEPS // 3), 1e-6, 1 - 1e-6)


def _times(matrices: Beliefs, vectors: Beliefs) -> Beliefs:
    return np.matmul(matrices, vectors[:, :, None])[:, :, 0]


def points(
    prior: Beliefs, answers: int, *, noise: float, size: float, attack: Attack, runs: int, rng: np.random.Generator
) -> float:
    """Return the points of balanced advantage beyond the prior, the mean of runs on labels drawn from it."""
    rows, most = len(prior), max(1, 40_000_000 // max(1, answers * len(prior)))
    asked_rows = np.argsort(np.abs(_balanced(prior, prior) - 0.5), kind="stable")[: max(1, round(rows * size))]
    gains: list[float] = []
    while len(gains) < runs:
        many = min(most, runs - len(gains))
        truth = (rng.random((many, rows)) < prior).astype(np.float32)
        signs = rng.choice(np.array([-1, 1], dtype=np.float32), (many, answers, len(asked_rows)))
        seen = _times(signs, truth[:, asked_rows]) + rng.normal(0, noise**0.5, (many, answers))
        known = np.tile(prior, (many, 1)).astype(np.float32)
        before, after = known, known.copy()
        after[:, asked_rows] = attack(signs, seen.astype(np.float32), known[:, asked_rows], max(noise, 0.05))
        gains += list(_advantage(after, truth, prior) - _advantage(before, truth, prior))
    return 100 * float(np.mean(gains))


def _balanced(chances: Beliefs, prior: Beliefs) -> Beliefs:
    """Return chances as they were if both classes were equally frequent: the guess of balanced advantage."""
    share = prior.mean()
    return chances * (1 - share) / (chances * (1 - share) + (1 - chances) * share)


def _advantage(chances: Beliefs, truth: Beliefs, prior: Beliefs) -> Beliefs:
    """Return the share of ones guessed as 1, less that of zeros; a tie is half a guess."""
    weighed = _balanced(chances, prior)
    guess = (weighed > 0.5) + 0.5 * (np.abs(weighed - 0.5) < 1e-6)
    ones, zeros = truth.sum(axis=1), (1 - truth).sum(axis=1)
    return (guess * truth).sum(axis=1) / np.maximum(ones, 1) - (guess * (1 - truth)).sum(axis=1) / np.maximum(zeros, 1)


def repeated(prior: Beliefs, answers: int, *, seeds: int, faced: int = _FACED, **given: Any) -> list[float]:
    """Return mean and standard error over seeds."""
    runs = max(1, faced // len(prior))
    found = [points(prior, answers, runs=runs, rng=np.random.default_rng(seed), **given) for seed in range(seeds)]
    return [float(np.mean(found)), float(np.std(found) / max(1, len(found) - 1) ** 0.5)]


def attacked(prior: Beliefs, answers: int, *, limit: float, seeds: int) -> dict[str, Any]:
    """Return what each attacker gains from so many accuracies of 3 decimals."""
    if not answers:
        return {}
    rows = len(prior)
    noise = (rows * 1e-3) ** 2 / 12
    told: dict[str, Any] = {
        f"amp, {share:g}": repeated(
            np.full(rows, share, np.float32), answers, noise=noise, size=1.0, attack=amp, seeds=seeds
        )
        for share in (RAREST, 0.5)
    }
    sizes = {
        size: repeated(prior, answers, noise=noise, size=size, attack=amp, seeds=seeds, faced=_FACED // 2)
        for size in SIZES
    }
    told["unsure"] = max(sizes.values())
    told["unsure, by size"] = sizes
    if limit == 10:
        few = {"seeds": 1, "faced": 30_000} if rows > 10_000 else {"seeds": seeds, "faced": _FACED // 2}
        coins = np.full(rows, RAREST, np.float32)
        told["gibbs, 0.2"] = repeated(coins, answers, noise=noise, size=1.0, attack=gibbs, **few)
    return told


def taus(data: Scored, predictions: list[NDArray[np.float64]], *, seeds: int) -> dict[str, list[float]]:
    """Return Kendall's tau-b of released and exact scores on the live rows: the least and the mean of splits."""
    rules, rows = Rules(plan=CompetitionPlan()), len(predictions[0])
    labels, found = data.labels[:rows], {}
    metrics: list[Metric] = [LogLoss(classes=data.classes), Accuracy(classes=data.classes)]
    for metric in metrics:
        each = []
        for seed in range(seeds):
            live = rules.public_rows(range(rows), key=str(seed).encode())
            exact = [metric.measure(labels[live], _submission(metric, one)[live]).exact for one in predictions]
            each.append(float(kendalltau(exact, np.round(exact, Rounded().decimals)).statistic))
        found[metric.name] = [min(each), float(np.mean(each))]
    return found


def _submission(metric: Metric, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    if metric.name == "accuracy":
        return chances.argmax(axis=1).astype(np.float64)
    return chances[:, 1] if chances.shape[1] == 2 else chances


def sets() -> dict[str, tuple[Scored, NDArray[np.float64], NDArray[np.int64]]]:
    """Return each set as its models see it, and the features and labels of all rows: its largest class or not."""
    cancer = load_breast_cancer()
    parts = tuple(StratifiedKFold(2, shuffle=True, random_state=0).split(cancer.data, cancer.target))
    small = Scored(name="cancer", X=cancer.data, labels=cancer.target.astype(np.int64), classes=2, parts=parts)
    found = {"Titanic": (held_out("titanic"), titanic()), "Satellite": (held_out("satellite"), satellite())}
    if os.environ.get("TACIT_DATA"):
        found["Adult"] = (held_out("adult"), adult())
    shown = {
        name: (data, table.X, (table.codes == np.bincount(table.codes).argmax()).astype(np.int64))
        for name, (data, table) in found.items()
    }
    return {"Breast cancer": (small, cancer.data, cancer.target.astype(np.int64)), **shown}


def replayed(*, seeds: int) -> dict[str, Any]:
    """Return what all teams of the demo learn over HTTP from all their scores, the final ones included."""
    found = []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
            engine = ScoringEngine.open(ServerSettings(folder=Path(folder)))
            create_titanic(engine)
            teams = engine.competition("titanic").teams
            told = replay_attack(engine, "titanic", serving=running, teams=teams, rng=np.random.default_rng(seed))
            engine.close()
        found.append(told.to_json())
    return {"set": "Titanic", "recovered": float(np.mean([one["recovered"] for one in found])), "runs": found}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", help="some sets, with commas between")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "scoring_together.json")
    parser.add_argument("--replay", action="store_true", help="replace the replay of the demo in the results, no more")
    told = parser.parse_args()
    if told.replay:
        known = json.loads(told.out.read_text()) | {"replay": replayed(seeds=told.seeds)}
        told.out.write_text(json.dumps(known, indent=1) + "\n")
        return
    begin, table = time.process_time(), []
    for name, (data, features, labels) in sets().items():
        if told.only and name not in told.only.split(","):
            continue
        rows = round(LIVE * len(labels))
        chances = calibrated_prior(features, labels, classes=2)[:, 1]
        chosen = np.random.default_rng(0).permutation(len(labels))[:rows]
        prior = np.clip(chances[chosen], 1e-4, 1 - 1e-4).astype(np.float32)
        agreed = taus(data, [one for _, one in each_prediction(data)], seeds=told.seeds)
        control = repeated(
            np.full(rows, 0.5, np.float32), _BEFORE, noise=2 / 0.2**2, size=1.0, attack=amp, seeds=1, faced=2 * rows
        )
        for limit in LIMITS:
            answers, losses = (
                answers_within(limit, metric, Rounded(), rows=rows, rarest=RAREST) for metric in (Accuracy(), LogLoss())
            )
            gained = attacked(prior, answers, limit=limit, seeds=told.seeds)
            row = {"set": name, "rows": rows, "limit": limit, "answers": answers, "answers_log_loss": losses}
            table.append({**row, "points": gained, "before": control[0], "tau": agreed})
            print(json.dumps(table[-1]), round(time.process_time() - begin), flush=True)
    found = {
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "seeds": told.seeds,
        "processor_seconds": round(time.process_time() - begin),
        "table": table,
        "replay": replayed(seeds=told.seeds),
    }
    told.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
