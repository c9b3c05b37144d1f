"""Released feature rows: whose they are, who is among them, and what a model still learns."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.audit.planned import share_utility
from tacit.audit.result import Finding
from tacit.audit.source import Source
from tacit.features import (
    Box,
    ClassTotals,
    FeaturePlan,
    FisherClassifier,
    NoisedClassRows,
    NoisedRows,
    PrivateSelection,
    learn_release,
    protect_features,
)
from tacit.features.attack import canary_leak, link_rows, linkage_leak, totals_leak
from tacit.features.theory import split_budget
from tacit.labels import RandomizedResponse
from tacit.leak import Leak
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import NoGuarantee
from tacit.privacy.release import Release, read_release
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

__all__ = ["FeaturesRelease"]

_LABEL = "label"
_MUCH = 0.05
_PART = "epsilon from canaries under the noise of the rows, which is a part of the promise: the rest is not attacked"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesRelease:
    """Rows of numbers with their labels: a few features, chosen and noised; or as they are.

    Parameters
    ----------
    epsilon, delta
        For one record, over choice, rows and labels; epsilon absent: all features leave as they are.
    keep
        How many features.
    bound
        Values are clipped to [-bound, bound].
    totals
        Release class totals instead of rows.

    Examples
    --------
    >>> FeaturesRelease(epsilon=4.0, keep=6).describe()
    '6 features by noised rows, epsilon 4'
    """

    surface: ClassVar[str] = "features"

    epsilon: float | None = None
    delta: float = 1e-5
    keep: int = 6
    bound: float = 3.0
    totals: bool = False

    def __post_init__(self) -> None:
        check_count(self.keep, name="keep")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
            if check_delta(self.delta) == 0:
                raise InvalidInput("delta must be > 0: the noise on rows is Gaussian")
        if not 0 < self.bound < np.inf:
            raise InvalidInput(f"bound must be a finite number > 0, got {self.bound}")
        if self.totals and self.epsilon is None:
            raise InvalidInput("totals are released with noise; give an epsilon")

    @classmethod
    def at(cls, epsilon: float, source: Source) -> FeaturesRelease:
        """Return noised rows of a few features.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> FeaturesRelease.at(1.0, bundled_source("iris")).keep
        4
        """
        return cls(epsilon=epsilon, keep=min(6, source.X.shape[1]))

    def describe(self) -> str:
        """Return what leaves."""
        if self.epsilon is None:
            return "rows of all features as they are"
        kind = "class totals" if self.totals else "noised rows"
        return f"{self.keep} features by {kind}, epsilon {self.epsilon:g}"

    def audit(self, source: Source, *, rng: np.random.Generator, tell: Callable[[str], None]) -> Finding:
        """Release half of the rows, link them to the raw ones, tell members, and test a model on the other half.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> found = FeaturesRelease().audit(bundled_source("iris"), rng=np.random.default_rng(0), tell=print)
        features: rows of all features as they are
        >>> found.leak.rate > 0.9
        True
        """
        tell(f"features: {self.describe()}")
        self._check_bound(source)
        start = time.perf_counter()
        half, rest = source.halves(rng)
        X, y = source.X[half], source.codes[half]
        clean = FisherClassifier().fit(X, y).predict(source.X[rest]) == source.codes[rest]
        release, leak = self._in_clear(X, y) if self.epsilon is None else self._noised(X, y, self.epsilon, rng)
        kept = [int(name) for name in release.mechanism["features"]]
        right = clean
        if self.epsilon is not None:
            right = np.asarray(learn_release(release).predict(source.X[rest][:, kept])) == source.codes[rest]
        return Finding(
            surface=self.surface,
            data=source.name,
            setting=self.describe(),
            promise=release.guarantee,
            leak=leak,
            utility=share_utility("accuracy of a model trained on the release", right, clean),
            advice=self._advice(leak) + _clipped(source, self.bound if self.epsilon is not None else np.inf),
            command=self._command(source),
            seconds=time.perf_counter() - start,
        )

    def _check_bound(self, source: Source) -> None:
        beyond = (source.X.min(axis=0) >= self.bound) | (source.X.max(axis=0) <= -self.bound)
        if self.epsilon is not None and beyond.any():
            name = source.names[int(beyond.argmax())]
            raise InvalidInput(
                f"bound must be larger, or the columns scaled: all of {name!r} is clipped to {self.bound:g}"
            )

    def _in_clear(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> tuple[Release, Leak]:
        promise = NoGuarantee(reason="rows and labels leave as they are")
        names = [str(place) for place in range(X.shape[1])]
        header = {"name": "none", "features": names, "noise": [1.0] * len(names)}
        release = Release(value=_table(X, y), guarantee=promise, surface="features", mechanism=header, seeded=True)
        return release, _linkage(release, X)

    def _noised(
        self, X: NDArray[np.float64], y: NDArray[np.int64], epsilon: float, rng: np.random.Generator
    ) -> tuple[Release, Leak]:
        parts = split_budget(
            epsilon,
            delta=self.delta,
            features=X.shape[1],
            keep=self.keep,
            rows=len(X),
            classes=len(np.unique(y)),
            released_rows=not self.totals,
        )
        chosen = parts.selection > 0  # where all features are kept, none is chosen
        mechanism = (ClassTotals if self.totals else NoisedRows)(epsilon=parts.release, delta=self.delta)
        plan = FeaturePlan(
            box=Box.symmetric(self.bound),
            release=mechanism,
            selection=PrivateSelection(epsilon=parts.selection, keep=self.keep) if chosen else None,
            class_rows=NoisedClassRows(epsilon=parts.class_rows) if chosen else None,
            labels=None if self.totals else RandomizedResponse(epsilon=parts.labels),
        )
        with tempfile.TemporaryDirectory() as folder:
            made = protect_features(_table(X, y), Path(folder) / "release", label=_LABEL, plan=plan, rng=rng)
            release = read_release(made.path)
        if isinstance(mechanism, ClassTotals):
            return release, totals_leak(mechanism, features=self.keep, runs=500, delta=self.delta, rng=rng)
        proved = canary_leak(mechanism, features=self.keep, canaries=5000, delta=self.delta, rng=rng)
        linked = _linkage(release, X)
        return release, replace(linked, bound=proved.bound, method=f"{linked.method}; {_PART}")

    def _advice(self, leak: Leak) -> str:
        if self.epsilon is None:
            return f"Who has the raw file knows for {leak.rate:.1%} of the rows whose they are: release noised ones."
        if self.totals:
            return "There is no row to link: where a classifier is all that is wanted, release class totals."
        return (
            f"{leak.rate:.1%} of the released rows are linked to the raw ones behind them, {leak.baseline:.1%} by "
            "chance; where a classifier is all that is wanted, release class totals instead."
        )

    def _command(self, source: Source) -> str:
        if self.epsilon is None:
            return f"tacit audit --only features  # {self.describe()}"
        kind = " --totals" if self.totals else ""
        return (
            f"tacit features protect {quote(source.file)} --label {quote(source.label)} --keep {self.keep} "
            f"--bound {self.bound:g} --epsilon {self.epsilon:g} --delta {self.delta:g}{kind} --out features.release && "
            f"tacit features attack features.release --raw {quote(source.file)}"
        )


def _table(X: NDArray[np.float64], y: NDArray[np.int64]) -> pa.Table:
    return pa.table({**{str(place): column for place, column in enumerate(X.T)}, _LABEL: y})


def _clipped(source: Source, bound: float) -> str:
    share = float((np.abs(source.X) > bound).mean())
    return (
        f" {share:.0%} of the values are beyond {bound:g} and clipped: scale the columns first."
        if share > _MUCH
        else ""
    )


def _linkage(release: Release, X: NDArray[np.float64]) -> Leak:
    kept = [int(name) for name in release.mechanism["features"]]
    linked = link_rows(release, X[:, kept])
    delta = getattr(release.guarantee, "delta", 0.0)
    return linkage_leak(linked, np.arange(len(linked)), candidates=len(linked), delta=delta)
