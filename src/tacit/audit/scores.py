"""The scores surface on the bundled data: what a leaderboard's log loss gives away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from tacit.audit.result import Finding
from tacit.data import titanic
from tacit.privacy.guarantee import NoGuarantee
from tacit.scores.attack import Exact, Rounded, infer_labels, plan
from tacit.scores.losses import sklearn_log_loss

__all__ = ["audit_scores"]

_A_DAY = 5


def audit_scores(*, rng: np.random.Generator, progress: Callable[[str], None]) -> Iterator[Finding]:
    """Attack scikit-learn's log loss on Titanic's labels, shown as computed and rounded to 5 decimals.

    Examples
    --------
    >>> findings = list(audit_scores(rng=np.random.default_rng(0), progress=lambda text: None))
    >>> [finding.leak.rate for finding in findings]
    [1.0, 1.0]
    """
    data = titanic()
    truth = data.codes
    order = rng.permutation(len(truth))
    guesses = _guess_from_features(data.one_hot().values, truth)
    for setting, option, answers, decimals in (
        ("log loss as computed", "", Exact(), None),
        ("log loss rounded to 5 decimals", " --decimals 5", Rounded(decimals=5), 5),
    ):
        progress(f"scores: {setting}")
        chosen = plan(sklearn_log_loss(), rows=len(truth), answers=answers, limit_per_day=_A_DAY)

        def score(predictions: NDArray[np.float64], decimals: int | None = decimals) -> float:
            exact = float(log_loss(truth, predictions))
            return exact if decimals is None else round(exact, decimals)

        outcome = infer_labels(score, sklearn_log_loss(), rows=len(truth), plan=chosen, order=order)
        yield Finding(
            surface="scores",
            data="Titanic, 2,201 survival labels",
            setting=setting,
            promise=NoGuarantee(reason="a score without noise depends on every label"),
            leak=outcome.leak(truth, baseline=guesses),
            utility="scores are exact" if decimals is None else "scores are right to 0.000005",
            advice=(
                f"After {outcome.queries} submissions ({chosen.days} days at {_A_DAY} a day) all {len(truth):,} labels "
                "are public: allow far fewer, or show no score that was computed on these labels without noise."
            ),
            command=f"tacit scores attack --labels titanic --metric log_loss{option}",
            seconds=outcome.seconds,
        )


def _guess_from_features(X: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """The best guess from the features alone: the majority of rows with equal features."""
    _, cell = np.unique(X, axis=0, return_inverse=True)
    majority = np.array([np.bincount(truth[cell == c]).argmax() for c in range(cell.max() + 1)])
    return np.asarray(majority[cell], dtype=np.int64)
