"""How many submissions of our own attacks are flagged, and how many of real models'.

    python -m benchmarks.scoring_crafted            # all sets, every design; writes the JSON and the table of the page
    python -m benchmarks.scoring_crafted --quick    # Titanic and Iris, writes nothing

The attacks are run against the real scorers and answered truly, so that later queries hold what was learned. The models
are the fifty of ``scoring_models.py``, trained on rows that are not scored; each is submitted as computed, in float32,
rounded to 2, 3, 4 and 6 decimals, and as hard labels.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn import metrics as sk
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import HERE, describe_machine
from benchmarks.scoring_models import MODELS, Table, held_out, one_split, predictions_of
from benchmarks.scoring_ranking import PAGE, put_table, write_text
from papers.score_attacks.attacks import LaplaceAnswerNoise, plan_against_noise, prior_design
from tacit.leak.prior import feature_prior
from tacit.privacy.errors import TacitError
from tacit.scores import attacks
from tacit.scores.inspections import FeatureStudy, inspect_submission, sketch_submission
from tacit.scores.metrics import F1, SKLEARN_FLOOR, Accuracy, Auc, Brier, LogLoss, Mae, Metric, Rmse
from tacit.scores.policies import Exact, Policy, Rounded

RESULTS = HERE / "results" / "scoring_crafted.json"
SETS = {"titanic": 2201, "iris": 150, "digits": 1797, "satellite": 1200}
SEEDS = {"titanic": 2, "iris": 3, "digits": 1, "satellite": 1}

Host = Callable[[Any], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A design, the scorer it asks, and the order of rows."""

    name: str
    design: attacks.QueryDesign
    host: Host
    order: NDArray[np.int64] | None = field(default=None, repr=False)


def attacks_on(y: NDArray[np.int64], prior: Table, *, rng: np.random.Generator) -> Iterator[Attack]:
    """Yield every design of every metric that can be asked about these labels."""
    classes, rows = prior.shape[1], len(y)
    order = rng.permutation(rows)
    log, brier = LogLoss(classes=classes, floor=SKLEARN_FLOOR), Brier(classes=classes)

    def rounded(metric: Metric, decimals: int) -> Host:
        return lambda p: round(metric.score(y, p), decimals)

    yield from _planned("log loss, exact", log, Exact(), lambda p: log.score(y, p), rows, order)
    for decimals in (3, 5):
        channel = attacks.LossChannel.of(log, rows=rows, policy=Rounded(decimals=decimals))
        host = rounded(log, decimals)
        yield Attack(
            name=f"log loss, {decimals} decimals, digits", design=attacks.DigitDesign(channel=channel), host=host
        )
        joint = attacks.JointDesign(channel=channel)
        yield Attack(name=f"log loss, {decimals} decimals, joint", design=joint, host=host, order=order)
        if classes == 2:
            crowded = attacks.CrowdedDesign(channel=channel)
            yield Attack(name=f"log loss, {decimals} decimals, crowded", design=crowded, host=host)
        beliefs = prior_design(channel, prior)
        yield Attack(name=f"log loss, {decimals} decimals, with beliefs", design=beliefs, host=host)
    five = Rounded(decimals=5)
    yield from _planned("Brier, 5 decimals", brier, five, rounded(brier, 5), rows, order)
    right = Accuracy(classes=classes)
    yield from _planned("accuracy", right, five, lambda p: round(sk.accuracy_score(y, p), 5), rows, order)
    noisy = brier if classes == 2 else log
    plan = plan_against_noise(noisy, rows=rows, noise=LaplaceAnswerNoise(scale=0.01, failure=1e-3))
    yield from _both_orders("noised", plan.design, lambda p: noisy.score(y, p) + rng.laplace(0, 0.01), order)
    if classes == 2:
        yield from _planned("F1", F1(), five, lambda p: round(sk.f1_score(y, p), 5), rows, order)
        yield from _planned("AUC", Auc(), five, lambda p: round(sk.roc_auc_score(y, p), 5), rows, order)
        root = Rmse()
        yield from _planned("RMSE", root, five, lambda p: round(sk.root_mean_squared_error(y, p), 5), rows, order)
        size = Mae()
        yield from _planned("MAE", size, five, lambda p: round(sk.mean_absolute_error(y, p), 5), rows, order)


def _planned(
    name: str, metric: Metric, policy: Policy, host: Host, rows: int, order: NDArray[np.int64]
) -> Iterator[Attack]:
    return _both_orders(name, attacks.plan_attack(metric, rows=rows, policy=policy).design, host, order)


def _both_orders(name: str, design: attacks.QueryDesign, host: Host, order: NDArray[np.int64]) -> Iterator[Attack]:
    yield Attack(name=name, design=design, host=host)
    yield Attack(name=f"{name}, shuffled", design=design, host=host, order=order)


def submissions_of(one: Attack, *, seconds: float) -> list[Table]:
    """Return what an attack submits, its answers read, until it ends or the time is up."""
    asked: list[Table] = []
    steps, start = one.design.steps(order=one.order), time.monotonic()
    try:
        query = next(steps)
        while time.monotonic() - start < seconds:
            asked.append(np.asarray(query.predictions, dtype=np.float64).copy())
            query = steps.send(one.host(query.predictions))
    except (StopIteration, TacitError):
        pass
    return asked


def random_submissions(rows: int, classes: int, *, rng: np.random.Generator) -> Iterator[tuple[str, list[Table]]]:
    """Yield Blum and Hardt's random labels, and the random probabilities of Aggarwal et al."""
    yield "Blum-Hardt", [rng.integers(0, classes, size=rows).astype(np.float64) for _ in range(60)]
    if classes == 2:
        yield "random probabilities", [rng.random(rows) for _ in range(60)]
    else:
        yield "random probabilities", [rng.dirichlet(np.ones(classes), size=rows) for _ in range(60)]


