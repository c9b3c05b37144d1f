"""Label totals of groups of rows: which labels they fix, what noise leaves of that, and what a model learns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from shlex import quote
from typing import ClassVar

import numpy as np

from tacit.audit.finding import Finding
from tacit.audit.planned import plain_model
from tacit.audit.source import Source
from tacit.audit.utility import Utility, share_utility
from tacit.audit.words import listed, percent, within_chance, words_with_commas
from tacit.bags.attacks import determined, guess_labels
from tacit.bags.learners import AdditiveModel, RandomBagModel
from tacit.bags.losses import CrossEntropy, LogLoss
from tacit.bags.mechanisms.curation import curate
from tacit.bags.mechanisms.drawing import draw
from tacit.bags.mechanisms.noise import LaplaceNoise
from tacit.bags.mechanisms.sizes import DropSmall, KeepAll
from tacit.bags.partition import BagTotals
from tacit.leak import Leak
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = ["BagsRelease"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BagsRelease:
    """The label totals of bags of rows: of all rows that share the values of columns, or of random bags.

    Parameters
    ----------
    by
        One list of columns for each set of bags.
    random, bags
        Or: rows a bag, and how many bags.
    min_size
        Smaller bags are not released.
    epsilon
        Of Laplace noise on the totals, for one label; absent: exact totals.

    Examples
    --------
    >>> BagsRelease(by=(("class", "sex"),), epsilon=1.0).describe()
    'totals by class and sex, epsilon 1'
    >>> BagsRelease()
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: bags must be formed either by columns (by) or at random (random and bags)
    """

    surface: ClassVar[str] = "bags"

    by: tuple[tuple[str, ...], ...] = ()
    random: int | None = None
    bags: int | None = None
    min_size: int = 1
    epsilon: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", tuple(tuple(columns) for columns in self.by))
        if bool(self.by) == (self.random is not None) or (self.random is None) != (self.bags is None):
            raise InvalidInput("bags must be formed either by columns (by) or at random (random and bags)")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
            if self.random is not None:
                raise InvalidInput("epsilon is for bags formed by columns; random bags here are exact")
        for name in ("random", "bags", "min_size"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name=name)

    def check(self, source: Source) -> None:
        """Raise where a column is no feature, or no bag of a kind would be large enough.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> BagsRelease(by=(("moon",),)).check(bundled_source("titanic"))
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: by must name columns among the features class, age, sex, got 'moon'
        """
        for column in (name for columns in self.by for name in columns):
            if column not in source.features:
                known = ", ".join(source.features)
                raise InvalidInput(f"by must name columns among the features {known}, got {column!r}")
        if self.random is not None and self.random > source.rows:
            raise InvalidInput(f"random must be at most the {source.rows:,} rows of the table, got {self.random:,}")
        for columns in self.by:
            largest = largest_bag(source, columns)
            if largest < self.min_size:
                raise InvalidInput(
                    f"min_size must be at most {largest:,}, as the largest bag by {listed(list(columns))} has, got "
                    f"{self.min_size:,}"
                )

    def at(self, epsilon: float, source: Source) -> BagsRelease:
        """Return the same totals with noise; for random bags, totals by the columns with the fewest values.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> BagsRelease(random=3, bags=10).at(2.0, bundled_source("titanic")).by
        (('age', 'sex', 'class'),)
        """
        if self.random is not None:
            return BagsRelease(by=(few_valued(source),), epsilon=epsilon)
        return replace(self, epsilon=epsilon)

    def describe(self) -> str:
        """Return what leaves."""
        if self.random is not None:
            return f"totals of {self.bags:,} random bags of {self.random}, exact"
        kinds = "; ".join(listed(list(columns)) for columns in self.by)
        least = f", at least {self.min_size} rows" if self.min_size > 1 else ""
        return f"totals by {kinds}{least}, {'exact' if self.epsilon is None else f'epsilon {self.epsilon:g}'}"

    def audit(self, source: Source, *, rng: np.random.Generator, tell: Callable[[str], None]) -> Finding:
        """Release the totals, guess every label back from them, and fit a model to them.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> plan = BagsRelease(random=3, bags=2000)
        >>> found = plan.audit(bundled_source("titanic"), rng=np.random.default_rng(0), tell=lambda _: None)
        >>> found.leak.advantage > 0.1
        True
        """
        tell(f"bags: {self.describe()}")
        start = time.perf_counter()
        table, truth = source.coded(), source.codes
        release = self._release(source, rng)
        fixed = determined(release, table)
        leak = guess_labels(release, table, prior=source.prior).with_certain(fixed).leak(truth)
        learned = (AdditiveModel() if release.random is None else RandomBagModel()).fit(release, table)
        utility = share_utility(
            "accuracy of a model trained on the totals, on the same rows",
            np.asarray(learned.predict(table)) == truth,
            np.asarray(plain_model().fit(source.X, truth).predict(source.X)) == truth,
            truth=truth,
        )
        return Finding(
            surface=self.surface,
            data=source.name,
            setting=self.describe(),
            promise=release.guarantee,
            leak=leak,
            counted=("labels guessed right", "without the release"),
            utility=utility,
            told=_told(leak, fixed=fixed.count),
            remedy=self._remedy(leak, utility, fixed=fixed.count),
            certain=fixed.count,
            seconds=time.perf_counter() - start,
        )

    def _remedy(self, leak: Leak, utility: Utility, *, fixed: int) -> str:
        leaks = fixed or leak.advantage_interval.low > 0
        if self.random is not None:
            return (
                f"{self.bags:,} bags of {self.random} are too many or too small, so release fewer and larger ones, or "
                "noised totals by columns"
                if leaks
                else "no label is fixed, but nothing is promised either, so draw no more bags from these rows"
            )
        if self.epsilon is None:
            return (
                f"release bags of more than {self.min_size} row{'s' * (self.min_size > 1)}, and with noise, such as "
                "epsilon 1 for one label"
                if leaks
                else "no label is fixed, but nothing is promised either, so add noise, such as epsilon 1 for one label"
            )
        if utility.worthless:
            return f"the noise drowns the totals, so form larger bags, or allow more than epsilon {self.epsilon:g}"
        if leaks:
            return f"lower epsilon {self.epsilon:g}, or form larger bags"
        return within_chance("release them once, with this noise", epsilon=self.epsilon)

    def _release(self, source: Source, rng: np.random.Generator) -> BagTotals:
        classes = len(source.classes)
        loss = LogLoss() if classes == 2 else CrossEntropy(classes=classes)
        if self.random is not None and self.bags is not None:
            return draw(source.coded(), size=self.random, bags=self.bags, label=source.label, loss=loss, rng=rng)
        noise = None if self.epsilon is None else LaplaceNoise(epsilon=self.epsilon)
        return curate(
            source.coded(),
            by=self.by,
            label=source.label,
            loss=loss,
            noise=noise,
            sizes=KeepAll() if self.min_size == 1 else DropSmall(least=self.min_size),
            rng=rng,
        )

    def by_hand(self, source: Source) -> str:
        """Return the commands without an audit.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> BagsRelease(random=3, bags=10).by_hand(replace(bundled_source("iris"), file="iris.csv"))[:51]
        'tacit bags protect iris.csv --label species --class'
        """
        if source.file is None:
            return ""
        file, label, classes = quote(source.file), quote(source.label), quote(words_with_commas(source.classes))
        totals = "" if len(source.classes) == 2 else " --totals classes"
        epsilon = "none" if self.epsilon is None else f"{self.epsilon:g}"
        if self.random is not None:
            how = f"--mechanism random:size={self.random},bags={self.bags}"
        else:
            how = " ".join(f"--by {quote(words_with_commas(columns))}" for columns in self.by)
            how += f" --min-size {self.min_size}"
        return (
            f"tacit bags protect {file} --label {label} --classes {classes}{totals} {how} --epsilon {epsilon} "
            f"--out totals.bags && tacit bags attack totals.bags --data {file} --truth {file}"
        )


def few_valued(source: Source, *, most: int = 3) -> tuple[str, ...]:
    """Return the ``most`` feature columns with the fewest values: those that totals are usually made by.

    Examples
    --------
    >>> from tacit.audit.source import bundled_source
    >>> few_valued(bundled_source("titanic"), most=1)
    ('age',)
    """
    values = {name: len(source.table[name].unique()) for name in source.features}
    return tuple(sorted(values, key=lambda name: (values[name], source.features.index(name)))[:most])


def largest_bag(source: Source, columns: tuple[str, ...]) -> int:
    """Return the number of rows of the largest bag of rows that share these columns.

    Examples
    --------
    >>> from tacit.audit.source import bundled_source
    >>> largest_bag(bundled_source("titanic"), ("sex",))
    1731
    """
    return int(max(source.table.group_by(list(columns)).aggregate([([], "count_all")])["count_all"].to_pylist()))


def _told(leak: Leak, *, fixed: int) -> str:
    guessed = f"{percent(leak.rate)} of {leak.trials:,} labels are guessed right instead of {percent(leak.baseline)}"
    labels = f"{fixed:,} label{'s' * (fixed > 1)}"
    return f"These totals fix {labels} for certain, and {guessed}" if fixed else f"With these totals {guessed}"
