"""``tacit bags protect``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit.cli.bags.coding import numbers_of, recode
from tacit.cli.bags.protect_options import (
    Bags,
    By,
    Classes,
    Consistent,
    Delta,
    Edges,
    EngineOption,
    Epsilon,
    Joins,
    LabelRange,
    LossName,
    LossOption,
    Memory,
    MinSize,
    RandomSize,
    ReleaseOut,
    ReplaceBags,
    SmallName,
    SmallOption,
)
from tacit.cli.options import (
    AsJson,
    DataSet,
    EngineName,
    LedgerAt,
    PrivateColumn,
    RowsPerPerson,
    Seed,
    Table,
    assumed,
    open_ledger,
    rng_of,
    show_progress,
    warn_if_seeded,
    words_of,
)

if TYPE_CHECKING:
    import ibis
    import numpy as np

    from tacit.bags.losses import SemilinearLoss
    from tacit.bags.mechanisms.engine import Engine
    from tacit.bags.mechanisms.noise import TotalsNoise
    from tacit.bags.mechanisms.sizes import SizeRule
    from tacit.bags.partition import BagTotals
    from tacit.cli.bags.payment import PaymentForWords

__all__ = ["protect"]


def protect(
    table: Table,
    label: PrivateColumn,
    out: ReleaseOut,
    by: By = None,
    edges: Edges = None,
    loss: LossOption = LossName.LOG,
    classes: Classes = "",
    label_range: LabelRange = "",
    epsilon: Epsilon = None,
    delta: Delta = None,
    consistent: Consistent = True,
    min_size: MinSize = 20,
    small: SmallOption = SmallName.DROP,
    random: RandomSize = None,
    bags: Bags = None,
    joins: Joins = None,
    rows_per_person: RowsPerPerson = 1,
    engine: EngineOption = EngineName.DUCKDB,
    memory: Memory = None,
    force: ReplaceBags = False,
    ledger: LedgerAt = None,
    dataset: DataSet = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Write the label totals of bags of rows, and nothing else of the private column.

    Each --by makes one partition: rows with equal values there are a bag, and its count and label total are released.
    epsilon is split over the partitions. Features, and so the counts of bags, are public.

    Example: tacit bags protect clicks.csv --label click --by city,device --by hour --epsilon 1 --out clicks.bags

    Example: tacit bags protect people.csv --label ill --classes no,yes --by age,sex --edges age=18,40,65 --out ill.bags
    """
    from tacit.privacy.folders import check_folder

    _check_kind(by, edges, engine, random=random, bags=bags, joins=joins)
    check_folder(out, force=force)
    chosen, names, noise = _loss(loss, classes, label_range), words_of(classes), _noise(epsilon, delta, ledger)
    _check_range(loss, label_range, noise)
    with show_progress("bags") as report, _engine(engine, memory).open(table) as rows:
        coded = recode(rows, label=label, classes=names)
        given: dict[str, Any] = {
            "label": label,
            "loss": chosen,
            "noise": noise,
            "rows_per_person": rows_per_person,
            "payment": _payment(ledger, dataset, rows.select(label)),
            "rng": rng_of(seed),
        }
        if random is not None:
            release = _drawn(coded, random, bags, joins, given)
        else:
            release = _curated(coded, by or [], edges or [], _sizes(min_size, small), given, report)
            release = _agreeing(release, given["rng"]) if noise is not None and consistent else release
    if names:
        release = replace(release, mechanism={**release.mechanism, "classes": names})
    release.write(out, force=force)
    _print(release, out, table, given["payment"], as_json=as_json)
    warn_if_seeded(release.seeded)


