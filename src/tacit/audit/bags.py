"""The bags surface on the bundled data: which labels totals fix, what noise leaves of that, and what a model learns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from tacit.audit.result import Finding
from tacit.bags import LaplaceNoise, LogLoss, curate, draw
from tacit.bags.attack import BagGuesses, determined, guess_labels
from tacit.bags.learn import AdditiveModel, RandomBagModel
from tacit.bags.partition import BagRelease
from tacit.data import titanic

__all__ = ["audit_bags"]

_BY = (("class", "sex", "age"),)
_EPSILON = 1.0
_OPTIONS = "--label survived --classes No,Yes"


def audit_bags(*, rng: np.random.Generator, progress: Callable[[str], None]) -> Iterator[Finding]:
    """Publish Titanic's survivors by group, exactly, in small random bags and with noise; guess each label back.

    Examples
    --------
    >>> findings = list(audit_bags(rng=np.random.default_rng(0), progress=lambda text: None))
    >>> [finding.broken for finding in findings]
    [False, False, False]
    >>> findings[1].leak.advantage > 0.1 > findings[2].leak.advantage
    True
    """
    data = titanic()
    table = data.table.set_column(data.table.column_names.index(data.label), data.label, pa.array(data.codes))
    prior = _prior(data.one_hot().values, data.codes, rng)
    for setting, options, release in _releases(table, data.label, rng):
        progress(f"bags: {setting}")
        start = time.perf_counter()
        fixed = determined(release, table)
        guesses = guess_labels(release, table, prior=prior).with_certain(fixed)
        yield _finding(
            release,
            guesses,
            data.codes,
            fixed=fixed.count,
            setting=setting,
            utility=_utility(release, table, data.codes),
            command=f"tacit bags protect titanic.csv {_OPTIONS} {options} --out titanic.bags && tacit bags attack "
            "titanic.bags --features titanic.csv --truth titanic.csv",
            seconds=time.perf_counter() - start,
        )


def _releases(table: pa.Table, label: str, rng: np.random.Generator) -> Iterator[tuple[str, str, BagRelease]]:
    by = " ".join(f"--by {','.join(columns)}" for columns in _BY) + " --min-size 1"
    exact = curate(table, by=_BY, label=label, loss=LogLoss())
    yield "survivors by class, sex and age, exact", by, exact
    random = draw(table, size=3, bags=2000, label=label, loss=LogLoss(), rng=rng)
    yield "survivors in 2,000 random bags of 3, exact", "--random 3 --bags 2000", random
    noised = curate(table, by=_BY, label=label, loss=LogLoss(), noise=LaplaceNoise(epsilon=_EPSILON), rng=rng)
    yield f"survivors by class, sex and age, epsilon {_EPSILON:g}", f"{by} --epsilon {_EPSILON:g}", noised


def _finding(
    release: BagRelease,
    guesses: BagGuesses,
    truth: NDArray[np.int64],
    *,
    fixed: int,
    setting: str,
    utility: str,
    command: str,
    seconds: float,
) -> Finding:
    leak = guesses.leak(truth)
    return Finding(
        surface="bags",
        data=f"Titanic, {len(truth):,} survival labels",
        setting=setting,
        promise=release.guarantee,
        leak=leak,
        utility=utility,
        advice=(
            f"These totals fix {fixed:,} of {len(truth):,} labels for certain and raise the best guess of a label from "
            f"{leak.baseline:.1%} to {leak.rate:.1%}."
        ),
        command=command,
        seconds=seconds,
    )


def _prior(
    X: NDArray[np.float64],
    truth: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """P(label | features) of each row from the other half of the rows: what a rival without the release knows."""
    half = rng.permutation(len(truth)) % 2 == 0
    prior = np.zeros((len(truth), 2))
    for seen, unseen in ((half, ~half), (~half, half)):
        prior[unseen] = LogisticRegression(max_iter=1000).fit(X[seen], truth[seen]).predict_proba(X[unseen])
    return prior


def _utility(release: BagRelease, table: pa.Table, truth: NDArray[np.int64]) -> str:
    model = AdditiveModel() if release.random is None else RandomBagModel()
    fitted = model.fit(release, table)
    return f"a model trained on these totals is {fitted.score(table, truth):.1%} accurate on the rows they are of"
