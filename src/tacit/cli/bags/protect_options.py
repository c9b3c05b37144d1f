"""The options of ``tacit bags protect``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import EngineName

__all__ = [
    "Bags",
    "By",
    "Classes",
    "Consistent",
    "Delta",
    "Edges",
    "EngineOption",
    "Epsilon",
    "Joins",
    "LabelRange",
    "LossName",
    "LossOption",
    "Memory",
    "MinSize",
    "RandomSize",
    "ReleaseOut",
    "ReplaceBags",
    "SmallName",
    "SmallOption",
]


class LossName(StrEnum):
    """Whose totals."""

    LOG = "log"
    SQUARED = "squared"
    CLASSES = "classes"
    POISSON = "poisson"


class SmallName(StrEnum):
    """What becomes of small bags."""

    DROP = "drop"
    MERGE = "merge"


ReleaseOut = Annotated[Path, typer.Option(help="The folder of the release; made new, whole or not at all.")]
By = Annotated[
    list[str] | None,
    typer.Option(metavar="COL,...", help="Columns whose values make the bags of one partition. Give it again."),
]
Edges = Annotated[
    list[str] | None,
    typer.Option(metavar="COL=1,2,3", help="Where a numeric column is cut: buckets from each edge to the next."),
]
LossOption = Annotated[
    LossName,
    typer.Option(
        help="What totals are of. log: 0/1 labels. classes: a count for each class. squared: numbers. poisson: "
        "counts of events."
    ),
]
Classes = Annotated[
    str,
    typer.Option(metavar="A,B,...", help="The public class list, in order; for log the second one counts as 1."),
]
LabelRange = Annotated[
    str,
    typer.Option("--range", metavar="LOW,HIGH", help="For squared and poisson: the range that labels are clipped to."),
]
Epsilon = Annotated[
    float | None, typer.Option(help="The promise for one label, over all partitions. Without it: exact totals.")
]
Delta = Annotated[
    float | None,
    typer.Option(help="With it noise is Gaussian, less of it for many partitions; below 1/rows. Else Laplace."),
]
Consistent = Annotated[
    bool, typer.Option(help="After noise, make partitions agree on what they share; it costs no epsilon.")
]
MinSize = Annotated[int, typer.Option(help="The least number of rows of a bag; 1 keeps every bag.")]
SmallOption = Annotated[
    SmallName, typer.Option(help="What becomes of smaller bags: leave them out, or merge them into one.")
]
RandomSize = Annotated[
    int | None, typer.Option(metavar="SIZE", help="Instead of --by: bags of this many rows, drawn at random.")
]
Bags = Annotated[int | None, typer.Option(metavar="N", help="With --random: how many bags.")]
Joins = Annotated[
    int | None, typer.Option(metavar="J", help="With --random: the most bags of a row; --epsilon needs it.")
]
EngineOption = Annotated[EngineName, typer.Option(help="duckdb: on this machine. spark: where Spark runs.")]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help="The most memory that DuckDB may use, such as 2GB.")]
ReplaceBags = Annotated[bool, typer.Option("--force", help="Replace an earlier release of bags.")]
