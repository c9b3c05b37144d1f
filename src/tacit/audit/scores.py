"""A leaderboard's scores: the labels they give away, and whether they still rank honest models."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from shlex import quote
from threading import Lock
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau, t
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tacit.audit.finding import Finding
from tacit.audit.source import Source
from tacit.audit.utility import Utility
from tacit.audit.words import percent, within_chance
from tacit.leak import Interval, Leak, leak_from_guesses
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import NoGuarantee, Promise
from tacit.privacy.rounding import check_count, check_epsilon
from tacit.scores.attacks import attack_competition
from tacit.scores.metrics import LogLoss
from tacit.scores.policies import Exact, Laplace, Rounded
from tacit.scores.releases import Setting

__all__ = ["ScoresRelease"]

_ALL_TEAMS = "all teams together get at most {:,} scores; T teams that pool theirs get T times the epsilon"
_DRAWS = 40
_FOLDS = 3
_ENOUGH = 400
_DEPTHS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoresRelease:
    """The log loss of every submission to a competition on these labels.

    Parameters
    ----------
    decimals
        Scores are rounded to this many; absent, with epsilon absent too: as computed.
    epsilon
        Of Laplace noise on one score, for one label.
    submissions
        How many are answered: the promise counts those of all teams together, the attack makes them alone.
    per_day
        How many a day.

    Examples
    --------
    >>> ScoresRelease(decimals=5).describe()
    'log loss to 5 decimals, 400 submissions'
    >>> ScoresRelease(epsilon=0.1, submissions=100).describe()
    'log loss with noise, epsilon 0.1 a score, 100 submissions'
    """

    surface: ClassVar[str] = "scores"

    decimals: int | None = None
    epsilon: float | None = None
    submissions: int = _ENOUGH
    per_day: int = 5

    def __post_init__(self) -> None:
        if self.decimals is not None and self.epsilon is not None:
            raise InvalidInput("decimals and epsilon contradict each other: noised scores are not rounded")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        for name in ("submissions", "per_day"):
            check_count(getattr(self, name), name=name)
        if self.decimals is not None:
            check_count(self.decimals, name="decimals", least=0)

    def check(self, source: Source) -> None:
        """Raise never: any table will do.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> ScoresRelease().check(bundled_source("iris"))
        """

    def at(self, epsilon: float, source: Source) -> ScoresRelease:  # noqa: ARG002
        """Return noised scores that cost a label this epsilon together.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> ScoresRelease(submissions=100).at(10.0, bundled_source("iris")).epsilon
        0.1
        """
        return replace(self, decimals=None, epsilon=epsilon / self.submissions)

    def describe(self) -> str:
        """Return what leaves."""
        return f"log loss {self._how}, {self.submissions:,} submissions"

    @property
    def _how(self) -> str:
        if self.epsilon is not None:
            return f"with noise, epsilon {self.epsilon:g} a score"
        return "as computed" if self.decimals is None else f"to {self.decimals} decimals"

    def audit(self, source: Source, *, rng: np.random.Generator, tell: Callable[[str], None]) -> Finding:
        """Attack the scores with every submission a team has, and rank honest models by them.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> found = ScoresRelease().audit(bundled_source("titanic"), rng=np.random.default_rng(0), tell=print)
        scores: log loss as computed, 400 submissions
        >>> found.leak.rate
        1.0
        """
        tell(f"scores: {self.describe()}")
        start = time.perf_counter()
        truth, setting = source.codes, self._setting(source)
        found = attack_competition(
            _host(setting, truth, rng=rng), setting, prior=source.prior, submissions=self.submissions, rng=rng
        )
        leak = leak_from_guesses(found.labels, truth, baseline=source.prior.argmax(axis=1))
        utility = self._utility(source, setting, rng)
        return Finding(
            surface=self.surface,
            data=source.name,
            setting=self.describe(),
            promise=self._promise(setting),
            leak=leak,
            counted=("labels guessed right", "without the scores"),
            utility=utility,
            told=self._told(leak, found.submissions),
            remedy=self._remedy(leak, utility),
            seconds=time.perf_counter() - start,
        )

    def _setting(self, source: Source) -> Setting:
        policy = Exact() if self.decimals is None else Rounded(decimals=self.decimals)
        metric = LogLoss(classes=len(source.classes))
        return Setting(metric=metric, policy=policy if self.epsilon is None else Laplace(epsilon=self.epsilon))

    def _promise(self, setting: Setting) -> Promise:
        if not isinstance(setting.policy, Laplace):
            return NoGuarantee(reason="a score without noise depends on every label")
        promise = setting.policy.guarantee(submissions=self.submissions)
        return replace(promise, assumptions=(*promise.assumptions, _ALL_TEAMS.format(self.submissions)))

    def _utility(self, source: Source, setting: Setting, rng: np.random.Generator) -> Utility:
        """Measure how far the shown scores keep the order of honest models: Kendall's tau-b with the exact ones."""
        models = _honest_predictions(source)
        exact = [setting.metric.score(source.codes, predictions) for predictions in models]

        def shown() -> float:
            told = [float(setting.answer(source.codes, predictions, state={}, rng=rng).text) for predictions in models]
            return float(np.nan_to_num(kendalltau(exact, told).statistic))

        taus = np.array([shown() for _ in range(_DRAWS if self.epsilon is not None else 1)])
        mean, within, method = float(taus.mean()), *_mean_interval(taus)
        return Utility(
            measure=f"order kept of {len(models)} honest models (Kendall's tau-b)",
            protected=mean,
            interval=within,
            unprotected=1.0,
            unprotected_interval=Interval(low=1.0, high=1.0, level=0.95),
            blind=0.0,
            blind_interval=Interval(low=0.0, high=0.0, level=0.95),
            cost_interval=Interval(low=1 - within.high, high=1 - within.low, level=0.95),
            method=method,
        )

    def _told(self, leak: Leak, made: int) -> str:
        days = math.ceil(made / self.per_day)
        how = "With noise" if self.epsilon is not None else f"With scores {self._how}"
        return (
            f"{how} and {self.per_day:,} submission{'s' * (self.per_day != 1)} a day, {percent(leak.rate)} of your "
            f"{leak.trials:,} labels are known after {days:,} day{'s' * (days != 1)} ({made:,} "
            f"submission{'s' * (made != 1)}), {percent(leak.baseline)} without the scores"
        )

    def _remedy(self, leak: Leak, utility: Utility) -> str:
        leaks = leak.advantage_interval.low > 0
        if self.epsilon is None:
            few = f"Laplace noise at epsilon {1 / self.submissions:.2g} a score promises each label about epsilon 1"
            return few if leaks else f"nothing is promised, though, and {few}"
        if utility.worthless or utility.interval.low <= 0:
            few = f"allow fewer than {self.submissions:,} submissions, with a larger epsilon each"
            return f"but the noise hides which model is better, so {few}"
        if leaks:
            return f"allow fewer than {self.submissions:,} submissions, or lower epsilon {self.epsilon:g} a score"
        stop = f"keep the noise, and stop after {self.submissions:,} submissions of all teams"
        return within_chance(stop, epsilon=self.epsilon * self.submissions)

    def by_hand(self, source: Source) -> str:
        """Return the commands without an audit; the attack on noisy scores is the audit's own.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> ScoresRelease(decimals=5).by_hand(replace(bundled_source("iris"), file="iris.csv"))[:64]
        'tacit scores protect iris.csv --label species --submissions 400 '
        """
        if source.file is None or self.epsilon is not None:
            return ""
        table = quote(source.file)
        policy = "exact" if self.decimals is None else f"rounded:decimals={self.decimals}"
        plan = f"--label {quote(source.label)} --submissions {self.submissions} --epsilon none --policy {policy}"
        attack = f"tacit scores attack offer.json --truth {table}"
        return f"tacit scores protect {table} {plan} --out offer.json && {attack}"


