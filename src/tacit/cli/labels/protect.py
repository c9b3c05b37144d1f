"""``tacit labels protect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tacit.cli.labels.protect_options import (
    Again,
    EngineOption,
    Epsilon,
    Keep,
    MechanismName,
    MechanismOption,
    MemoFolder,
    MissingName,
    MissingOption,
    Prior,
    PriorShare,
    ReleaseOut,
)
from tacit.cli.options import (
    AsJson,
    ClassList,
    DataSet,
    EngineName,
    Force,
    LedgerAt,
    PrivateColumn,
    RowsPerPerson,
    Seed,
    Table,
    assumed,
    check_out,
    open_ledger,
    rng_of,
    show_progress,
    warn_if_seeded,
    words_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.column import Coding, Mechanism
    from tacit.labels.mechanisms.estimate import EstimatedPrior
    from tacit.labels.releases.payment import Payment
    from tacit.labels.releases.source import Source
    from tacit.labels.releases.stream import ProtectedTable

__all__ = ["protect"]

_MOST_STEPS = 2_000  # the best bins of n numbers take several tables of n^2 numbers


def protect(
    table: Table,
    label: PrivateColumn,
    epsilon: Epsilon,
    mechanism: MechanismOption = MechanismName.RR,
    classes: ClassList = "",
    prior: Prior = "",
    prior_share: PriorShare = 0.1,
    keep: Keep = "",
    missing: MissingOption = MissingName.REFUSE,
    rows_per_person: RowsPerPerson = 1,
    engine: EngineOption = EngineName.DUCKDB,
    out: ReleaseOut = None,
    force: Force = False,
    ledger: LedgerAt = None,
    dataset: DataSet = None,
    memo: MemoFolder = None,
    again: Again = False,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Write a file with randomized labels, and nothing else of the private column.

    The file has a column called label, in the order of the rows, and the columns asked for by --keep. For bins,
    --classes are the numbers to round to, also written LOW:HIGH:STEP. With a ledger, the same labels asked for
    again give the same release and cost nothing.

    Example: tacit labels protect visits.csv --label ill --epsilon 1 --classes no,yes --keep age,city

    Example: tacit labels protect visits.parquet --label days --epsilon 2 --mechanism bins --classes 0:30:1
    """
    from tacit.labels.releases.labels import MissingLabels
    from tacit.labels.releases.stream import protect_table
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.rounding import check_epsilon

    check_epsilon(epsilon)
    if engine is EngineName.SPARK and seed is not None:
        raise InvalidInput("--seed must not stand with --engine spark: each worker draws its own entropy")
    path = out or Path(f"{Path(table).stem}.release.parquet")
    check_out(path, table, written="Parquet", force=force)
    payment = _payment(ledger, dataset, memo, again=again)
    source = _source(table, engine)
    coding = _coding(classes, mechanism, source, label)
    with show_progress("labels") as report:
        made = protect_table(
            source,
            path,
            label=label,
            mechanism=_mechanism(mechanism, epsilon, prior, prior_share, coding),
            classes=coding,
            keep=[name for name in source.columns if name != label] if keep == "all" else words_of(keep),
            missing=MissingLabels(missing),
            rows_per_person=rows_per_person,
            payment=payment,
            rng=rng_of(seed),
            force=force,
            progress=report,
        )
    _print(made, as_json=as_json)


def _print(made: ProtectedTable, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(made.to_json(), indent=1))
    else:
        typer.echo("\n".join([f"{made}.", *assumed(made.guarantee)]))
        if made.repeated:
            typer.echo("These are the labels of an earlier release: nothing was charged. --again makes new ones.")
        if made.receipt:
            typer.echo(f"{made.receipt}.")
    warn_if_seeded(made.seeded)


def _source(table: str, engine: EngineName) -> Source:
    if engine is EngineName.SPARK:
        from tacit.data.spark import start_spark
        from tacit.labels.releases.spark import open_spark_table

        return open_spark_table(table, session=start_spark())
    from tacit.data import load_table
    from tacit.labels.releases.source import TableSource

    return TableSource(table=load_table(table))


def _payment(location: str | None, dataset: str | None, memo: Path | None, *, again: bool) -> Payment | None:
    from tacit.labels.releases.memo import Memo
    from tacit.labels.releases.payment import Payment

    ledger = open_ledger(location, dataset=dataset, memo=memo)
    kept = None if memo is None else Memo(memo)
    return None if ledger is None else Payment(ledger=ledger, dataset=dataset, memo=kept, again=again)


def _coding(text: str, mechanism: MechanismName, source: Source, label: str) -> Coding:
    from tacit.data.names import check_present
    from tacit.labels.mechanisms.column import Values
    from tacit.labels.releases.source import declare_classes, find_classes, find_values

    check_present(label, source.columns, argument="--label")
    if mechanism is MechanismName.BINS:
        return Values(values=_numbers(text, option="--classes")) if text else find_values(source, label=label)
    return declare_classes(words_of(text), source=source, label=label) if text else find_classes(source, label=label)


def _mechanism(
    name: MechanismName, epsilon: float, prior: str, share: float, coding: Coding
) -> Mechanism | EstimatedPrior:
    from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
    from tacit.labels.mechanisms.column import Values
    from tacit.labels.mechanisms.estimate import EstimatedPrior
    from tacit.labels.mechanisms.one_hot import LaplaceOneHot
    from tacit.labels.mechanisms.response import RandomizedResponse
    from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
    from tacit.privacy.errors import InvalidInput

    if name in (MechanismName.RR, MechanismName.LAPLACE):
        if prior:
            raise InvalidInput(f"--prior must stand with --mechanism prior or bins, got {name}, which uses none")
        return RandomizedResponse(epsilon=epsilon) if name is MechanismName.RR else LaplaceOneHot(epsilon=epsilon)
    if not prior:
        return EstimatedPrior(epsilon=epsilon, share=share)
    if not coding.declared:
        raise InvalidInput("--prior must stand with --classes: each of its numbers belongs to a class")
    given = _numbers(prior, option="--prior")
    if isinstance(coding, Values):
        return RandomizedResponseOnBins(epsilon=epsilon, values=coding.values, prior=given)
    return PriorRandomizedResponse(epsilon=epsilon, prior=given)


def _numbers(text: str, *, option: str) -> NDArray[np.float64]:
    """Numbers with commas between, or LOW:HIGH:STEP with both ends."""
    import numpy as np

    from tacit.privacy.errors import InvalidInput

    try:
        if ":" not in text:
            return np.array([float(word) for word in words_of(text)])
        low, high, step = (float(word) for word in text.split(":"))
        steps = (high - low) / step
        whole = round(steps)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidInput(f"{option} must be numbers with commas between, or LOW:HIGH:STEP, got {text!r}") from None
    if not 1 <= whole <= _MOST_STEPS or abs(steps - whole) > 1e-6:
        raise InvalidInput(
            f"{option} must reach HIGH from LOW in 1 to {_MOST_STEPS:,} whole steps, got {steps:g} steps for {text!r}"
        )
    return np.asarray(low + step * np.arange(whole + 1), dtype=np.float64)
