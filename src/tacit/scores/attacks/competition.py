"""Choose the attack that fits a competition's rules, and run it against anything that takes submissions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.prior import doubt_of
from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks.climb import climb_labels
from tacit.scores.attacks.design import Labels
from tacit.scores.attacks.digits import DigitDesign
from tacit.scores.attacks.errors import OracleError
from tacit.scores.attacks.infer import AttackProgress, AttackStopped, infer_labels
from tacit.scores.attacks.planning import AttackPlan, plan_attack
from tacit.scores.attacks.posterior import label_chances
from tacit.scores.attacks.reconstruct import best_size, expected_gain, guess_labels, rows_worth_asking
from tacit.scores.attacks.view import CompetitionView
from tacit.scores.metrics import Metric
from tacit.scores.policies import Policy

__all__ = ["AttackResult", "attack_competition", "attack_final_scores", "read_one_by_one"]

Floats = NDArray[np.float64]
Submit = Callable[[ArrayLike], str]
Tell = Callable[[int, int, Labels], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackResult:
    """The result: the best guess of every label, the number of submissions, and the attack."""

    labels: Labels
    submissions: int
    attack: str
    after: Floats
    """(rows, classes): the chance of each label."""
    determined: int = 0
    """How many labels the answers leave no choice for, under the rules that are known."""
    beliefs: Floats | None = None
    """(rows, classes + 1) in a split competition: the chance of each label, scored, and of a row that is not scored."""


def attack_competition(
    submit: Submit,
    metric: Metric,
    policy: Policy,
    *,
    public_fraction: float = 1.0,
    prior: Floats,
    submissions: int,
    rng: np.random.Generator,
    progress: Tell | None = None,
) -> AttackResult:
    """Recover what can be recovered from a number of submissions under known rules.

    Exact and rounded scores are read one by one (:func:`tacit.scores.attacks.infer_labels`) where that recovers more
    than all answers together (:func:`tacit.scores.attacks.guess_labels`), which is used for everything else but
    the Ladder, which is climbed (:func:`tacit.scores.attacks.climb_labels`). Rows that stay unknown are guessed from
    the features.

    Parameters
    ----------
    submit
        Takes predictions and returns the score as it is shown; called by several threads at once.
    public_fraction
        The share of rows behind the scores; which rows these are is not known.
    prior
        (rows, classes) beliefs by the features.
    progress
        Called with the submissions made, those planned, and the present guess.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> from tacit.scores.policies import Rounded
    >>> rng = np.random.default_rng(0)
    >>> truth, coins = rng.integers(0, 2, 50), np.full((50, 2), 0.5)
    >>> host = lambda p: f"{(p == truth).mean():.3f}"
    >>> found = attack_competition(host, Accuracy(), Rounded(decimals=3), prior=coins, submissions=60, rng=rng)
    >>> bool((found.labels == truth).all()), found.submissions < 40
    (True, True)
    """
    tell = progress or (lambda *_: None)
    chosen = _one_by_one(metric, policy, prior, submissions) if public_fraction == 1 else None
    if chosen is not None:
        return read_one_by_one(submit, chosen, prior=prior, submissions=submissions, rng=rng, progress=tell)
    view = CompetitionView(submit=submit, metric=metric, policy=policy, share=public_fraction, prior=prior)
    return _weigh(view, prior, submissions, tell, rng)


def attack_final_scores(
    submit: Callable[[Sequence[ArrayLike]], Sequence[str]],
    metric: Metric,
    policy: Policy,
    *,
    private_fraction: float,
    before: AttackResult,
    prior: Floats,
    scores: int = 1,
    rng: np.random.Generator,
) -> AttackResult:
    """Aim each team's last submission at the rows behind the final ranking of a split competition, and use its score.

    A row that the earlier scores took for not scored is likely to be behind the final ones.

    Parameters
    ----------
    submit
        Takes the predictions of all teams that share their scores, and returns their final scores.
    scores
        How many teams these are.
    """
    if before.beliefs is None:
        raise InvalidInput(
            "must come from a split competition, got one without beliefs about unscored rows", field="before"
        )
    host = CompetitionView(
        submit=lambda one: submit([one])[0], metric=metric, policy=policy, share=private_fraction, prior=prior
    )
    public, private = before.beliefs[:, :-1], before.beliefs[:, -1:]
    known = np.concatenate([prior * private, 1 - private], axis=1)
    choices = [_aim(host, prior, private[:, 0], rng, scores=scores) for _ in range(scores)]
    try:
        answers = submit([host.predictions[choice] for choice in choices])
    except OracleError:
        return before
    told = host.weigh_few(list(map(host.read, choices, answers)), known)
    after = public + told[:, :-1]
    return AttackResult(
        labels=after.argmax(axis=1),
        submissions=before.submissions + scores,
        attack=f"{before.attack}, and over the final {'one' if scores == 1 else 'ones'}",
        after=after / after.sum(axis=1, keepdims=True),
        beliefs=before.beliefs,
    )


def _aim(
    host: CompetitionView, prior: Floats, private: Floats, rng: np.random.Generator, *, scores: int
) -> NDArray[np.int8]:
    """Return predictions of a likely label for as many uncertain rows as so many scores can resolve."""
    best = np.argsort(-prior, axis=1)[:, :2]
    odds = np.take_along_axis(prior, best, axis=1)
    doubt = odds[:, 1] / odds.sum(axis=1) * private
    order = np.argsort(-doubt, kind="stable")
    size, _ = best_size(doubt[order], queries=scores, noise=(host.deviation / host.menu.span) ** 2)
    neutral = host.menu.neutral
    choice = (best[:, 0] if neutral is None else np.full(len(prior), neutral)).astype(np.int8)
    asked = order[:size]
    choice[asked] = best[asked, rng.integers(0, 2, size)]
    return choice


def _one_by_one(metric: Metric, policy: Policy, prior: Floats, submissions: int) -> AttackPlan | None:
    """Return the plan that reads scores one by one, where it is sure of more than all answers together."""
    revealed = metric.reveals
    if revealed is None or policy.error is None:
        return None
    try:
        found = plan_attack(metric, rows=len(prior), policy=policy)
        if found.queries <= submissions:
            return found
        if revealed.plain_loss is not None:
            found = plan_attack(metric, rows=len(prior), policy=policy, design=DigitDesign)
        if not found.design.gradual:
            return None
    except InvalidInput:  # rounding hides single rows
        return None
    doubt = doubt_of(prior)
    read = float(np.sort(doubt)[::-1][: len(prior) * submissions // found.queries].sum())
    rows = rows_worth_asking(prior, queries=submissions, deviation=0.3, span=1.0)
    return found if read > expected_gain(doubt[rows], queries=submissions, noise=0.09) else None


def read_one_by_one(
    submit: Submit,
    chosen: AttackPlan,
    *,
    prior: Floats,
    submissions: int,
    rng: np.random.Generator,
    progress: Tell | None = None,
) -> AttackResult:
    """Run a plan until all labels are read or the submissions are used; the features guess what stays unknown."""
    tell = progress or (lambda *_: None)
    made = 0
    guess = prior.argmax(axis=1)
    planned = min(submissions, chosen.queries)
    # uncertain rows first: a budget that ends early is spent where the features reveal least
    order = np.argsort(-(doubt_of(prior) + 1e-9 * rng.random(len(prior))), kind="stable")

    def oracle(predictions: object) -> float:
        nonlocal made
        if made >= submissions:
            raise OracleError(f"all {submissions} submissions are used")
        made += 1
        return float(submit(predictions))  # type: ignore[arg-type]

    def look(now: AttackProgress) -> None:
        tell(now.queries, planned, guess)  # labels are in the outcome alone

    try:
        labels = infer_labels(oracle, chosen, order=order, progress=look).labels
    except AttackStopped as stopped:
        labels = stopped.outcome.labels
    found = np.where(labels >= 0, labels, guess)
    tell(made, planned, found)
    return AttackResult(
        labels=found,
        submissions=made,
        attack=f"labels read one by one ({type(chosen.design).__name__})",
        after=np.where((labels >= 0)[:, None], np.eye(prior.shape[1])[labels], prior),
        determined=int((labels >= 0).sum()),
    )


def _weigh(
    host: CompetitionView, prior: Floats, submissions: int, tell: Tell, rng: np.random.Generator
) -> AttackResult:
    def look(made: int, beliefs: Floats) -> None:
        tell(made, submissions, label_chances(beliefs, prior).argmax(axis=1))

    if host.policy.improvement is not None:
        step = host.policy.improvement * host.scored * host.menu.span
        beliefs = climb_labels(
            host.ask, host.prior, menu=host.menu, queries=submissions, step=step, rng=rng, progress=look
        )
        name = "climbing by changed labels"
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
    split = beliefs if host.menu.unscored else None
    after = label_chances(beliefs, prior)
    return AttackResult(labels=after.argmax(axis=1), submissions=host.made, attack=name, after=after, beliefs=split)
