"""The options of ``tacit labels protect``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import EngineName

__all__ = [
    "Again",
    "EngineOption",
    "Epsilon",
    "Keep",
    "MechanismName",
    "MechanismOption",
    "MemoFolder",
    "MissingName",
    "MissingOption",
    "Prior",
    "PriorShare",
    "ReleaseOut",
]


class MechanismName(StrEnum):
    """What randomizes."""

    RR = "rr"
    PRIOR = "prior"
    LAPLACE = "laplace"
    BINS = "bins"


class MissingName(StrEnum):
    """What to do with rows without a label."""

    REFUSE = "refuse"
    PUBLIC = "public"


Epsilon = Annotated[float, typer.Option(help="The promise for one label, read as the decimal you type.")]
MechanismOption = Annotated[
    MechanismName,
    typer.Option(
        help="rr: randomized response. prior: the same among the likely classes. laplace: noise on the one-hot "
        "label. bins: for numbers, randomized response on bins."
    ),
]
Prior = Annotated[
    str, typer.Option(metavar="P,Q,...", help="For prior and bins: public probabilities, one for each of --classes.")
]
PriorShare = Annotated[
    float, typer.Option(help="For prior and bins without --prior: the share of epsilon that estimates it.")
]
Keep = Annotated[
    str, typer.Option(metavar="COL,...", help="Public columns to put beside the labels; all for every other column.")
]
MissingOption = Annotated[
    MissingName, typer.Option(help="Rows without a label: refuse them, or keep them so and call that public.")
]
EngineOption = Annotated[
    EngineName, typer.Option(help="duckdb: streamed through this machine. spark: on every partition of a Spark table.")
]
ReleaseOut = Annotated[
    Path | None, typer.Option(help="The release file, Parquet. Default: IN's name with .release.parquet, here.")
]
MemoFolder = Annotated[
    Path | None, typer.Option(help="A folder for releases made so far. Default: beside the ledger's file.")
]
Again = Annotated[
    bool, typer.Option("--again", help="Make, and pay for, another release of labels that were released before.")
]
