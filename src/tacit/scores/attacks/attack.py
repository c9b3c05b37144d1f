"""Recovering labels from scores: of an offer, whose host is played here, or of answers to known submissions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.leak import Leak, leak_from_guesses, odds_changes
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice
from tacit.privacy.words import counted
from tacit.scores.attacks.channel import revealed_by
from tacit.scores.attacks.competition import AttackResult, Tell, attack_competition, read_one_by_one
from tacit.scores.attacks.given_answers import posterior_of_answers
from tacit.scores.attacks.planning import AttackPlan, plan_attack
from tacit.scores.attacks.played_host import PlayedHost
from tacit.scores.attacks.quartiles import Quartiles, read_quartiles
from tacit.scores.attacks.row_beliefs import beliefs_from_rows
from tacit.scores.methods import AttackMethod, BestAttack
from tacit.scores.metrics import Metric
from tacit.scores.policies import Policy
from tacit.scores.releases.label_table import LabelTable, sources_of
from tacit.scores.releases.release import Release

__all__ = ["attack", "plan_by_method"]

Floats = NDArray[np.float64]


@checked()
def attack(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    truth: object = None,
    before: ArrayLike | None = None,
    method: AttackMethod | str | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Leak:
    """Count the labels that scores reveal.

    Of an offer, the attacker makes as many submissions as the offer allows to a host that is played with the true
    labels; nothing is charged. Of answers, the attacker knows the submissions, and weighs every label by Bayes' rule.

    Parameters
    ----------
    release
        An offer or answers, or their path.
    data
        With answers: the submissions, in the order in which they were scored. With an offer: the features of the rows,
        from which the attacker believes what they say of the labels.
    before
        (rows, classes): beliefs after an earlier release; default: from ``data``, or the class shares.
    method
        Of an offer: ``BestAttack()`` takes whatever recovers most; ``Digits()``, ``Joint()`` and ``Crowded()`` read
        labels one by one from scores without random noise.

    Examples
    --------
    >>> from tacit.scores import Plan, protect
    >>> labels = pa.table({"ill": ["no", "yes", "yes", "no", "yes"] * 40})
    >>> offer = protect(labels, Plan(label="ill", epsilon=None, policy="rounded:decimals=5", submissions=20))
    >>> leak = attack(offer, truth=labels, rng=np.random.default_rng(0))
    >>> leak.rate, leak.baseline, leak.facts["submissions"]
    (1.0, 0.6, 14)
    """
    opened = Release.open(release)
    if truth is None:
        raise InvalidInput("must be given: labels are recovered from it, or compared with it", field="truth")
    rng = system_rng() if rng is None else rng
    labels = LabelTable.read(truth, opened.plan, classes=opened.classes, rng=rng)
    if labels.scored_rows != opened.rows:
        raise InvalidInput(f"must have the {opened.rows} rows that are scored, got {labels.scored_rows}", field="truth")
    codes = _codes(labels)
    classes = max(2, codes.max() + 1) if labels.classes is None else len(labels.classes)
    if opened.is_offer and data is not None and before is None:
        before = beliefs_from_rows(labels, codes, sources_of(data), classes=classes)
    prior = _prior(codes, before, classes=classes)
    baseline: float | NDArray[np.int64] = prior.argmax(axis=1)
    if opened.is_offer:
        found = _attack_offer(opened, labels, prior, method=method, rng=rng, progress=progress)
        baseline = float(prior[0].max()) if before is None else baseline
    else:  # the submissions alone may predict the labels, so that correct guesses say nothing about epsilon
        if method is not None:
            raise InvalidInput("has no use with answers: Bayes' rule weighs them", field="method")
        if not _has_classes(labels):
            raise InvalidInput("must be an offer for labels that are numbers, got answers", field="release")
        submissions = [labels.read_submission(one, number=k + 1) for k, one in enumerate(sources_of(data))]
        found = posterior_of_answers(opened, submissions, prior)
    leak = leak_from_guesses(found.labels, codes, baseline=baseline, level=level)
    changes = odds_changes(prior, found.after, codes, names=_class_names(labels, classes), level=level)
    count = counted(found.submissions, "submission")
    told = replace(
        leak,
        rate_of="labels are guessed correctly" if _has_classes(labels) else "labels are put in the right quarter",
        baseline_of="without the scores",
        changes=changes,
        before=prior,
        after=found.after,
        guesses=_guesses(labels, found),
        notes=(f"{count} of {opened.plan.submissions:,}: {found.attack}.",),
        facts={
            "submissions": found.submissions,
            "allowed": opened.plan.submissions,
            "attack": found.attack,
            "determined": found.determined,
        },
    )
    return told.of_this_release()  # all rows share its scores and their noise


def plan_by_method(
    method: AttackMethod,
    metric: Metric,
    *,
    rows: int,
    policy: Policy,
    per_day: int | None = None,
) -> AttackPlan:
    """Return how to read labels from scores by the method's design; the best method takes the fewest queries."""
    if method.design is not None and revealed_by(metric).plain_loss is None:
        raise InvalidInput(
            f"must be best for a metric that is no loss, got {method.name}: there is only one design", field="method"
        )
    return plan_attack(metric, rows=rows, policy=policy, per_day=per_day, design=method.design)


