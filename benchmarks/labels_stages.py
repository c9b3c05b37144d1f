"""How many labels of a second stage are right (LP-2ST), by how the prior was learned from the first stage.

    released      a model of the released labels as they are
    undone        that model, times the inverse of the mechanism: the loop of papers/label_retraining/images
    maximized     expectation maximization on all rows of the first stage, ten times
    tacit         what ``mechanism="staged"`` does: predict_unseen

Logistic regression, on digits and on 50 principal components of 12,000 MNIST images. A label is right with the
probability that RRTop-k has under its row's prior, so no second draw adds noise.

    TACIT_DATA=folder python -m benchmarks.labels_stages            # all cells; resumes
    python -m benchmarks.labels_stages --quick --out FILE
    python -m benchmarks.labels_stages --table                      # writes the table of docs/labels_accuracy.md
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.cells import fill_cells, parse_options, write_table
from benchmarks.data_sets import mnist
from papers.label_retraining.images.retraining import undo_noise
from tacit.labels.fitting.denoise import NoisyLabels
from tacit.labels.fitting.unseen import predict_unseen
from tacit.labels.mechanisms import PriorRandomizedResponse, RandomizedResponse

OUT = Path(__file__).parent / "results" / "labels_stages.json"
PAGE = Path(__file__).parents[1] / "docs" / "labels_accuracy.md"
PENALTIES = {"digits": 1.0, "mnist": 0.01}
WORDS = {"released": "from released labels as they are", "undone": "noise undone by the inverse"}
WORDS |= {"maximized": "expectation maximization", "tacit": "tacit"}


def main(arguments: list[str] | None = None) -> None:
    options = parse_options(arguments, name="labels_stages", about=__doc__, out=OUT)
    if options.table:
        write_table(PAGE, OUT, name="stages", make=table)
        return
    warnings.simplefilter("ignore", ConvergenceWarning)  # every way has the same number of steps
    fill_cells(options.out, _plan(quick=options.quick), measure=measure, quick=options.quick)


def _plan(*, quick: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for seed in range(1 if quick else 5):
        for data in ("digits",) if quick else PENALTIES:
            for epsilon in (1.0, 2.0, 3.0):
                yield f"{data}/{epsilon:g}/{seed}", {"data": data, "epsilon": epsilon, "seed": seed}


def measure(*, data: str, epsilon: float, seed: int) -> dict[str, float]:
    """The share of labels that are right in the second stage, by each prior."""
    X, y = _digits() if data == "digits" else _mnist()
    rng, rr = np.random.default_rng(seed), RandomizedResponse(epsilon=epsilon, classes=10)
    first = rng.permutation(np.arange(len(y)) % 2) == 0
    given, logistic = rr.randomize(y[first], rng=rng), LogisticRegression(C=PENALTIES[data], max_iter=200)
    noisy = NoisyLabels(given=given, likelihood=rr.likelihood(given))
    released = logistic.fit(X[first], given).predict_proba(X[~first])
    priors = {
        "released": released,
        "undone": undo_noise(released, rr.transition()),
        "maximized": _maximize(logistic, X[first], noisy, X[~first]),
        "tacit": predict_unseen(logistic, X[first], noisy, X[~first], rng=rng),
    }
    right = {name: _right(prior, y[~first], epsilon) for name, prior in priors.items()}
    return {"without a prior": float(rr.transition()[0, 0]), **right}


def _right(prior: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    mechanism = PriorRandomizedResponse(epsilon=epsilon, prior=prior)
    return float(mechanism.likelihood(y)[np.arange(len(y)), y].mean())


def _maximize(model: LogisticRegression, X: np.ndarray, noisy: NoisyLabels, unseen: np.ndarray) -> np.ndarray:
    targets = noisy.likelihood / noisy.likelihood.sum(axis=1, keepdims=True)
    for _ in range(10):
        rows, codes = np.nonzero(targets > 0.01)
        model.fit(X[rows], codes, sample_weight=targets[rows, codes])
        joint = model.predict_proba(X) * noisy.likelihood
        targets = joint / joint.sum(axis=1, keepdims=True)
    return np.asarray(model.predict_proba(unseen))


@cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16, y


@cache
def _mnist() -> tuple[np.ndarray, np.ndarray]:
    images = mnist()
    pixels = images.images[:12_000].reshape(12_000, -1) / 255
    X = PCA(50, random_state=0).fit_transform(pixels)
    return X / X.std(), images.labels[:12_000]


def table(document: Mapping[str, Any]) -> str:
    """Percent of labels that are right: mean and deviation over the seeds."""
    cells = document["cells"].values()
    lines = [
        "| | epsilon | " + " | ".join(WORDS.values()) + " | without a prior |",
        "| --- |" + " --- |" * (len(WORDS) + 2),
    ]
    for data, epsilon in sorted({(cell["data"], cell["epsilon"]) for cell in cells}):
        found = [cell for cell in cells if (cell["data"], cell["epsilon"]) == (data, epsilon)]
        shown = [f"{np.mean(v):.1f} ± {np.std(v, ddof=1):.1f}" for v in ([100 * c[n] for c in found] for n in WORDS)]
        lines.append(f"| {data} | {epsilon:g} | " + " | ".join(shown) + f" | {100 * found[0]['without a prior']:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
