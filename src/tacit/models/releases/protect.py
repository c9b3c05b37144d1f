"""Train a model on a private table and release it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tacit.data import open_table
from tacit.data.encoder.planned import planned_features
from tacit.data.locations import files_read
from tacit.data.rows import read_batches
from tacit.models.plan import Plan
from tacit.models.points import TrainingPoints
from tacit.models.releases.encoding import read_points
from tacit.models.releases.release import Release, guarantee_of
from tacit.privacy.delivery import ReleaseRequest, deliver
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import is_seeded, system_rng
from tacit.privacy.releases import ReleaseHeader
from tacit.privacy.targets import Overwrite, Target, check_target

if TYPE_CHECKING:
    import ibis
    import numpy as np

    from tacit.data.view import TableView
    from tacit.privacy.payment import Payment

__all__ = ["protect"]

_BATCH_ROWS = 1 << 16


@checked(data="a model is trained on the table alone")
def protect(
    table: object,
    plan: Plan,
    *,
    data: object = None,  # noqa: ARG001
    out: Target = None,
    payment: Payment | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Release:
    """Train a model by the plan's mechanism, charged before the first step.

    Unit, neighbors, assumptions and what is not protected are those of the mechanism: for ``DpSgd`` one record is
    replaced, for ``LabelPrivateTraining`` one label, and the other mechanisms protect nothing.

    Parameters
    ----------
    out
        Where to write the model: .safetensors, .pt, .pth or .onnx; .joblib for trees and forest. None returns it in
        memory.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, 70, 30, 60] * 50, "ill": ["no", "yes"] * 100})
    >>> plan = Plan(label="ill", epsilon=8, delta=1e-4, ranges={"age": (0, 100)})
    >>> print(protect(table, plan))
    models by dp_sgd: epsilon 8, delta 1e-4 for one record
    """
    _check_out(plan, out, table, payment)
    source = open_table(table)
    rng = system_rng() if rng is None else rng
    points, encoder = read_points(source, plan, rng=rng)
    rows, classes = len(points.rows), list(points.classes)
    settled = {"rows": rows, "classes": classes, **plan.mechanism.settle(plan, rows=rows, classes=len(classes))}
    header = ReleaseHeader(
        surface=plan.surface,
        plan=plan.to_json(),
        settled=settled,
        guarantee=guarantee_of(plan, settled),
        seeded=is_seeded(rng),
        encoder=encoder.to_json(),
    )
    release = deliver(
        Release,
        _request(plan, header, source),
        draw=partial(_train, plan, header, points, rng=rng, progress=progress or (lambda *_: None)),
        out=out,
        payment=payment,
        sources=files_read(table),
    )
    return release.opened()  # made here


def _check_out(plan: Plan, out: Target, table: object, payment: Payment | None) -> None:
    """Raise before anything is read if the model could not be written there."""
    check_target(out, plan, sources=files_read(table), payment=payment)
    path = out.path if isinstance(out, Overwrite) else out
    if path is not None and (Release.kind_of(path).kind == "joblib") != (plan.suffix == ".joblib"):
        wanted = ".joblib" if plan.suffix == ".joblib" else ".safetensors, .pt or .onnx"
        raise InvalidInput(f"must end in {wanted} for {plan.mechanism}, got {os.fspath(path)}", field="out")


def _request(plan: Plan, header: ReleaseHeader, source: TableView | ibis.Table) -> ReleaseRequest:
    """A ledger knows records by all columns of their table, and labels by the label."""
    records = isinstance(header.guarantee, Guarantee) and header.guarantee.unit == Unit.RECORD
    named = (*planned_features(plan, source.columns), plan.label, *([plan.person] if plan.person else []))
    columns = list(source.columns if records else named)

    return ReleaseRequest(
        plan=plan,
        guarantee=header.guarantee,
        seeded=header.seeded,
        rows=partial(read_batches, source, columns=columns, batch_rows=_BATCH_ROWS),
        private=columns if records else [plan.label],
    )


def _train(
    plan: Plan,
    header: ReleaseHeader,
    points: TrainingPoints,
    *,
    rng: np.random.Generator,
    progress: Callable[[int, int], None],
) -> Release:
    made = plan.mechanism.train(plan, header.settled, points, rng=rng, progress=progress)
    return Release.of_trained(made, header=replace(header, settled={**header.settled, **made.facts}))
