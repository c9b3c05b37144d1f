"""What models of the everyday kind tell about who was in their training data: every attack on the same target.

    TACIT_DATA=... python -m benchmarks.models_membership    # minutes; writes the JSON and the tables of the page
    python -m benchmarks.models_membership --quick           # few digits, few models, writes nothing

A fair coin puts each row into the target's training data. Shadow models are trained on halves of the same rows; with
``--keep FOLDER`` what they said stays there, and a run that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import HERE, describe_machine
from benchmarks.data_sets import adult
from tacit.data import digits
from tacit.leak import Leak
from tacit.models.attacks.coins import RowCoins
from tacit.models.attacks.confidence import FLOOR
from tacit.models.attacks.lira import OfflineLira, OnlineLira, PooledSpread
from tacit.models.attacks.loss_threshold import LossThreshold
from tacit.models.attacks.rmia import OfflineRmia, OnlineRmia
from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.attacks.shadow_training import train_shadows
from tacit.models.attacks.targets import MembershipAttack, MembershipTargets, attack_model, gather_targets
from tacit.privacy.files import write_atomically

RESULTS = HERE / "results" / "models_membership.json"
PAGE = HERE.parent / "docs" / "models_membership.md"
SEED = 0
TREES = 100
ADULT_ROWS = 4000  # asked about; as many again train the control


def estimators(*, quick: bool) -> dict[str, tuple[Any, float]]:
    """Return each model, and the least probability that is believed of it: half a vote of a forest."""
    trees = 10 if quick else TREES
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    found: dict[str, tuple[Any, float]] = {
        "logistic regression": (logistic, FLOOR),
        f"random forest, {trees} trees": (RandomForestClassifier(trees), 1 / (2 * trees)),
    }
    if not quick:
        network = MLPClassifier((128,), learning_rate_init=0.005, max_iter=60)
        found["network, 128 hidden"] = (make_pipeline(StandardScaler(), network), FLOOR)
    return found


def attacks(shadows: ShadowConfidences) -> dict[str, MembershipAttack]:
    """Return every attack by name."""
    return {
        "loss threshold": LossThreshold(),
        "LiRA online": OnlineLira(shadows=shadows),
        "LiRA online, fixed variance": OnlineLira(shadows=shadows, spread=PooledSpread()),
        "LiRA offline": OfflineLira(shadows=shadows),
        "LiRA offline, fixed variance": OfflineLira(shadows=shadows, spread=PooledSpread()),
        "RMIA online": OnlineRmia(shadows=shadows),
        "RMIA offline, a = 0.3": OfflineRmia(shadows=shadows, a=0.3),
    }


def rows_of(name: str, *, quick: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct rows in random order: a row that is there twice is in and out at once."""
    data = digits() if name == "digits" else adult()
    X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    distinct = np.unique(np.column_stack([X, y]), axis=0, return_index=True)[1]
    chosen = rng.permutation(distinct)
    chosen = chosen[: 300 if quick else len(chosen) if name == "digits" else 2 * ADULT_ROWS]
    return X[chosen], y[chosen]


