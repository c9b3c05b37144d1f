"""What a policy costs honest teams (Kendall tau-b over fifty fixed models) and what it leaves an attacker of a budget.

    TACIT_DATA=... python -m benchmarks.scoring_ranking    # everything; writes the JSON and the tables of the page
    python -m benchmarks.scoring_ranking --quick           # Titanic, few draws, writes nothing

The models are in ``scoring_models.py``, a file that was committed before any score was looked at. The attack here is
the server's own, in one process; the table that is made over HTTP is ``scoring_attack.py``'s.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.stats import kendalltau
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import HERE, describe_machine
from benchmarks.scoring_models import Scored, Table, each_prediction, held_out
from tacit.leak.prior import feature_prior
from tacit.privacy.errors import TacitError
from tacit.privacy.files import write_atomically
from tacit.scores.attacks import DigitDesign, LossChannel, attack_competition
from tacit.scores.metrics import F1, Accuracy, Auc, Brier, LogLoss, Mae, Metric, Rmse, UnreleasedScore
from tacit.scores.policies import Exact, Ladder, Laplace, Policy, Rounded, Thresholdout
from tacit.server import CompetitionPlan, Rules

EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
FLOORS = {"titanic": 500, "satellite": 500, "adult": 3000}  # public: fewer rows than every class has
PUBLIC = 0.3
FINAL = Laplace(epsilon=5.0)
KEY = b"scoring_ranking"
RESULTS = HERE / "results" / "scoring_ranking.json"
PAGE = HERE.parent / "docs" / "scores_results.md"


def metrics_of(data: Scored, *, share: float = 1.0) -> list[Metric]:
    """Return every metric that fits; a floor on class counts shrinks with the rows, with a tenth to spare."""
    floor = max(1, int(FLOORS[data.name] * share * (1.0 if share == 1 else 0.9)))
    kinds: list[Metric] = [LogLoss(classes=data.classes), Brier(classes=data.classes), Accuracy(classes=data.classes)]
    kinds += [Auc(classes=data.classes, class_floor=floor), F1(classes=data.classes, class_floor=floor)]
    return kinds + ([Rmse(), Mae()] if data.classes == 2 else [])


def policies() -> list[Policy]:
    """Return what is compared."""
    plain: list[Policy] = [Rounded(decimals=2), Rounded(decimals=3), Ladder(step=0.01), Ladder(step=0.002)]
    return [*plain, Thresholdout(epsilon=1.0, threshold=0.01), *(Laplace(epsilon=epsilon) for epsilon in EPSILONS)]


def label_of(policy: Policy) -> str:
    """Return a short name."""
    arguments = [f"{value:g}" for key, value in asdict(policy).items() if key != "refreshes"]
    return f"{policy.name} {' '.join(arguments)}".strip()


def submission(metric: Metric, probabilities: Table) -> Table:
    """Return what a team submits for this metric."""
    if metric.name in ("accuracy", "f1"):
        return probabilities.argmax(axis=1).astype(np.float64)
    return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def rank(
    data: Scored, predictions: Sequence[Table], *, draws: int, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Yield tau-b of every metric and policy: on all rows, on the public ones, and on the private ones."""
    rows = len(predictions[0])
    labels = data.labels[:rows]
    public = Rules(plan=CompetitionPlan(), public_fraction=PUBLIC).public_rows(range(rows), key=KEY)
    for part, chosen in (("all", np.ones(rows, dtype=np.bool_)), ("public", public), ("private", ~public)):
        for metric in metrics_of(data, share=1.0 if part == "all" else float(chosen.mean())):
            submitted = [submission(metric, table) for table in predictions]
            measured = [metric.measure(labels[chosen], given[chosen]) for given in submitted]
            names = [hashlib.sha256(metric.check(given, rows=rows).tobytes()).hexdigest() for given in submitted]
            exact = [measurement.exact for measurement in measured]
            yield {
                "set": data.name,
                "metric": metric.name,
                "part": part,
                "rows": int(chosen.sum()),
                "exact": {"least": min(exact), "median": float(np.median(exact)), "largest": max(exact)},
                "distinct": len(set(names)),
                "tau": {
                    label_of(policy): _taus(policy, measured, names, exact, draws=draws, rng=rng)
                    for policy in policies()
                    if metric.additive or not isinstance(policy, Thresholdout)
                },
            }


