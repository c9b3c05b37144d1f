"""From labels and submissions to released scores, or to an offer of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.locations import files_read
from tacit.privacy.delivery import ReleaseRequest, deliver
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import BudgetExceeded, InvalidInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import is_seeded, system_rng
from tacit.privacy.releases import DocumentMember, ReleaseHeader
from tacit.privacy.targets import Target, check_target
from tacit.scores.metrics import UnreleasedScore
from tacit.scores.plan import Plan
from tacit.scores.policies import Answer, Policy
from tacit.scores.releases.label_table import LabelTable, sources_of
from tacit.scores.releases.release import MEMBER, Release, guarantee_for, noise_scale

if TYPE_CHECKING:
    from tacit.privacy.payment import Payment

__all__ = ["protect"]


@checked()
def protect(
    table: object,
    plan: Plan,
    *,
    data: object = None,
    out: Target = None,
    payment: Payment | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Release:
    """Score submissions and release the scores as the plan's policy answers them; without any, make an offer.

    Unit: one row's label, or those of ``rows_per_person`` rows of one person; neighbors differ in these alone. Assumed:
    predictions depend on these labels through released scores alone; which rows belong to one person is public. Not
    protected: features, predictions, the number of rows.

    Parameters
    ----------
    table
        The labels: what ``tacit.data.open_table`` takes. A column ``id`` names the rows.
    data
        One submission or a list of them: tables with the column ``id`` if the labels have it, and one column of
        predictions, or one for each class, in the order of the classes or named by them. They are answered in their
        order, at most ``plan.submissions``. None: an offer, which reveals nothing of the labels.

    Examples
    --------
    >>> labels = pa.table({"ill": ["no", "yes"] * 300})
    >>> submission = pa.table({"p": [0.2, 0.8] * 300})
    >>> plan = Plan(label="ill", epsilon=1, metric="brier")
    >>> release = protect(labels, plan, data=submission, rng=np.random.default_rng(0))
    >>> print(release, release.scores)
    scores by laplace: epsilon 1 for one label (0.037265,)
    >>> protect(labels, plan).is_offer
    True
    """
    sources = sources_of(data)
    check_target(out, plan, sources=files_read(table, sources), payment=payment)
    if len(sources) > plan.submissions:
        raise InvalidInput(
            f"must be at most as many submissions as the plan has, {plan.submissions}, got {len(sources)}", field="data"
        )
    if payment is not None and not sources:
        raise InvalidInput("is not charged for an offer, which reveals nothing: give submissions", field="ledger")
    rng = system_rng() if rng is None else rng
    labels = LabelTable.read(table, plan, rng=rng)
    submissions = [labels.read_submission(source, number=place + 1) for place, source in enumerate(sources)]
    header = _header(plan, labels, answered=len(submissions), seeded=bool(sources) and is_seeded(rng))
    request = ReleaseRequest(
        plan=plan,
        guarantee=header.guarantee,
        seeded=is_seeded(rng),
        rows=labels.batches,
        private=[plan.label],
        data=[partial(_batches, predictions) for predictions in submissions],
    )
    release = deliver(
        Release,
        request,
        draw=partial(_draw, header, plan.bound_policy, labels, submissions, rng=rng, progress=progress),
        out=out,
        payment=payment,
        sources=files_read(table, sources),
    )
    return replace(release, left_out=labels.rows - labels.scored_rows, clipped=labels.clipped)


def _header(plan: Plan, labels: LabelTable, *, answered: int, seeded: bool) -> ReleaseHeader:
    declared = labels.classes is None or labels.classes.declared
    guarantee = guarantee_for(plan, answered=answered, declared=declared)
    return ReleaseHeader(
        surface=plan.surface,
        plan=plan.to_json(),
        settled={
            "rows": labels.scored_rows,
            "classes": None if labels.classes is None else list(labels.classes.values),
            "declared": declared,
            "noise_scale": noise_scale(plan.bound_policy, labels.metric, rows=labels.scored_rows),
        },
        guarantee=guarantee,
        seeded=seeded and isinstance(guarantee, Guarantee),
    )


def _draw(
    header: ReleaseHeader,
    policy: Policy,
    labels: LabelTable,
    submissions: Sequence[NDArray[np.float64]],
    *,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Release:
    measured = [labels.measure(predictions) for predictions in submissions]
    answers = []
    for answer in _answers(policy, measured, rng=rng):
        answers.append(_document(answer))
        if progress:
            progress(len(answers), len(measured))
    return Release(header=header, members={MEMBER: DocumentMember({"rule": policy.describe(), "answers": answers})})


def _answers(policy: Policy, measured: Sequence[UnreleasedScore], *, rng: np.random.Generator) -> Iterator[Answer]:
    """Yield the answers to one team; when its changes are spent, it keeps its last score."""
    answer: Answer | None = None
    for one in measured:
        try:
            answer = policy.release(one, state={} if answer is None else answer.state, rng=rng)
        except BudgetExceeded:
            if answer is None:
                raise
        yield answer


def _document(answer: Answer) -> dict[str, Any]:
    mean = {} if answer.mean is None else {"mean": answer.mean}
    return {"score": answer.released, "text": answer.text, **mean}


def _batches(predictions: NDArray[np.float64]) -> Iterator[pa.RecordBatch]:
    """Yield predictions as the metric reads them, so that number formats and the order of rows make no difference."""
    columns = predictions.reshape(len(predictions), -1).T
    yield pa.record_batch({str(place): column for place, column in enumerate(columns)})
