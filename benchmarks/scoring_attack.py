"""What each policy of the scoring server gives away: the real attack over HTTP, on Titanic and Satellite.

``python -m benchmarks.scoring_attack`` attacks a copy of a competition for each policy as one team with 100, 1,000
and 10,000 submissions (the budget is raised for the experiment; a team has 100), writes
``results/scoring_attack.json`` after every cell, goes on where it stopped, and puts the table into ``docs/server.md``.
``--submissions 100,1000`` and ``--policies Laplace`` (all whose name begins so) do a part; ``--out FILE`` writes the
cells to another file and leaves the page alone; ``--merge FILE`` adds such a file's cells to the results and makes the
page.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import logging
import os
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from tacit.data import satellite, titanic
from tacit.privacy.files import write_atomically
from tacit.privacy.guarantee import Guarantee
from tacit.scores.metrics import Accuracy, LogLoss, Metric
from tacit.scores.policies import Exact, Ladder, Laplace, Policy, Rounded, Thresholdout
from tacit.server import CompetitionPlan, CompetitionTerms, Rules, ScoringEngine, ServerSettings
from tacit.server.app import running
from tacit.server.replay import prior_of, replay_attack

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "scoring_attack.json"
PAGE = ROOT / "docs" / "server.md"
BEGIN, END = "<!-- scoring_attack: begin -->", "<!-- scoring_attack: end -->"

SETS = {"titanic": (titanic, LogLoss(floor=0.01)), "satellite": (satellite, Accuracy(classes=6))}
POLICIES: dict[str, Policy | None] = {
    "30% of rows live with epsilon 0.2, then one final score with epsilon 5": None,
    "exact": Exact(),
    "rounded to 5 decimals": Rounded(decimals=5),
    "rounded to 3 decimals": Rounded(decimals=3),
    "Ladder, step 0.01": Ladder(step=0.01),
    "Laplace, epsilon 1": Laplace(epsilon=1.0),
    "Laplace, epsilon 0.3": Laplace(epsilon=0.3),
    "Laplace, epsilon 0.1": Laplace(epsilon=0.1),
    "Laplace, epsilon 0.03": Laplace(epsilon=0.03),
    "Laplace, epsilon 0.01": Laplace(epsilon=0.01),
    "Thresholdout, epsilon 0.1, 10 changes": Thresholdout(),
    "Thresholdout, epsilon 1, 100 changes": Thresholdout(epsilon=1.0, refreshes=100),
}
RENAMED = {  # in cells measured before
    "Laplace, epsilon 0.1 (default)": "Laplace, epsilon 0.1",
    "default: 30% of rows live with epsilon 0.2, then one final score with epsilon 5": (
        "30% of rows live with epsilon 0.2, then one final score with epsilon 5"
    ),
}
SUBMISSIONS = (100, 1_000, 10_000)
PRIORS: dict[str, np.ndarray] = {}


def _rules(metric: Metric, policy: Policy | None) -> Rules:
    """Return the rules of noise without a limit for all teams, or those of a policy whose epsilon is for one score."""
    if policy is None:
        return Rules.from_json({"plan": {"metric": metric.unbound}, "together": None})
    kept = policy.guarantee(submissions=100)
    plan = CompetitionPlan(
        metric=metric.unbound,
        policy=policy.unbound,
        epsilon=kept.epsilon if isinstance(kept, Guarantee) else None,
        submissions=100,
    )
    return Rules(plan=plan, public_fraction=1.0, together=None)


def measure(name: str, policy: Policy | None, submissions: int, *, seed: int) -> dict[str, object]:
    load, metric = SETS[name]
    data = load()
    columns = [data.table.column(feature).to_pylist() for feature in data.features]
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        engine = ScoringEngine.open(ServerSettings(folder=Path(folder)))
        try:
            rules = _rules(metric, policy)
            engine.create_competition(
                CompetitionTerms(slug=name, name=name, rules=rules),
                features=_csv(data.features, zip(*columns, strict=True)),
                labels=_csv(["label"], ([label] for label in data.y.tolist())),
            )
            prior = PRIORS[name] = PRIORS[name] if name in PRIORS else prior_of(engine.board(name))
            rng = np.random.default_rng(seed)
            found = replay_attack(engine, name, serving=running, submissions=submissions, prior=prior, rng=rng)
        finally:
            engine.close()
    return found.to_json()


def run(*, sets: list[str], submissions: list[int], policies: str, seed: int, out: Path) -> None:
    done = _read(out)
    known = {_place(cell) for cell in done["cells"]}
    for budget in submissions:
        for name in sets:
            for words, policy in POLICIES.items():
                if (name, words, budget) in known or not words.startswith(policies):
                    continue
                earlier = _finished_earlier(done["cells"], name, words, budget)
                result = earlier or measure(name, policy, budget, seed=seed)
                done["cells"].append({"set": name, "policy": words, "budget": budget, "seed": seed, **result})
                print(
                    f"{name:10} {words:38} {budget:6,} {result['recovered']:.4f} {result['baseline']:.4f}", flush=True
                )
                _save(done, out)


def merge(path: Path) -> None:
    """Add the cells of another file to the results, in place of those of the same set, policy and budget."""
    done, more = _read(RESULTS), _read(path)
    cells = {_place(cell): cell for cell in [*done["cells"], *more["cells"]]}
    _save(done | {"cells": list(cells.values())}, RESULTS)


def _read(path: Path) -> dict:
    done = json.loads(path.read_text()) if path.exists() else {"cells": []}
    done["cells"] = [cell for cell in done["cells"] if not _broke_off(cell)]
    for cell in done["cells"]:
        cell["policy"] = RENAMED.get(cell["policy"], cell["policy"])
    return done


def _broke_off(cell: dict) -> bool:
    """A lost connection once ended an attack unnoticed; only Thresholdout refuses before the budget is used."""
    early = cell["submissions"] < cell["budget"] and cell["recovered"] < 1.0
    return early and not cell["policy"].startswith("Thresholdout")


def _place(cell: dict) -> tuple[str, str, int]:
    return cell["set"], cell["policy"], cell["budget"]


def _finished_earlier(cells: list[dict], name: str, words: str, budget: int) -> dict | None:
    """An attack that had every label, or got no more answers, with fewer submissions ends the same with more."""
    for cell in cells:
        same = (cell["set"], cell["policy"]) == (name, words) and cell["budget"] < budget
        if same and (cell["recovered"] == 1.0 or cell["submissions"] < cell["budget"]):
            return {key: value for key, value in cell.items() if key not in ("set", "policy", "budget", "seed")}
    return None


def _save(done: dict, out: Path) -> None:
    done["date"] = datetime.now(UTC).date().isoformat()
    done["machine"] = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    with write_atomically(out, force=True) as file:
        file.write((json.dumps(done, indent=1) + "\n").encode())
    if out == RESULTS:
        _write_table(done)


def _write_table(done: dict) -> None:
    if not PAGE.exists() or BEGIN not in (text := PAGE.read_text()):
        return
    head, _, rest = text.partition(BEGIN)
    with write_atomically(PAGE, force=True) as file:
        file.write((head + BEGIN + "\n" + table(done) + END + rest.partition(END)[2]).encode())


def table(done: dict) -> str:
    cells = {_place(cell): cell for cell in done["cells"]}
    lines = []
    for name, (_, metric) in SETS.items():
        base = next((cell["baseline"] for cell in done["cells"] if cell["set"] == name), None)
        if base is None:
            continue
        lines += [
            f"**{name.capitalize()}**, scored by {metric.name.replace('_', ' ')}; the features alone tell {base:.1%}.",
            "",
            "| policy | " + " | ".join(f"{count:,} submissions" for count in SUBMISSIONS) + " |",
            "| --- |" + " ---: |" * len(SUBMISSIONS),
        ]
        for words in POLICIES:
            shown = [_shown(cells.get((name, words, count))) for count in SUBMISSIONS]
            lines.append(f"| {words} | " + " | ".join(shown) + " |")
        lines.append("")
    lines.append(f"Measured {done['date']} on {done['machine']}, by `python -m benchmarks.scoring_attack`.")
    return "\n".join(lines) + "\n"


def _shown(cell: dict | None) -> str:
    if cell is None:
        return "not measured"
    early = f" (after {cell['submissions']:,})" if cell["submissions"] < cell["budget"] else ""
    return f"{cell['recovered']:.1%}{early}"


def _csv(header, rows) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--submissions", default=",".join(map(str, SUBMISSIONS)))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--policies", default="")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path)
    given = parser.parse_args()
    logging.getLogger("tacit").setLevel(logging.CRITICAL)
    if given.merge is not None:
        merge(given.merge)
    else:
        run(
            sets=given.sets.split(","),
            submissions=[int(count) for count in given.submissions.split(",")],
            policies=given.policies,
            seed=given.seed,
            out=given.out,
        )
