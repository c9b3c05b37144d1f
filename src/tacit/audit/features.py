"""The features surface on the bundled data: whose rows they are, who is among them, and what a model still learns."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.audit.result import Finding
from tacit.data import satellite
from tacit.features import (
    Box,
    ClassTotals,
    FeaturePlan,
    FisherClassifier,
    NoisedClassRows,
    NoisedRows,
    PrivateSelection,
    by_distance,
    learn_release,
    protect_features,
)
from tacit.features.attack import (
    canary_leak,
    link_rows,
    linkage_leak,
    selection_leak,
    tied_neighbours,
    totals_leak,
)
from tacit.features.theory import split_budget
from tacit.labels import RandomizedResponse
from tacit.leak import Leak
from tacit.privacy.guarantee import NoGuarantee, Promise
from tacit.privacy.release import Release, read_release

__all__ = ["audit_features"]

_EPSILONS = (1.0, 4.0, 16.0)
_TOTALS_AT = 1.0
_DELTA = 1e-5
_KEEP = 6
_BOX = Box.symmetric(3.0)  # the bands are standardised
_OPTIONS = f"--label class --keep {_KEEP} --bound 3 --delta {_DELTA:g}"


def audit_features(*, rng: np.random.Generator, progress: Callable[[str], None]) -> Iterator[Finding]:
    """Release half of Satellite's rows as they are, as noised rows and as class totals; link them and tell members.

    Examples
    --------
    >>> findings = list(audit_features(rng=np.random.default_rng(0), progress=lambda text: None))
    >>> any(finding.broken for finding in findings)
    False
    >>> findings[0].leak.rate > 0.99 > 0.01 > findings[2].leak.rate
    True
    """
    halves = _Halves.of(rng)
    progress("features: rows as they are")
    yield _in_clear(halves)
    progress("features: the printed selection")
    yield _printed_selection(rng)
    for epsilon in _EPSILONS:
        progress(f"features: noised rows at epsilon {epsilon:g}")
        yield from _as_rows(halves, epsilon, rng)
    progress(f"features: class totals at epsilon {_TOTALS_AT:g}")
    yield _as_totals(halves, _TOTALS_AT, rng)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Halves:
    """Rows that are released, and as many that judge what is learned from them."""

    names: tuple[str, ...]
    rows: NDArray[np.float64]
    codes: NDArray[np.int64]
    test: NDArray[np.float64]
    truth: NDArray[np.int64]

    @classmethod
    def of(cls, rng: np.random.Generator) -> _Halves:
        data = satellite()
        X = np.column_stack([data.table[name].to_numpy() for name in data.features])
        shuffled = rng.permutation(len(X))
        half, rest = shuffled[::2], shuffled[1::2]
        return cls(names=data.features, rows=X[half], codes=data.codes[half], test=X[rest], truth=data.codes[rest])

    @property
    def table(self) -> pa.Table:
        columns = dict(zip(self.names, self.rows.T, strict=True))
        return pa.table({**columns, "label": self.codes})

    @property
    def clean_accuracy(self) -> float:
        return float(FisherClassifier().fit(self.rows, self.codes).score(self.test, self.truth))

    def accuracy(self, release: Release) -> float:
        return float(learn_release(release).score(self.test[:, self.places(release)], self.truth))

    def places(self, release: Release) -> list[int]:
        return [self.names.index(name) for name in release.mechanism["features"]]

    def protect(self, epsilon: float, rng: np.random.Generator, *, released_rows: bool) -> tuple[FeaturePlan, Release]:
        """What ``tacit features protect`` does with this epsilon."""
        parts = split_budget(
            epsilon,
            delta=_DELTA,
            features=len(self.names),
            keep=_KEEP,
            rows=len(self.rows),
            classes=len(np.unique(self.codes)),
            released_rows=released_rows,
        )
        plan = FeaturePlan(
            box=_BOX,
            release=(NoisedRows if released_rows else ClassTotals)(epsilon=parts.release, delta=_DELTA),
            selection=PrivateSelection(epsilon=parts.selection, keep=_KEEP),
            class_rows=NoisedClassRows(epsilon=parts.class_rows),
            labels=RandomizedResponse(epsilon=parts.labels) if released_rows else None,
        )
        with tempfile.TemporaryDirectory() as folder:
            made = protect_features(self.table, Path(folder) / "release", label="label", plan=plan, rng=rng)
            return plan, read_release(made.path)


def _in_clear(halves: _Halves) -> Finding:
    start = time.perf_counter()
    promise = NoGuarantee(reason="rows and labels leave as they are")
    header = {"name": "none", "features": list(halves.names), "noise": [1.0] * len(halves.names)}
    release = Release(value=halves.table, guarantee=promise, surface="features", mechanism=header, seeded=True)
    leak = _linkage(release, halves)
    return _finding(
        setting=f"all {len(halves.names)} bands as they are",
        promise=promise,
        leak=leak,
        utility=f"a model trained on them is {halves.clean_accuracy:.1%} accurate",
        advice=f"Who has the raw file knows for {leak.rate:.1%} of the rows whose they are, with or without names.",
        command="tacit audit --only features  # rows as they are",
        start=start,
    )


def _printed_selection(rng: np.random.Generator) -> Finding:
    start = time.perf_counter()
    leak = selection_leak(
        lambda rows, labels, _: np.argsort(-by_distance(rows, labels))[:1],
        tied_neighbours(rows=100, features=_KEEP),
        runs=200,
        rng=rng,
    )
    return _finding(
        data="two made-up sets of 200 rows that differ in one record",
        setting="the list of features that the printed algorithm selects",
        promise=NoGuarantee(reason="the printed algorithm ranks features without noise"),
        leak=leak,
        utility="the list is exact",
        advice=(
            "The printed algorithm's list of features alone tells which of two data sets it saw that differ in one "
            f"record, in {leak.rate:.0%} of runs: choose features under noise."
        ),
        command="tacit audit --only features  # the printed selection",
        start=start,
    )


def _as_rows(halves: _Halves, epsilon: float, rng: np.random.Generator) -> Iterator[Finding]:
    start = time.perf_counter()
    plan, release = halves.protect(epsilon, rng, released_rows=True)
    assert isinstance(plan.release, NoisedRows)
    accuracy, clean = halves.accuracy(release), halves.clean_accuracy
    setting = f"{_KEEP} of {len(halves.names)} bands by noised rows, epsilon {epsilon:g}"
    utility = f"a model trained on the rows is {accuracy:.1%} accurate, {clean:.1%} on all bands as they are"
    links = _linkage(release, halves)
    yield _finding(
        setting=f"{setting}: links",
        promise=release.guarantee,
        leak=links,
        utility=utility,
        advice=(
            f"At epsilon {epsilon:g} {links.rate:.2%} of the released rows are linked to the raw ones behind them, "
            f"{links.baseline:.2%} by chance; a model of the rows is {accuracy:.1%} accurate against {clean:.1%}."
        ),
        command=(
            f"tacit features protect satellite.csv {_OPTIONS} --epsilon {epsilon:g} --out satellite.parquet && "
            "tacit features attack satellite.parquet --raw satellite.csv"
        ),
        start=start,
    )
    yield _membership(plan.release, f"{setting}: membership", utility, rng)


def _membership(mechanism: NoisedRows, setting: str, utility: str, rng: np.random.Generator) -> Finding:
    start = time.perf_counter()
    promise = mechanism.guarantee(features=_KEEP)
    found = canary_leak(mechanism, features=_KEEP, canaries=5000, delta=_DELTA, rng=rng)
    return _finding(
        setting=setting,
        promise=promise,
        leak=found,
        utility=utility,
        advice=(
            f"Records at opposite ends of the bounds prove that the noise on rows spends an epsilon of at least "
            f"{found.epsilon_lower_bound:.2g}; {promise.epsilon:.3g} of the whole is promised for it."
        ),
        command=f"tacit audit --only features  # {setting}",
        start=start,
    )


def _as_totals(halves: _Halves, epsilon: float, rng: np.random.Generator) -> Finding:
    start = time.perf_counter()
    plan, release = halves.protect(epsilon, rng, released_rows=False)
    assert isinstance(plan.release, ClassTotals)
    found = totals_leak(plan.release, features=_KEEP, runs=500, delta=_DELTA, rng=rng)
    accuracy, clean = halves.accuracy(release), halves.clean_accuracy
    return _finding(
        setting=f"class totals of {_KEEP} of {len(halves.names)} bands, epsilon {epsilon:g}: membership",
        promise=plan.release.guarantee(features=_KEEP),
        leak=found,
        utility=f"a model trained on the totals is {accuracy:.1%} accurate, {clean:.1%} on all bands as they are",
        advice=(
            f"If a classifier is all that is wanted, release class totals: at epsilon {epsilon:g} it is {accuracy:.1%} "
            f"accurate against {clean:.1%}, and there is no row to link."
        ),
        command=(
            f"tacit features protect satellite.csv {_OPTIONS} --epsilon {epsilon:g} --totals --out satellite.json && "
            "tacit features learn satellite.json --test satellite.csv --label class"
        ),
        start=start,
    )


def _linkage(release: Release, halves: _Halves) -> Leak:
    linked = link_rows(release, halves.rows[:, halves.places(release)])
    delta = getattr(release.guarantee, "delta", 0.0)
    return linkage_leak(linked, np.arange(len(linked)), candidates=len(linked), delta=delta)


def _finding(
    *,
    setting: str,
    promise: Promise,
    leak: Leak,
    utility: str,
    advice: str,
    command: str,
    start: float,
    data: str = "Satellite, 3,215 rows",
) -> Finding:
    seconds = time.perf_counter() - start
    return Finding(
        surface="features",
        data=data,
        setting=setting,
        promise=promise,
        leak=leak,
        utility=utility,
        advice=advice,
        command=command,
        seconds=seconds,
    )
