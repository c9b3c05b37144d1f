"""Tables 6 and 7: a model of labels by randomized response, then a fresh one on its own predictions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.label_retraining.texts.linear import Array, Linear, Matrix, fit_linear
from papers.label_retraining.texts.views import View
from tacit.labels.learners.retrain import AllRows, ConfidentRows, ConsensusRows, RetrainingRule
from tacit.labels.mechanisms import RandomizedResponse

Codes = NDArray[np.int64]

CHOICES: Mapping[str, RetrainingRule] = {
    "full": AllRows(),
    "consensus": ConsensusRows(),
    "confidence": ConfidentRows(fraction=0.5),
}
HELD_OUT = 0.1  # the paper's validation rows
DECAYS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
STEPS = 60


def measure(view: View, truth: Codes, test: Codes, *, epsilon: float, seed: int) -> dict[str, Any]:
    """Return the test accuracy of the baseline and of each way to retrain, and what Table 7 says of the labels.

    Labels are taken as they are given. As in the paper, true labels of a tenth of the rows choose how the baseline is
    trained (here its decay), and the retrained models follow it.
    """
    begun = time.perf_counter()
    rng = np.random.default_rng([seed, 6, round(1000 * epsilon)])
    held, rows = np.split(rng.permutation(len(truth)), [round(HELD_OUT * len(truth))])
    X, true, classes = view.train[rows], truth[rows], int(truth.max()) + 1
    given = RandomizedResponse(epsilon=epsilon, classes=classes).randomize(true, rng=rng)
    decay, model = baseline(X, np.eye(classes)[given], view.train[held], truth[held])
    probabilities = model.probabilities(X)
    predicted = probabilities.argmax(axis=1)
    result: dict[str, Any] = {
        "baseline": share_right(model, view.test, test),
        "decay": decay,
        "given": float(np.mean(given == true)),
        "predicted": float(np.mean(predicted == true)),
    }
    for name, choice in CHOICES.items():
        chosen = choice.choose(probabilities, given=given)
        fresh = fit_linear(X[chosen], np.eye(classes)[predicted[chosen]], decay=decay, steps=STEPS)
        result |= {
            name: share_right(fresh, view.test, test),
            f"{name}_rows": len(chosen) / len(rows),
            f"{name}_right": float(np.mean(predicted[chosen] == true[chosen])),
        }
    return result | {"seconds": round(time.perf_counter() - begun, 1)}


def baseline(X: Matrix, targets: Array, held: Matrix, truth: Codes) -> tuple[float, Linear]:
    """Return the decay that does best on the held-out rows, and its model; each starts from the last one's weights."""
    best, model = (-1.0, DECAYS[0]), None
    kept = model
    for decay in DECAYS:
        model = fit_linear(X, targets, decay=decay, start=model, steps=STEPS)
        score = share_right(model, held, truth)
        if score > best[0]:
            best, kept = (score, decay), model
    assert kept is not None
    return best[1], kept


def share_right(model: Linear, X: Matrix, truth: Codes) -> float:
    """Return the accuracy."""
    return float(np.mean(model.logits(X).argmax(axis=1) == truth))
