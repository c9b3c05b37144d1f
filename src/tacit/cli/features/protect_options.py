"""The options of ``tacit features protect``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Bound",
    "ClassRows",
    "Classes",
    "Delta",
    "Epsilon",
    "Features",
    "Keep",
    "LabelEpsilon",
    "Lower",
    "PrivateLabel",
    "ReleaseOut",
    "ScoreName",
    "ScoreOption",
    "SelectionEpsilon",
    "Table",
    "Totals",
    "Upper",
]


class ScoreName(StrEnum):
    """What features are chosen by."""

    DISTANCE = "distance"
    T = "t"


Table = Annotated[Path, typer.Argument(metavar="IN", help="A CSV, TSV, Parquet or Arrow file of numeric features.")]
PrivateLabel = Annotated[str, typer.Option(help="The private label column.")]
Keep = Annotated[int, typer.Option(help="How many features leave.")]
Epsilon = Annotated[float, typer.Option(help="The promise for one record, its label included.")]
Delta = Annotated[float, typer.Option(help="The delta of the promise, in (0, 1); well below 1/rows.")]
Bound = Annotated[
    float | None,
    typer.Option(help="Values are clipped to [-bound, bound]: a public number, not read off the data."),
]
Lower = Annotated[float | None, typer.Option(help="In place of --bound: the least value, public.")]
Upper = Annotated[float | None, typer.Option(help="In place of --bound: the largest value, public.")]
Totals = Annotated[
    bool,
    typer.Option("--totals", help="Release class totals, JSON, in place of rows: far less noise for a classifier."),
]
LabelEpsilon = Annotated[float | None, typer.Option(help="The labels' part of epsilon. Default: as theory divides it.")]
SelectionEpsilon = Annotated[
    float | None, typer.Option(help="The part that chooses features. Default: as theory divides it.")
]
ScoreOption = Annotated[ScoreName, typer.Option(help="distance: of class means. t: the same in standard deviations.")]
Features = Annotated[str, typer.Option(metavar="COL,...", help="Columns to choose from. Default: all others.")]
Classes = Annotated[
    str, typer.Option(metavar="A,B,...", help="The public class list. Default: the classes that occur.")
]
ClassRows = Annotated[
    str,
    typer.Option(metavar="N,M,...", help="Public class sizes, in the order of the classes. Default: noised ones."),
]
ReleaseOut = Annotated[
    Path | None, typer.Option(help="The release file. Default: IN's name with .features.parquet or .json, here.")
]
