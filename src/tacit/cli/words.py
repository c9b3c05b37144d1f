"""The options and arguments that the sides of all surfaces share: one word, one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "AGAIN",
    "DATA",
    "DATASET",
    "ENGINE",
    "ENTRY",
    "FEATURES",
    "FORCE",
    "HOLD_OUT",
    "LEDGER",
    "LEVEL",
    "MEMORY",
    "OUT",
    "OUT_RELEASE",
    "PART",
    "RELEASE",
    "RESERVED",
    "RUN_SEED",
    "SEED",
    "STORE",
    "TABLE",
    "TEST",
    "TRUTH",
]

TABLE = Annotated[
    str,
    typer.Argument(
        metavar="IN",
        help="The private table: a file, pattern or folder of CSV, Parquet, Arrow, JSON lines or Excel; - for standard "
        "input; URL#TABLE of a database.",
    ),
]
RELEASE = Annotated[Path, typer.Argument(metavar="IN", help="The release.")]
DATA = Annotated[
    str | None, typer.Option("--data", metavar="TABLE", help="What the recipient or attacker has besides the release.")
]
FEATURES = Annotated[str, typer.Option(metavar="COL,...", help="The columns used. Default: all but the label.")]
OUT_RELEASE = Annotated[Path | None, typer.Option("--out", help="Where to write the release. Default: named after IN.")]
OUT = Annotated[Path | None, typer.Option("--out", help="Where to write the result. Default: nowhere.")]
FORCE = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
LEDGER = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="TACIT_LEDGER",
        metavar="FILE_OR_URL",
        help="Charge this ledger before anything is drawn: a SQLite file, or postgresql://USER@HOST/DATABASE.",
    ),
]
DATASET = Annotated[
    str | None, typer.Option(help="The ledger's data set to charge. Default: the one that it recognizes.")
]
PART = Annotated[
    list[str] | None, typer.Option("--part", help="A declared part of the data set; IN must have no other row.")
]
STORE = Annotated[
    Path | None,
    typer.Option(
        "--store", help="The folder of finished releases. Default: LEDGER.releases, beside the ledger's file."
    ),
]
AGAIN = Annotated[
    bool, typer.Option("--again", help="Charge for another release, even if the same request already has one.")
]
ENTRY = Annotated[
    str | None,
    typer.Option("--entry", metavar="ID", help="Resume the release of this charge; for tables without a row order."),
]
RESERVED = Annotated[
    str | None,
    typer.Option("--reserved", metavar="ID", help="The charge that reserved this release, which costs nothing more."),
]
ENGINE = Annotated[
    Literal["duckdb", "spark"],
    typer.Option("--engine", help="The engine that reads IN; for spark, IN is Parquet or the name of a table."),
]
MEMORY = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="The most memory that DuckDB may use, such as 2GB.")
]
SEED = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="Repeat a run exactly. A seeded release is marked; it is for experiments, never publish it.",
    ),
]
RUN_SEED = Annotated[int | None, typer.Option("--seed", min=0, help="Repeat a run exactly.")]
TEST = Annotated[str | None, typer.Option("--test", metavar="TABLE", help="Rows with true labels, to evaluate on.")]
HOLD_OUT = Annotated[
    float, typer.Option("--hold-out", help="The share of rows held out for evaluation, without --test.")
]
TRUTH = Annotated[
    str | None, typer.Option("--truth", metavar="TABLE", help="The table that was protected, to count correct guesses.")
]
LEVEL = Annotated[float, typer.Option("--level", help="The confidence level of the intervals.")]
