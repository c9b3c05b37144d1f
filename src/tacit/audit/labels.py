"""The labels surface on the bundled data: what randomized labels give away, and what a model still learns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression

from tacit.audit.result import Finding
from tacit.data import titanic
from tacit.labels import LabelPrivateClassifier, RandomizedResponse
from tacit.labels.attack import guess_labels_with_features

__all__ = ["audit_labels"]

_EPSILONS = (0.5, 1.0, 3.0)


def audit_labels(*, rng: np.random.Generator, progress: Callable[[str], None]) -> Iterator[Finding]:
    """Randomize half of Titanic's labels, guess them back, and score a model trained on them on the other half.

    Examples
    --------
    >>> findings = list(audit_labels(rng=np.random.default_rng(0), progress=lambda text: None))
    >>> [finding.broken for finding in findings]
    [False, False, False]
    """
    data = titanic()
    X, y = data.one_hot().values, data.codes
    shuffled = rng.permutation(len(y))
    train, test = shuffled[::2], shuffled[1::2]
    clean = LogisticRegression(max_iter=1000).fit(X[train], y[train]).score(X[test], y[test])
    for epsilon in _EPSILONS:
        progress(f"labels: randomized response at epsilon {epsilon:g}")
        start = time.perf_counter()
        model = LabelPrivateClassifier(
            mechanism=RandomizedResponse(epsilon=epsilon), classes=range(len(data.classes)), random_state=rng
        ).fit(X[train], y[train])
        guesses = guess_labels_with_features(model.release_, X[train], model=LogisticRegression(max_iter=1000), rng=rng)
        leak = guesses.leak(y[train])
        accuracy = model.score(X[test], y[test])
        yield Finding(
            surface="labels",
            data=f"Titanic, {len(train):,} survival labels",
            setting=f"randomized response, epsilon {epsilon:g}",
            promise=model.guarantee_,
            leak=leak,
            utility=f"a model trained on the release is {accuracy:.1%} accurate, {clean:.1%} on the true labels",
            advice=(
                f"Seeing the randomized labels raises the best guess of a label from {leak.baseline:.1%} to "
                f"{leak.rate:.1%}; the model trained on them is {accuracy:.1%} accurate against {clean:.1%}."
            ),
            command=f"tacit audit --only labels  # randomized response at epsilon {epsilon:g}",
            seconds=time.perf_counter() - start,
        )