def split(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> MembershipTargets:
    """Put each row in by a fair coin."""
    coin = rng.random(len(X)) < 0.5
    return gather_targets((X[coin], y[coin]), (X[~coin], y[~coin]))


def measure(name: str, *, quick: bool, keep: Path | None, note: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Yield one row a model and attack; for Adult also of a forest that was trained on none of the rows asked about."""
    rng = np.random.default_rng(SEED)
    X, y = rows_of(name, quick=quick, rng=rng)
    asked = ADULT_ROWS if name == "adult" else len(X)
    targets = split(X[:asked], y[:asked], rng)
    inside = targets.member
    for label, (estimator, floor) in estimators(quick=quick).items():
        note(f"{name}: {label}")
        shadows = train_shadows(
            estimator, targets.X, targets.y, models=8 if quick else 64, rng=rng, floor=floor, directory=keep
        )
        trained = {label: (targets.X[inside], targets.y[inside])}
        if name == "adult" and "forest" in label:
            half = asked + asked // 2
            trained[f"control: {label}, of other rows"] = X[asked:half], y[asked:half]
        for called, given in trained.items():
            model = seeded(estimator).fit(*given)
            accuracy = float(model.score(targets.X[~inside], targets.y[~inside]))
            for attack, how in attacks(shadows).items():
                leak = attack_model(model, targets, attack=how, rng=rng, coins=RowCoins(), floor=floor)
                yield {"set": name, "model": called, "accuracy": accuracy, "attack": attack, **numbers(leak, targets)}


def seeded(estimator: Any) -> Any:
    """Return a copy with every random state fixed."""
    copy = clone(estimator)
    names = [name for name in copy.get_params() if name.endswith("random_state")]
    return copy.set_params(**dict.fromkeys(names, SEED))


def numbers(leak: Leak, targets: MembershipTargets) -> dict[str, Any]:
    """Return what the table shows of a leak."""
    roc, interval = leak.roc, leak.advantage_interval
    assert roc is not None
    return {
        "members": int(targets.member.sum()),
        "nonmembers": int((~targets.member).sum()),
        "auc": roc.auc,
        "tpr_at_0.1%_fpr": roc.at_0_1_percent.tpr,
        "tpr_at_1%_fpr": roc.at_1_percent.tpr,
        "tpr_at_1%_fpr_interval": [roc.at_1_percent.interval.low, roc.at_1_percent.interval.high],
        "advantage": leak.advantage,
        "advantage_interval": [interval.low, interval.high],
        "epsilon_lower_bound": leak.epsilon_lower_bound,
    }


def run(*, quick: bool, keep: Path | None, note: Callable[[str], None]) -> dict[str, Any]:
    """Return all results."""
    names = ["digits"] if quick or not os.environ.get("TACIT_DATA") else ["digits", "adult"]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 60 epochs are what the target gets too
        rows = [row for name in names for row in measure(name, quick=quick, keep=keep, note=note)]
    shadows, date = 8 if quick else 64, datetime.now(UTC).date().isoformat()
    machine = describe_machine()
    return {"date": date, "quick": quick, "machine": machine, "seed": SEED, "shadows": shadows, "rows": rows}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as a Markdown table; a model's name stands once."""
    lines = [
        "| model | attack | AUC | TPR at 0.1% FPR | TPR at 1% FPR | advantage | epsilon at least |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    last = ""
    for row in rows:
        model = f"{row['model']} ({row['accuracy']:.1%} right)"
        low, high = row["advantage_interval"]
        shown = [
            "" if model == last else model,
            row["attack"],
            f"{row['auc']:.3f}",
            f"{row['tpr_at_0.1%_fpr']:.1%}",
            f"{row['tpr_at_1%_fpr']:.1%}",
            f"{row['advantage']:.3f} ({low:.3f} to {high:.3f})",
            f"{np.floor(row['epsilon_lower_bound'] * 100) / 100:.2f}",
        ]
        lines.append("| " + " | ".join(shown) + " |")
        last = model
    return "\n".join(lines)


def write_page(document: dict[str, Any], page: Path) -> None:
    """Put the tables, the date and the machine between their markers."""
    machine = document["machine"]
    made = f"Of {document['date']}, {document['shadows']} shadow models, on {machine['processor']}, "
    put(page, "run", f"{made}scikit-learn {machine['libraries']['scikit-learn']}.")
    for name in ("digits", "adult"):
        rows = [row for row in document["rows"] if row["set"] == name]
        members, nonmembers = rows[0]["members"], rows[0]["nonmembers"]
        put(page, name, f"{members:,} members and {nonmembers:,} non-members.\n\n{table(rows)}")


def put(page: Path, name: str, text: str) -> None:
    """Replace what stands between a page's two markers of this name."""
    start, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    before, rest = page.read_text(encoding="utf-8").split(start)
    write(page, before + start + "\n" + text + "\n" + end + rest.split(end)[1])


def write(path: Path, text: str) -> None:
    """Write a whole file or none."""
    with write_atomically(path, force=True) as handle:
        handle.write(text.encode())


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for what the shadow models said")
    parser.add_argument("--page-only", action="store_true", help="make the tables again from the JSON")
    given = parser.parse_args(arguments)
    if given.page_only:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")), PAGE)
        return
    document = run(quick=given.quick, keep=given.keep, note=Console(stderr=True).print)
    if given.quick:
        print(table(document["rows"]))
        return
    write(RESULTS, json.dumps(document, indent=1) + "\n")
    write_page(document, PAGE)


if __name__ == "__main__":
    main()