def _check_kind(
    by: list[str] | None,
    edges: list[str] | None,
    engine: EngineName,
    *,
    random: int | None,
    bags: int | None,
    joins: int | None,
) -> None:
    """Raise if the options are not those of one kind of bags."""
    from tacit.privacy.errors import InvalidInput

    if (by is None) == (random is None):
        raise InvalidInput("either --by or --random must say what the bags are")
    if random is None and (bags is not None or joins is not None):
        raise InvalidInput("--bags and --joins must stand with --random")
    if random is not None and (edges or engine is EngineName.SPARK):
        raise InvalidInput("--edges and --engine spark must stand with --by: random bags are drawn by row number")


def _loss(name: LossName, classes: str, label_range: str) -> SemilinearLoss:
    from tacit.bags.losses import CrossEntropy, LogLoss, PoissonLoss, SquaredLoss
    from tacit.privacy.errors import InvalidInput

    count = len(words_of(classes))
    low, high = _range(label_range)
    if label_range and name not in (LossName.SQUARED, LossName.POISSON):
        raise InvalidInput(f"--range must stand with --loss squared or poisson, got {name}")
    if name is LossName.LOG:
        if count not in (0, 2):
            raise InvalidInput(f"--classes must list two classes for --loss log, got {count}: use --loss classes")
        return LogLoss()
    if name is LossName.CLASSES:
        if count < 2:
            raise InvalidInput("--classes must list two classes or more for --loss classes")
        return CrossEntropy(classes=count)
    if count:
        raise InvalidInput(f"--classes must stand with --loss log or classes, got {name}")
    if name is LossName.SQUARED:
        return SquaredLoss(lower=low, upper=high)
    if low not in (None, 0.0) or (high is not None and high != int(high)):
        raise InvalidInput(f"--range must be 0 to a whole number for --loss poisson, got {label_range!r}")
    return PoissonLoss(most=None if high is None else int(high))


def _check_range(loss: LossName, label_range: str, noise: TotalsNoise | None) -> None:
    """Raise if noise would have no range of labels to be scaled to."""
    from tacit.privacy.errors import InvalidInput

    if noise is not None and loss in (LossName.SQUARED, LossName.POISSON) and not label_range:
        raise InvalidInput(f"--range must stand with --epsilon for --loss {loss}: a public range of the labels")


def _range(text: str) -> tuple[float | None, float | None]:
    from tacit.privacy.errors import InvalidInput

    if not text:
        return None, None
    ends = numbers_of(text, option="--range")
    if len(ends) != 2:
        raise InvalidInput(f"--range must be two numbers LOW,HIGH, got {text!r}")
    return ends[0], ends[1]


def _noise(epsilon: float | None, delta: float | None, ledger: str | None) -> TotalsNoise | None:
    from tacit.bags.mechanisms.noise import GaussianNoise, LaplaceNoise
    from tacit.privacy.errors import InvalidInput

    if epsilon is None:
        if delta is not None:
            raise InvalidInput("--delta must stand with --epsilon")
        if ledger is not None:
            raise InvalidInput("--ledger must stand with --epsilon: exact totals have no guarantee to charge for")
        return None
    return LaplaceNoise(epsilon=epsilon) if delta is None else GaussianNoise(epsilon=epsilon, delta=delta)


def _payment(location: str | None, dataset: str | None, words: object) -> PaymentForWords | None:
    from tacit.cli.bags.payment import PaymentForWords

    ledger = open_ledger(location, dataset=dataset)
    return None if ledger is None else PaymentForWords(ledger=ledger, dataset=dataset, words=words)


def _engine(name: EngineName, memory: str | None) -> Engine:
    from tacit.bags.mechanisms.engine import DuckDBEngine
    from tacit.bags.mechanisms.spark import SparkEngine
    from tacit.privacy.errors import InvalidInput

    if name is EngineName.SPARK and memory is not None:
        raise InvalidInput("--memory must stand with --engine duckdb: Spark has its own settings")
    return SparkEngine() if name is EngineName.SPARK else DuckDBEngine(memory=memory)


def _sizes(least: int, small: SmallName) -> SizeRule:
    from tacit.bags.mechanisms.sizes import DropSmall, KeepAll, MergeSmall
    from tacit.privacy.rounding import check_count

    if check_count(least, name="--min-size") == 1:
        return KeepAll()
    return DropSmall(least=least) if small is SmallName.DROP else MergeSmall(least=least)