def _taus(
    policy: Policy,
    measured: Sequence[UnreleasedScore],
    names: list[str],
    exact: list[float],
    *,
    draws: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return mean and least tau-b over draws of the noise; the same submission gets the same answer."""
    first = [names.index(name) for name in names]
    taus = []
    for _ in range(draws if isinstance(policy, Laplace) else 1):
        if isinstance(policy, Laplace):
            answers = _noised(policy, measured, rng)
        else:
            answers = [policy.release(one, state={}, rng=rng).released for one in measured]
        taus.append(kendalltau(exact, np.asarray(answers)[first]).statistic)
    return {"mean": float(np.mean(taus)), "least": float(np.min(taus))}


def _noised(policy: Laplace, measured: Sequence[UnreleasedScore], rng: np.random.Generator) -> list[float]:
    """Return what :meth:`Laplace.release` draws, but for its grid: noise for all models at once, far quicker."""
    metric, rows = measured[0].metric, measured[0].rows
    low, high = metric.term_bounds
    means = np.array([one.terms.mean() for one in measured])
    noised = np.clip(means + rng.laplace(0, policy.scale(metric, rows=rows), size=len(means)), low, high)
    return [metric.finish(float(mean)) for mean in noised]


def attack(data: Scored, *, submissions: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield what the server's attack recovers with a team's submissions, and the baseline of the features alone.

    Where only a part of the rows is scored the attacker is told which, and has one final score of the others, which it
    uses if it helps.
    """
    prior = feature_prior(data.X, data.labels, classes=data.classes)
    right = prior.argmax(axis=1) == data.labels
    tried: list[Policy] = [Exact(), Rounded(decimals=3), Rounded(decimals=2), Ladder(step=0.01), Ladder(step=0.002)]
    for policy in [*tried, *(Laplace(epsilon=epsilon) for epsilon in EPSILONS)]:
        for share in (1.0, PUBLIC):
            public = Rules(plan=CompetitionPlan(), public_fraction=share, together=None).public_rows(
                range(len(data.labels)), key=KEY
            )
            runs = 3 if len(data.labels) < 3000 else 1  # the more rows, the less a run varies
            found = []
            for _ in range(runs):
                got = _recovered(policy, data, prior, public, submissions, rng)
                if share < 1:
                    got += max(_recovered(FINAL, data, prior, ~public, 1, rng), int(right[~public].sum()))
                found.append(got / len(data.labels))
            yield {
                "set": data.name,
                "policy": label_of(policy),
                "public_fraction": share,
                "submissions": submissions,
                "baseline": float(right.mean()),
                "recovered": float(np.mean(found)),
                "largest": float(np.max(found)),
            }


def _recovered(
    policy: Policy, data: Scored, prior: Table, rows: NDArray[np.bool_], submissions: int, rng: np.random.Generator
) -> int:
    """Return how many labels of these rows, all of them scored, the attack has right."""
    metric = LogLoss(classes=data.classes)
    labels, state = data.labels[rows], {}

    def submit(predictions: Any) -> str:
        answer = policy.release(metric.measure(labels, predictions), state=state, rng=rng)
        state.update(answer.state)
        return answer.text

    guessed = [attack_competition(submit, metric, policy, prior=prior[rows], submissions=submissions, rng=rng).labels]
    if isinstance(policy, Exact | Rounded):
        guessed.append(_by_digits(submit, metric, policy, prior[rows], submissions))
    return max(int((labels == guess).sum()) for guess in guessed)


def _by_digits(
    submit: Callable[[Any], str], metric: Metric, policy: Policy, prior: Table, submissions: int
) -> NDArray[np.int64]:
    """Return the labels read so far by digits, the rows in doubt first: a joint design tells nothing before its end."""
    guess = prior.argmax(axis=1)
    try:
        channel = LossChannel.of(metric, rows=len(prior), policy=policy)
        steps = DigitDesign(channel=channel).steps(order=np.argsort(prior.max(axis=1), kind="stable"))
        query = next(steps)
        for _ in range(submissions):
            query = steps.send(float(submit(query.predictions)))
    except StopIteration as end:
        return np.asarray(end.value)
    except TacitError:  # rounding hides single rows
        return guess
    return np.where(query.recovered >= 0, query.recovered, guess)


def run(*, quick: bool, note: Any) -> dict[str, Any]:
    """Return all results."""
    ranking: list[dict[str, Any]] = []
    attacked: list[dict[str, Any]] = []
    names = ["titanic"] if quick else ["titanic", "satellite", *(["adult"] if os.environ.get("TACIT_DATA") else [])]
    with threadpool_limits(1):
        for name in names:
            data, rng = held_out(name), np.random.default_rng(0)
            note(f"{name}: fifty models")
            predictions = [table for _, table in each_prediction(data)]
            ranking += rank(data, predictions, draws=3 if quick else 20, rng=rng)
            if name != "adult":
                note(f"{name}: attacks")
                attacked += attack_rows(data)
    date = datetime.now(UTC).date().isoformat()
    return {"date": date, "quick": quick, "machine": describe_machine(), "ranking": ranking, "attack": attacked}


def attack_rows(data: Scored) -> list[dict[str, Any]]:
    """Return the attacks of one team's whole budget."""
    with threadpool_limits(1):
        return list(attack(data, submissions=100, rng=np.random.default_rng(1)))


def ranking_table(document: dict[str, Any], *, part: str) -> str:
    """Return tau-b as a Markdown table: a row a set and metric, a column a policy."""
    chosen = [row for row in document["ranking"] if row["part"] == part]
    shown = [label_of(policy) for policy in policies()]
    lines = [
        "| set, rows | metric | exact: least, median, largest | " + " | ".join(shown) + " |",
        "| --- | --- | --- |" + " ---: |" * len(shown),
    ]
    for row in chosen:
        exact = ", ".join(f"{row['exact'][key]:.3f}" for key in ("least", "median", "largest"))
        cells = [f"{row['tau'][name]['mean']:.2f}" if name in row["tau"] else "" for name in shown]
        lines.append(f"| {row['set']}, {row['rows']:,} | {row['metric']} | {exact} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def attack_table(document: dict[str, Any]) -> str:
    """Return what is recovered as a Markdown table."""
    lines = [
        "| set | policy | rows behind the scores | recovered | above the features alone |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for row in document["attack"]:
        gain = row["recovered"] - row["baseline"]
        share = f"{row['public_fraction']:.0%}"
        lines.append(f"| {row['set']} | {row['policy']} | {share} | {row['recovered']:.1%} | {gain:+.1%} |")
    return "\n".join(lines)


def write_page(document: dict[str, Any], page: Path) -> None:
    """Put the tables between their markers."""
    for part in ("all", "public", "private"):
        put_table(page, f"ranking {part}", ranking_table(document, part=part))
    put_table(page, "attack", attack_table(document))


def put_table(page: Path, name: str, table: str) -> None:
    """Replace what stands between a page's two markers of this name."""
    start, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    before, rest = page.read_text(encoding="utf-8").split(start)
    write_text(page, before + start + "\n" + table + "\n" + end + rest.split(end)[1])


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none."""
    with write_atomically(path, force=True) as handle:
        handle.write(text.encode())


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--attack-only", action="store_true", help="keep the ranking, run the attacks again")
    parser.add_argument("--page-only", action="store_true", help="make the tables again from the JSON")
    given = parser.parse_args()
    console = Console(stderr=True)
    if given.page_only:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")), PAGE)
        return
    if given.attack_only:
        document = json.loads(RESULTS.read_text(encoding="utf-8"))
        document["attack"] = [row for name in ("titanic", "satellite") for row in attack_rows(held_out(name))]
    else:
        document = run(quick=given.quick, note=console.print)
    if given.quick:
        print(ranking_table(document, part="private"))
        print(attack_table(document))
        return
    write_text(RESULTS, json.dumps(document, indent=1) + "\n")
    if PAGE.exists():
        write_page(document, PAGE)


if __name__ == "__main__":
    main()