def _attack_offer(
    offer: Release,
    labels: LabelTable,
    prior: Floats,
    *,
    method: AttackMethod | str | None,
    rng: np.random.Generator,
    progress: Progress | None,
) -> AttackResult:
    chosen = read_choice(AttackMethod, method or BestAttack(), field="method")
    if not _has_classes(labels):
        return _attack_numbers(offer, labels, prior, chosen, rng=rng, progress=progress)
    if offer.metric.reveals is None:
        raise InvalidInput(f"must have a metric that an attack is known for, got {offer.metric}", field="release")
    host = PlayedHost(labels, offer.policy, rng=rng)
    told: Tell | None = None if progress is None else lambda made, planned, _: progress(made, planned)
    if chosen.design is None:
        return attack_competition(
            host.submit,
            offer.metric,
            offer.policy,
            public_fraction=labels.scored_rows / labels.rows,
            prior=prior,
            submissions=offer.plan.submissions,
            rng=rng,
            progress=told,
        )
    if labels.scored_rows < labels.rows:
        raise InvalidInput(f"must be best if rows of a person are not scored, got {chosen.name}", field="method")
    return read_one_by_one(
        host.submit,
        plan_by_method(chosen, offer.metric, rows=offer.rows, policy=offer.policy),
        prior=prior,
        submissions=offer.plan.submissions,
        rng=rng,
        progress=told,
    )


def _attack_numbers(
    offer: Release,
    labels: LabelTable,
    prior: Floats,
    method: AttackMethod,
    *,
    rng: np.random.Generator,
    progress: Progress | None,
) -> AttackResult:
    if method.design is not None:
        raise InvalidInput(f"must be best for labels that are numbers, got {method.name}", field="method")
    return read_quartiles(
        PlayedHost(labels, offer.policy, rng=rng).submit,
        offer.metric,
        Quartiles(labels=labels.labels),
        ends=offer.metric.label_range,
        noise=offer.settled["noise_scale"],
        prior=prior,
        scored=labels.scored_rows,
        submissions=offer.plan.submissions,
        progress=progress or (lambda _made, _planned: None),
    )


def _codes(labels: LabelTable) -> NDArray[np.int64]:
    """Return the labels as classes: numbers other than 0 and 1 as quarters of their distribution."""
    return labels.labels.astype(np.int64) if _has_classes(labels) else Quartiles(labels=labels.labels).codes


def _has_classes(labels: LabelTable) -> bool:
    return labels.classes is not None or bool(np.isin(labels.labels, (0, 1)).all())


def _class_names(labels: LabelTable, classes: int) -> Sequence[object]:
    if labels.classes is not None:
        return labels.classes.values
    return range(classes) if _has_classes(labels) else [f"quarter {code + 1}" for code in range(classes)]


def _prior(codes: NDArray[np.int64], before: ArrayLike | None, *, classes: int) -> Floats:
    if before is None:
        return np.tile(np.bincount(codes, minlength=classes) / len(codes), (len(codes), 1))
    beliefs = np.asarray(before, dtype=np.float64)
    if beliefs.shape != (len(codes), classes):
        raise InvalidInput(f"must be of shape {(len(codes), classes)}, got {beliefs.shape}", field="before")
    return beliefs


def _guesses(labels: LabelTable, found: AttackResult) -> pa.Table:
    guesses: Any = found.labels if labels.classes is None else labels.classes.decode(found.labels)
    ids = {} if labels.ids is None else {"id": labels.ids}
    return pa.table({**ids, "row": np.arange(labels.rows), "guess": guesses})