def _mean_interval(taus: NDArray[np.float64]) -> tuple[Interval, str]:
    """Return an interval of the mean over draws of the noise, and its method; without noise there is one draw."""
    mean, draws, spread = float(taus.mean()), len(taus), 0.0
    method = f"Student's t over {draws} draws of the noise" if draws > 1 else "exact: there is no noise"
    if draws > 1 and np.ptp(taus) == 0:  # another draw may still differ, by as much as two orders can
        spread, method = 2 * (1 - 0.025 ** (1 / draws)), f"Clopper-Pearson: {draws} draws of the noise agree"
    elif draws > 1:
        spread = float(t.ppf(0.975, draws - 1) * taus.std(ddof=1) / math.sqrt(draws))
    return Interval(low=max(-1.0, mean - spread), high=min(1.0, mean + spread), level=0.95), method


def _host(setting: Setting, truth: NDArray[np.int64], *, rng: np.random.Generator) -> Callable[[ArrayLike], str]:
    """Return who answers submissions; the noise depends on the submission, not on which thread asks first."""
    root, seen, guard = rng.integers(2**63, size=4).tolist(), Counter[bytes](), Lock()

    def score(predictions: ArrayLike) -> str:
        digest = hashlib.sha256(np.ascontiguousarray(predictions).tobytes()).digest()
        with guard:
            seen[digest] += 1
            again = seen[digest]
        noise = np.random.default_rng([*root, int.from_bytes(digest), again])
        return setting.answer(truth, predictions, state={}, rng=noise).text

    return score


@lru_cache(maxsize=2)
def _honest_predictions(source: Source) -> tuple[NDArray[np.float64], ...]:
    """Predict every row by models of varied quality that have not seen its label."""
    logistic = [make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=300)) for C in (1e-4, 1e-3, 1e-2, 1.0)]
    trees = [DecisionTreeClassifier(max_depth=depth, min_samples_leaf=20, random_state=0) for depth in _DEPTHS]
    models = [*logistic, *trees, RandomForestClassifier(30, min_samples_leaf=5, random_state=0), GaussianNB()]
    few = np.bincount(source.codes).max() < _FOLDS
    folds = (KFold if few else StratifiedKFold)(_FOLDS, shuffle=True, random_state=0)
    tables = [cross_val_predict(m, source.X, source.codes, cv=folds, method="predict_proba") for m in models]
    return tuple(table[:, 1] if table.shape[1] == 2 else table for table in tables)