def crafted_rows(name: str, *, most: int, seconds: float, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield, for each design on one set, the share of its submissions that is flagged and by which checks."""
    data = held_out(name)
    chosen = np.sort(rng.permutation(len(data.labels))[: SETS[name]])
    X, y = data.X[chosen], data.labels[chosen]
    study = FeatureStudy.of(X)
    prior = feature_prior(X, y, classes=data.classes)
    found = [(one.name, submissions_of(one, seconds=seconds)) for one in attacks_on(y, prior, rng=rng)]
    for design, asked in [*found, *random_submissions(len(y), data.classes, rng=rng)]:
        if not asked:
            continue
        picked = np.unique(np.linspace(0, len(asked) - 1, min(most, len(asked))).astype(int))
        checks: Counter[str] = Counter()
        flagged = 0
        for place in picked:
            earlier = [sketch_submission(asked[before]) for before in range(max(0, place - 10), place)]
            findings = inspect_submission(asked[place], classes=data.classes, features=study, earlier=earlier)
            checks.update(finding.check for finding in findings)
            flagged += bool(findings)
        yield {"set": name, "design": design, "queries": len(asked), "seen": len(picked), "flagged": flagged, **checks}


def variants(P: Table) -> dict[str, Table]:
    """Return a model's predictions as teams submit them."""
    p = P[:, 1] if P.shape[1] == 2 else P
    shapes = {"float64": p, "float32": p.astype(np.float32).astype(np.float64)}
    shapes |= {f"{decimals} decimals": p.round(decimals) for decimals in (2, 3, 4, 6)}
    return shapes | {"labels": P.argmax(axis=1).astype(np.float64)}


def honest_rows(name: str, *, seeds: int, models: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield every model's every variant, with what was found and the time it took."""
    rows = SETS[name]
    scored = rows // 3 if name == "iris" else rows // 2
    for seed in range(seeds):
        data = one_split(name, scored=scored, trained=rows - scored, seed=seed)
        study = FeatureStudy.of(data.X[:scored])
        earlier: dict[str, list[str]] = {}
        for model in MODELS[:: 1 if models is None else -(-len(MODELS) // models)]:
            for shape, given in variants(predictions_of(model, data)).items():
                before = earlier.setdefault(shape, [])  # as if one team had made all these models
                start = time.perf_counter()
                findings = inspect_submission(given, classes=data.classes, features=study, earlier=before[-100:])
                seconds = time.perf_counter() - start
                before.append(sketch_submission(given))
                checks = [finding.check for finding in findings]
                yield {"set": name, "model": model.name, "as": shape, "checks": checks, "seconds": seconds}


def run(*, quick: bool, note: Callable[[str], None]) -> dict[str, Any]:
    """Return all counts."""
    crafted: list[dict[str, Any]] = []
    honest: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for name in ("titanic", "iris") if quick else SETS:
            note(f"{name}: attacks")
            crafted += crafted_rows(name, most=20 if quick else 40, seconds=8, rng=np.random.default_rng(0))
            note(f"{name}: honest models")
            honest += honest_rows(name, seeds=1 if quick else SEEDS[name], models=10 if quick else None)
    alarms = [row for row in honest if row["checks"]]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "quick": quick,
        "machine": describe_machine(),
        "flagged": sum(row["flagged"] for row in crafted) / sum(row["seen"] for row in crafted),
        "false_alarms": len(alarms) / len(honest),
        "median_seconds": float(np.median([row["seconds"] for row in honest])),
        "largest_seconds": max(row["seconds"] for row in honest),
        "crafted": crafted,
        "honest": {
            name: {
                "submissions": sum(row["set"] == name for row in honest),
                "alarms": [
                    {key: row[key] for key in ("model", "as", "checks")} for row in alarms if row["set"] == name
                ],
            }
            for name in dict.fromkeys(row["set"] for row in honest)
        },
    }


def table_of(document: dict[str, Any]) -> str:
    """Return the rates as Markdown."""
    lines = ["| set | submissions of attacks | flagged | least flagged design | models' submissions | false alarms |"]
    lines.append("| --- | ---: | ---: | --- | ---: | ---: |")
    for name, honest in document["honest"].items():
        rows = [row for row in document["crafted"] if row["set"] == name]
        worst = min(rows, key=lambda row: row["flagged"] / row["seen"])
        least = f"{worst['design']} ({worst['flagged'] / worst['seen']:.0%})"
        lines.append(_line(name, rows, least, honest["submissions"], len(honest["alarms"])))
    parts = document["honest"].values()
    made, alarms = sum(part["submissions"] for part in parts), sum(len(part["alarms"]) for part in parts)
    return "\n".join([*lines, _line("all", document["crafted"], "", made, alarms)])


def _line(name: str, rows: list[dict[str, Any]], least: str, made: int, alarms: int) -> str:
    seen, flagged = (sum(row[key] for row in rows) for key in ("seen", "flagged"))
    return f"| {name} | {seen:,} | {flagged / seen:.1%} | {least} | {made:,} | {alarms} ({alarms / made:.2%}) |"


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    document = run(quick=quick, note=Console(stderr=True).print)
    if quick:
        print(table_of(document))
        return
    write_text(RESULTS, json.dumps(document, indent=1) + "\n")
    if PAGE.exists():
        put_table(PAGE, "crafted", table_of(document))


if __name__ == "__main__":
    main()
