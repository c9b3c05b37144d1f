"""Released feature rows: whose they are, who is among them, and what a model still learns."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.audit.finding import Finding
from tacit.audit.source import Source
from tacit.audit.utility import Utility, share_utility
from tacit.audit.words import percent, within_chance
from tacit.features import Plan, attack, learn, protect
from tacit.features.attacks.linkage import link_rows, linkage_leak
from tacit.features.attacks.released_rows import ReleasedRows
from tacit.features.learners.fisher import FisherClassifier
from tacit.features.mechanisms import Rows, Totals
from tacit.features.methods import Canaries, Linkage
from tacit.leak import Leak
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import NoGuarantee, Promise
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

__all__ = ["FeaturesRelease"]

_LABEL = "label"
_MUCH = 0.05
_LEAST = 4  # rows of a label: two in each half
_LINKS = ("released rows found again", "by chance")
_MEMBERS = ("records told from their opposite", "of opposites, taken for them")
_IN_CLEAR = NoGuarantee(reason="rows and labels leave as they are")
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

    def check(self, source: Source) -> None:
        """Raise where there are too few features, rows of a class, or values within the bound, or delta is large.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> FeaturesRelease(epsilon=1.0, keep=99).check(bundled_source("iris"))
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: keep must be at most 4, the number of features, got 99
        """
        if self.epsilon is None:
            return
        source.check_delta(self.delta)
        if self.keep > source.X.shape[1]:
            raise InvalidInput(f"keep must be at most {source.X.shape[1]}, the number of features, got {self.keep}")
        sizes = np.bincount(source.codes).tolist()
        if min(sizes) < _LEAST:
            rare = source.classes[sizes.index(min(sizes))]
            raise InvalidInput(
                f"label {rare!r} has {min(sizes)} row{'s' * (min(sizes) > 1)}, and half of the rows are released: "
                f"each label needs {_LEAST} or more; group the rare ones"
            )
        beyond = (source.X.min(axis=0) >= self.bound) | (source.X.max(axis=0) <= -self.bound)
        if beyond.any():
            name = source.names[int(beyond.argmax())]
            raise InvalidInput(
                f"bound must be larger, or the columns scaled: all of {name!r} is clipped to {self.bound:g}"
            )

    def at(self, epsilon: float, source: Source) -> FeaturesRelease:
        """Return the same release with noise; for rows in clear, noised rows within the largest value.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> FeaturesRelease().at(1.0, bundled_source("iris")).keep
        4
        """
        keep = min(self.keep, source.X.shape[1])
        largest = float(np.abs(source.X).max(initial=0.0)) or 1.0
        bound = self.bound if self.epsilon is not None else largest
        return replace(self, epsilon=epsilon, keep=keep, bound=bound)

    def describe(self) -> str:
        """Return what leaves."""
        if self.epsilon is None:
            return "rows of all features as they are"
        kind = "class totals" if self.totals else "noised rows"
        return f"{self.keep} feature{'s' * (self.keep > 1)} by {kind}, epsilon {self.epsilon:g}"

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
        start = time.perf_counter()
        half, rest = source.halves(rng)
        words = np.asarray(source.classes)[source.codes]  # what is refused is then refused by name
        X, y, truth = source.X[half], words[half], words[rest]
        clean = FisherClassifier().fit(X, y).predict(source.X[rest]) == truth
        right, promise, leak = (
            (clean, _IN_CLEAR, _linkage_in_clear(X))
            if self.epsilon is None
            else self._noised(X, y, source.X[rest], truth, rng)
        )
        utility = share_utility("accuracy of a model trained on the release", right, clean, truth=truth)
        return Finding(
            surface=self.surface,
            data=source.name,
            setting=self.describe(),
            promise=promise,
            leak=leak,
            counted=_MEMBERS if self.totals else _LINKS,
            utility=utility,
            told=self._told(leak),
            remedy=self._remedy(leak, utility) + _clipped(source, self.bound if self.epsilon is not None else np.inf),
            seconds=time.perf_counter() - start,
        )

    def _noised(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.str_],
        rest: NDArray[np.float64],
        truth: NDArray[np.str_],
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.bool_], Promise, Leak]:
        # a rare value of text may be missing in this half of the rows, and its column constant
        varies = np.flatnonzero(np.ptp(np.clip(X, -self.bound, self.bound), axis=0) > 0)
        table = _table(X, y, varies)
        plan = self.plan(label=_LABEL)
        release = protect(table, replace(plan, select=min(self.keep, len(varies))), rng=rng)
        kept = [int(name) for name in release.features]
        right = np.asarray(learn(release, hold_out=0).predict(rest[:, kept])) == truth
        proved = attack(release, method=Canaries(records=500 if self.totals else 5000), rng=rng)
        if self.totals:
            return right, release.guarantee, proved
        linked = attack(release, truth=table, method=Linkage())
        return right, release.guarantee, replace(linked, bound=proved.bound, method=f"{linked.method}; {_PART}")

    def plan(self, *, label: str, features: tuple[str, ...] = ()) -> Plan:
        """Return the plan of the release, where there is noise."""
        return Plan(
            label=label,
            features=features,
            epsilon=self.epsilon,
            delta=self.delta,
            select=self.keep,
            ranges={"*": (-self.bound, self.bound)},
            mechanism=Totals() if self.totals else Rows(),
        )

    def _told(self, leak: Leak) -> str:
        if self.totals:
            return (
                "Asked whether a record or its opposite in every feature is in the totals, an attacker names the "
                f"record for {percent(leak.rate)} of those that are and {percent(leak.baseline)} of opposites"
            )
        return (
            f"Who knows a person's features finds the right one among {leak.trials:,} released rows, and with it the "
            f"label, for {percent(leak.rate)} of them instead of {percent(leak.baseline)}"
        )

    def _remedy(self, leak: Leak, utility: Utility) -> str:
        if self.epsilon is None:
            return "release class totals with noise, or noised rows, instead"
        if utility.worthless:
            how = "raise the rows of each class" if self.totals else "release class totals instead"
            return (
                f"but a model trained on this release is right {percent(utility.protected)} of the time and needs no "
                f"data to reach {percent(utility.blind)}, so {how}, or allow more than epsilon {self.epsilon:g}"
            )
        if leak.advantage_interval.low > 0:
            return f"lower epsilon {self.epsilon:g}" + ("" if self.totals else ", or release class totals instead")
        most = "release it once" if self.totals else "release class totals if a classifier is all that is wanted"
        return within_chance(most, epsilon=self.epsilon)

    def by_hand(self, source: Source) -> str:
        """Return the commands without an audit, where the columns are numbers and none is missing.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> FeaturesRelease(epsilon=4.0).by_hand(replace(bundled_source("iris"), file="iris.csv"))[:53]
        'tacit features protect iris.csv --label species --eps'
        """
        whole = source.names == source.features and not any(source.table[name].null_count for name in source.features)
        if source.file is None or self.epsilon is None or not whole:
            return ""
        file, out = shlex.quote(source.file), "features.json" if self.totals else "features.release"
        options = self.plan(label=source.label, features=source.features).to_options()
        make = f"tacit features protect {file} {shlex.join(options)} --out {out}"
        return make if self.totals else f"{make} && tacit features attack {out} --truth {file}"


def _table(X: NDArray[np.float64], y: NDArray[np.str_], places: NDArray[np.int64]) -> pa.Table:
    return pa.table({**{str(place): X[:, place] for place in places}, _LABEL: y})


def _clipped(source: Source, bound: float) -> str:
    share = float((np.abs(source.X) > bound).mean())
    said = f"; {share:.0%} of the values are beyond {bound:g} and clipped, so scale the columns"
    return said if share > _MUCH else ""


def _linkage_in_clear(X: NDArray[np.float64]) -> Leak:
    linked = link_rows(ReleasedRows(X, noise=1.0), X)
    return linkage_leak(linked, np.arange(len(linked)), candidates=len(linked))
