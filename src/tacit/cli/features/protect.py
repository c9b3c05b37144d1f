"""``tacit features protect``."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from tacit.cli.features.protect_options import (
    Bound,
    Classes,
    ClassRows,
    Delta,
    Epsilon,
    Features,
    Keep,
    LabelEpsilon,
    Lower,
    PrivateLabel,
    ReleaseOut,
    ScoreName,
    ScoreOption,
    SelectionEpsilon,
    Table,
    Totals,
    Upper,
)
from tacit.cli.options import (
    AsJson,
    DataSetOfTable,
    Force,
    LedgerAt,
    Seed,
    check_out,
    open_ledger,
    rng_of,
    warn_if_seeded,
)

__all__ = ["protect"]


def protect(
    table: Table,
    label: PrivateLabel,
    keep: Keep,
    epsilon: Epsilon,
    delta: Delta,
    bound: Bound = None,
    lower: Lower = None,
    upper: Upper = None,
    totals: Totals = False,
    label_epsilon: LabelEpsilon = None,
    selection_epsilon: SelectionEpsilon = None,
    score: ScoreOption = ScoreName.DISTANCE,
    features: Features = "",
    classes: Classes = "",
    class_rows: ClassRows = "",
    out: ReleaseOut = None,
    force: Force = False,
    ledger: LedgerAt = None,
    dataset: DataSetOfTable = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Choose a few features and release them under noise; the promise covers all that leaves.

    Epsilon is divided between class sizes, the choice of features, the features and the labels. The rest of the table
    does not leave.

    Example: tacit features protect visits.csv --label ill --keep 5 --bound 3 --epsilon 4 --delta 1e-6

    Example: tacit features protect visits.csv --label ill --keep 5 --bound 3 --epsilon 1 --delta 1e-6 --totals
    """
    from tacit.cli.features.protect_plan import Wanted, box_of, class_sizes, describe, load_features

    wanted = Wanted(
        keep=keep,
        epsilon=epsilon,
        delta=delta,
        totals=totals,
        label_epsilon=label_epsilon,
        selection_epsilon=selection_epsilon,
        score=score,
        class_rows=class_sizes(class_rows),
    )
    paying, box = open_ledger(ledger, dataset=dataset), box_of(bound, lower, upper)
    path = out or Path(f"{table.stem}.features.{'json' if totals else 'parquet'}")
    check_out(path, table, written="JSON" if totals else "Parquet", force=force)
    source = load_features(table, label=label, features=features, classes=classes)
    split = wanted.split(source)
    made = wanted.release(
        source, path, split=split, box=box, ledger=paying, dataset=dataset, rng=rng_of(seed), force=force
    )
    typer.echo(json.dumps(made.to_json(), indent=1) if as_json else describe(made, split))
    warn_if_seeded(made.seeded)