def _curated(
    rows: ibis.Table,
    by: Sequence[str],
    edges: Sequence[str],
    sizes: SizeRule,
    given: dict[str, Any],
    report: Callable[[int, int], None],
) -> BagTotals:
    from tacit.bags.mechanisms.curation import curate
    from tacit.privacy.errors import InvalidInput

    sets = [tuple(words_of(one)) for one in by]
    cuts = [_edges(one) for one in edges]
    if len(dict(cuts)) < len(cuts):
        raise InvalidInput(f"--edges must cut each column once, got {', '.join(name for name, _ in cuts)}")
    return curate(rows, by=sets, edges=dict(cuts), sizes=sizes, progress=report, **given)


def _agreeing(release: BagTotals, rng: np.random.Generator) -> BagTotals:
    from tacit.bags.mechanisms.consistency import make_consistent

    return make_consistent(release, rng=rng).release


def _edges(text: str) -> tuple[str, list[float]]:
    from tacit.privacy.errors import InvalidInput

    name, found, numbers = text.partition("=")
    if not found or not name.strip():
        raise InvalidInput(f"--edges must be COL=1,2,3, got {text!r}")
    return name.strip(), numbers_of(numbers, option=f"--edges {name.strip()}")


def _drawn(rows: ibis.Table, size: int, bags: int | None, joins: int | None, given: dict[str, Any]) -> BagTotals:
    from tacit.bags.mechanisms.drawing import draw
    from tacit.privacy.errors import InvalidInput

    if bags is None:
        raise InvalidInput("--bags must stand with --random: it says how many bags to draw")
    return draw(rows, size=size, bags=bags, joins=joins, **given)


def _print(release: BagTotals, out: Path, table: str, payment: PaymentForWords | None, *, as_json: bool) -> None:
    from tacit.privacy.guarantee import NoGuarantee

    receipts = [] if payment is None else payment.receipts
    if as_json:
        charge = receipts[0].id if receipts else None
        typer.echo(json.dumps({**_result(release, out), "charge": charge}, indent=1))
        return
    typer.echo(f"{release}.")
    for part in _partitions(release):
        left_out = f"; {part['left_out']:,} rows are in smaller ones, left out" if part["left_out"] else ""
        noise = f"; noise of {part['noise_deviation']:.2g} on each total" if part["noise_deviation"] else ""
        typer.echo(
            f"  by {', '.join(part['columns'])}: {part['bags']:,} bag{'s' * (part['bags'] != 1)} of "
            f"{part['smallest']:,} to {part['largest']:,} "
            f"rows{left_out}{noise}"
        )
    for line in (*assumed(release.guarantee), *(f"{receipt}." for receipt in receipts)):
        typer.echo(line)
    typer.echo(f"The release: {out}")
    if isinstance(release.guarantee, NoGuarantee):
        typer.echo(f"See which labels it tells: tacit bags attack {out} --features {table}")


def _result(release: BagTotals, out: Path) -> dict[str, Any]:
    return {
        "folder": str(out),
        "rows": release.rows,
        "bags": release.bags,
        "label": release.label,
        "loss": release.loss.describe(),
        "guarantee": release.guarantee.to_json(),
        "mechanism": dict(release.mechanism),
        "seeded": release.seeded,
        "partitions": _partitions(release),
        "random": None if release.random is None else release.random.describe(),
    }


def _partitions(release: BagTotals) -> list[dict[str, Any]]:
    return [
        {
            "columns": list(part.columns),
            "bags": len(part),
            "smallest": int(part.counts.min()),
            "largest": int(part.counts.max()),
            "left_out": max(0, (release.rows or 0) - int(part.counts.sum())),
            "noise_deviation": part.variance**0.5,
        }
        for part in release.partitions
    ]
