"""Choose the attack that fits a competition's rules, and run it against anything that takes submissions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.scores import attack
from tacit.scores.attack import (
    AttackStopped,
    DigitDesign,
    Menu,
    OracleError,
    Plan,
    Progress,
    RankDesign,
    Reading,
    climb_labels,
    expected_gain,
    guess_labels,
    infer_labels,
    plan,
    rows_worth_asking,
)
from tacit.scores.losses import Loss
from tacit.scores.protect import (
    F1,
    Accuracy,
    Auc,
    Brier,
    Exact,
    Ladder,
    Laplace,
    LogLoss,
    Mae,
    Metric,
    Rounded,
    Setting,
    Thresholdout,
)
from tacit.scores.server.baseline import doubt_of

__all__ = ["Assault", "assault"]

_AT_ONCE = 8

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Submit = Callable[[ArrayLike], str]
Tell = Callable[[int, int, Labels], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assault:
    """What came out: the best guess of every label, after so many submissions, and by which attack.

    Examples
    --------
    >>> Assault(labels=np.array([1]), submissions=3, attack="digits").submissions
    3
    """

    labels: Labels
    submissions: int
    attack: str


def assault(
    submit: Submit,
    setting: Setting,
    *,
    prior: Floats,
    submissions: int,
    rng: np.random.Generator,
    progress: Tell | None = None,
) -> Assault:
    """Recover what can be recovered from a number of submissions under known rules.

    Exact and rounded scores are read one by one (:func:`tacit.scores.attack.infer_labels`) where that promises more
    than all answers together (:func:`tacit.scores.attack.guess_labels`), which is used for everything else but
    the Ladder, which is climbed (:func:`tacit.scores.attack.climb_labels`). Rows that stay unknown are guessed from the
    features.

    Parameters
    ----------
    submit
        Takes predictions and returns the score as it is shown; called by several threads at once.
    setting
        The rules.
    prior
        (rows, classes): what the features say.
    submissions
        How many may be made.
    rng
        Draws the attacker's choices.
    progress
        Told the submissions made, those planned, and the present guess.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth, rules = rng.integers(0, 2, 50), Setting(metric=Accuracy(), policy=Rounded(decimals=3))
    >>> coins = np.full((50, 2), 0.5)
    >>> found = assault(lambda p: f"{(p == truth).mean():.3f}", rules, prior=coins, submissions=60, rng=rng)
    >>> bool((found.labels == truth).all()), found.submissions < 40
    (True, True)
    """
    tell = progress or (lambda *_: None)
    chosen = _one_by_one(setting, prior, submissions)
    if chosen is not None:
        return _read(submit, chosen, prior, submissions, tell, rng)
    return _weigh(submit, setting, prior, submissions, tell, rng)


def _one_by_one(setting: Setting, prior: Floats, submissions: int) -> Plan | None:
    """Return the plan that reads scores one by one, where it promises more than all answers together."""
    metric = setting.metric.attacked_as()
    if metric is None or setting.split.public_fraction < 1 or not isinstance(setting.policy, Exact | Rounded):
        return None
    hidden = setting.policy
    answers = attack.Rounded(decimals=hidden.decimals) if isinstance(hidden, Rounded) else attack.Exact()
    try:
        found = plan(metric, rows=len(prior), answers=answers)
        if found.queries <= submissions:
            return found
        if isinstance(metric, Loss):
            found = plan(metric, rows=len(prior), answers=answers, design=DigitDesign)
        if not isinstance(found.design, DigitDesign | RankDesign):
            return None  # other designs tell nothing before their last query
    except InvalidInput:  # rounding hides single rows
        return None
    doubt = doubt_of(prior)
    read = float(np.sort(doubt)[::-1][: len(prior) * submissions // found.queries].sum())
    rows = rows_worth_asking(prior, queries=submissions, deviation=0.3, span=1.0)
    return found if read > expected_gain(doubt[rows], queries=submissions, noise=0.09) else None


def _read(
    submit: Submit, chosen: Plan, prior: Floats, submissions: int, tell: Tell, rng: np.random.Generator
) -> Assault:
    made = 0
    guess = prior.argmax(axis=1)
    planned = min(submissions, chosen.queries)
    # rows in doubt first: a budget that ends early is spent where the features say least
    order = np.argsort(-(doubt_of(prior) + 1e-9 * rng.random(len(prior))), kind="stable")

    def oracle(predictions: object) -> float:
        nonlocal made
        if made >= submissions:
            raise OracleError(f"all {submissions} submissions are used")
        made += 1
        return float(submit(predictions))  # type: ignore[arg-type]

    def look(now: Progress) -> None:
        tell(now.queries, planned, guess)  # labels are in the outcome alone

    try:
        labels = infer_labels(oracle, chosen.metric, rows=chosen.rows, plan=chosen, order=order, progress=look).labels
    except AttackStopped as stopped:
        labels = stopped.outcome.labels
    found = np.where(labels >= 0, labels, guess)
    tell(made, planned, found)
    return Assault(labels=found, submissions=made, attack=f"labels read one by one ({type(chosen.design).__name__})")


def _weigh(
    submit: Submit, setting: Setting, prior: Floats, submissions: int, tell: Tell, rng: np.random.Generator
) -> Assault:
    host = _Host(submit=submit, setting=setting, rows=len(prior), prior=prior)
    classes = prior.shape[1]

    def look(made: int, beliefs: Floats) -> None:
        tell(made, submissions, beliefs[:, :classes].argmax(axis=1))

    if isinstance(setting.policy, Ladder):
        step = setting.policy.step * host.scored * host.menu.span
        beliefs = climb_labels(
            host.ask, host.prior, menu=host.menu, queries=submissions, step=step, rng=rng, progress=look
        )
        name = "climbing by turned labels"
    else:
        beliefs = guess_labels(
            host.ask_all,
            host.prior,
            menu=host.menu,
            queries=submissions,
            deviation=host.deviation,
            rng=rng,
            progress=look,
        )
        name = "Bayes' rule over all scores"
    return Assault(labels=beliefs[:, :classes].argmax(axis=1), submissions=host.made, attack=name)


@dataclass(slots=True, kw_only=True, eq=False)
class _Host:
    """A competition as the attacker sees it: choices go out, intervals for the sum of terms come back."""

    submit: Submit
    setting: Setting
    rows: int
    prior: Floats
    made: int = 0
    last: str = ""
    menu: Menu = field(init=False)
    predictions: Floats = field(init=False)

    def __post_init__(self) -> None:
        classes = self.prior.shape[1]
        self.predictions, table, neutral = _menu(self.setting.metric, classes)
        if self.setting.split.public_fraction < 1:
            # one more "label": the row is not scored, and nothing said about it counts
            table = np.concatenate([table, np.zeros((len(table), 1))], axis=1)
            share = self.setting.split.public_fraction
            self.prior = np.concatenate([self.prior * share, np.full((self.rows, 1), 1 - share)], axis=1)
        self.menu = Menu(losses=table, neutral=neutral, unscored=table.shape[1] > classes)

    @property
    def scored(self) -> int:
        return max(1, round(self.rows * self.setting.split.public_fraction))

    @property
    def deviation(self) -> float:
        """Standard deviation of an answer, in the units of the sum of terms."""
        low, high, scale = self._interval(*self._middle(), changed=True)
        return math.sqrt((high - low) ** 2 / 12 + 2 * scale**2)

    def ask(self, choice: NDArray[np.signedinteger[Any]]) -> Reading:
        answer = self.submit(self.predictions[choice])
        self.made += 1
        changed, self.last = answer != self.last, answer
        low, high, scale = self._interval(float(answer), int((choice == 1).sum()), changed=changed)
        return Reading(choice, low, high, scale)

    def ask_all(self, choices: Sequence[NDArray[np.int8]]) -> Iterator[Reading]:
        """Ask for many at once where an answer does not depend on the ones before it."""
        if isinstance(self.setting.policy, Thresholdout):
            yield from map(self.ask, choices)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for choice, answer in zip(
                choices, pool.map(lambda choice: self.submit(self.predictions[choice]), choices), strict=True
            ):
                self.made += 1
                low, high, scale = self._interval(float(answer), int((choice == 1).sum()), changed=True)
                yield Reading(choice, low, high, scale)

    def _middle(self) -> tuple[float, int]:
        low, high = self.setting.metric.bounds
        return (low + high) / 2, self.rows // 2

    def _interval(self, answer: float, ones: int, *, changed: bool) -> tuple[float, float, float]:
        """Return what an answer says of the sum of terms: low, high, and the noise's scale."""
        metric, policy = self.setting.metric, self.setting.policy
        if isinstance(policy, Laplace):
            per_answer = policy.scale(metric, rows=self.scored)
            middle, slope = self._sum(answer, ones)
            return middle, middle, per_answer * (self.scored if metric.additive else slope)
        if isinstance(policy, Ladder):
            return self._ladder(policy, answer, changed=changed)
        if isinstance(policy, Thresholdout):
            return self._thresholdout(policy, answer, changed=changed)
        half = 0.5 * 10.0**-policy.decimals if isinstance(policy, Rounded) else 1e-12
        ends = sorted(self._sum(end, ones)[0] for end in (answer - half, answer + half))
        return ends[0], ends[1], 0.0

    def _sum(self, answer: float, ones: int) -> tuple[float, float]:
        """Return the sum of terms that a score stands for, and how fast it moves with the score."""
        metric = self.setting.metric
        if metric.additive:
            mean = answer**2 if metric.name == "rmse" else answer
            return mean * self.scored, float(self.scored)
        positives = float(self.prior[:, 1].sum())
        share = self.setting.split.public_fraction
        positives, negatives, ones = positives * share, self.scored - positives * share, round(ones * share)
        if isinstance(metric, F1):  # 2 TP / (predicted + positives)
            slope = (ones + positives) / 2
            return answer * slope, slope
        slope = 2 / (1 / positives + 1 / negatives)  # 1/2 + (TP/P - FP/N)/2 of 0/1 predictions
        return (answer - 0.5) * slope + ones * slope / (2 * negatives), slope

    def _ladder(self, policy: Ladder, answer: float, *, changed: bool) -> tuple[float, float, float]:
        low, high = self.setting.metric.bounds
        lower = self.setting.metric.lower_is_better
        share = (answer - low) / (high - low) if lower else (high - answer) / (high - low)
        loss = share * self.scored * self.menu.span
        step = policy.step * self.scored * self.menu.span
        return (loss - step / 2, loss + step / 2, 0.0) if changed else (loss - step, math.inf, 0.0)

    def _thresholdout(self, policy: Thresholdout, answer: float, *, changed: bool) -> tuple[float, float, float]:
        low, high = self.setting.metric.term_bounds
        middle = self._sum(answer, 0)[0]
        noise = 2 / policy.epsilon * (high - low)
        if changed:
            return middle, middle, noise
        reach = policy.threshold * (high - low) * self.scored
        return middle - reach, middle + reach, 4 * noise


def _menu(metric: Metric, classes: int) -> tuple[Floats, Floats, int | None]:
    """Return predictions, what each costs with each label, and which of them costs the same with all."""
    if isinstance(metric, F1 | Auc) and classes == 2:
        return np.array([0.0, 1.0]), np.array([[0.0, 0.0], [0.0, 1.0]]), 0
    if isinstance(metric, Accuracy):
        return np.arange(classes, dtype=np.float64), np.eye(classes), None
    if not isinstance(metric, LogLoss | Brier | Mae):
        raise InvalidInput(f"metric must be one that an attack is known for, got {metric.name}")
    rows = np.concatenate([np.eye(classes), np.full((1, classes), 1 / classes)])
    predictions = rows[:, 1] if classes == 2 else rows
    table = np.array(
        [[metric.measure([label], [given]).terms[0] for label in range(classes)] for given in predictions.tolist()]
    )
    table[classes] = table[classes].mean()  # equal but for the last bit
    return predictions, table, classes
