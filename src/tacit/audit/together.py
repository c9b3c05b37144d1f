"""All planned releases of one table, attacked one after the other: what they leak together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import bags
from tacit.audit.groups import changes_by_group
from tacit.audit.joint import REFUSED, JointFinding
from tacit.audit.measure import MadeRelease
from tacit.audit.plan import PlannedRelease
from tacit.audit.source import AuditedTable
from tacit.audit.split import shuffle_rows
from tacit.audit.subtracted import determined_together
from tacit.audit.total import compose_for_label
from tacit.leak import LabelBeliefs
from tacit.leak.prior import calibrated_prior
from tacit.privacy.guarantee import NoGuarantee
from tacit.privacy.unfinished import temporary_folder

__all__ = ["attack_together", "reason_apart"]

_FIRST_DRAW = 16  # apart from the draws of the releases by themselves; each release has draws of its own
_DRAWS = 4
_SUBTRACTED = "exact totals of several releases can be subtracted from each other, and are too many to solve"
_SURE = 1e-9  # beliefs are kept this far from 0 and 1, so that the next release can still change them


def reason_apart(step: PlannedRelease) -> str:
    """Return why the attack on a release cannot go on from the beliefs after another one; empty if it can."""
    listed = step.plan.classes
    if step.source.has_numbers:
        return "its label is an amount, which each surface groups in its own way"
    if listed is not None and set(listed) != set(step.source.classes):
        return "its list of classes is not that of the table"
    return step.plan.trial().apart


def attack_together(
    steps: Sequence[PlannedRelease],
    *,
    delta: float,
    seed: int | None,
    tell: Callable[[str], None],
    refused: Collection[PlannedRelease] = (),
) -> JointFinding | None:
    """Make the releases of one table of all of its rows, and attack each with the beliefs after the one before.

    The beliefs before the first are those of a model of the features. What is handed on is P(label) of each row, so
    what a release says of several rows at once is lost: other attackers may find more. The exact totals
    of all releases are solved as one system. The rows are in random order.

    Parameters
    ----------
    steps
        The planned releases of the table, in the order of their attacks.
    delta
        Of the total, if a guarantee has one.
    refused
        Releases that must not be handed out by themselves and are left out.

    Returns
    -------
    JointFinding
        None if fewer than two releases are about labels of the same rows.
    """
    apart = [(step, REFUSED if step in refused else reason_apart(step)) for step in steps]
    left_out = tuple((step.name, why) for step, why in apart if why)
    joined = [step for step, why in apart if not why]
    if len(joined) < 2:
        return None
    source = joined[0].source
    tell(f"all {len(joined)} releases together")
    places, codes = shuffle_rows(source, seed=seed or 0), source.codes
    prior = _beliefs_before(source)[places]
    table = source.table.take(places)
    beliefs, certain, guarantees = prior, 0, []
    exact: list[Any] = []  # releases of bags
    for number, step in enumerate(joined):
        names = step.plan.classes or source.classes
        order = [source.classes.index(name) for name in names]
        with temporary_folder() as folder:
            draw = _FIRST_DRAW + _DRAWS * number
            made = MadeRelease(step, step.all_rows(places), seed=seed, folder=folder, first_draw=draw)
            leak = made.attack(before=beliefs[:, order])
            if isinstance(made.release, bags.Release) and isinstance(made.release.guarantee, NoGuarantee):
                exact.append(made.release)
        if leak.after is not None:
            beliefs = _possible(leak.after[:, np.argsort(order)])
        certain = max(certain, int(leak.facts.get("determined", 0)))
        guarantees.append(made.release.guarantee)
    several = len(exact) > 1 and not certain
    fixed = determined_together(exact, table) if several else None
    guarantee = compose_for_label(guarantees, delta=delta)
    after = LabelBeliefs(beliefs=beliefs, prior=prior, guarantee=guarantee, classes=source.classes)
    measured = after.leak(codes[places])
    return JointFinding(
        data=source.name,
        column=source.label,
        subject=source.label,
        rows=source.rows,
        guarantee=guarantee,
        leak=replace(measured, before=None, after=None, facts={"releases": len(exact)} if fixed else {}),
        groups=()
        if source.groups is None
        else changes_by_group(measured, table, label=source.label, groups=source.groups, classes=source.classes),
        certain=fixed.count if fixed else certain,
        doubt=_SUBTRACTED if several and (fixed is None or fixed.undecided.any()) else "",
        releases=tuple(step.name for step in joined),
        left_out=left_out,
    )


def _beliefs_before(source: AuditedTable) -> NDArray[np.float64]:
    """P(label) of every row from its features, as sure as it is right; the shares where these guess better."""
    shares = np.tile(np.bincount(source.codes) / source.rows, (source.rows, 1))
    if not source.encoder.rules:
        return shares
    told = calibrated_prior(source.X, source.codes, classes=len(source.classes))
    better = (told.argmax(axis=1) == source.codes).mean() > shares[0].max()
    return _possible(told) if better else shares


def _possible(beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
    kept = np.clip(beliefs, _SURE, None)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
