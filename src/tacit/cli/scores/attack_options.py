"""The options of ``tacit scores plan`` and ``attack``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Attacked",
    "Body",
    "Classes",
    "Column",
    "Decimals",
    "DesignName",
    "ForceOut",
    "Header",
    "Metric",
    "Noise",
    "Recovered",
    "Rows",
    "ScoreField",
    "ShuffleSeed",
    "State",
    "Timeout",
    "Url",
]

_METRICS = "log_loss, brier, softmax, sigmoid, bce, accuracy, f1, auc, rmse or mae"

Metric = Annotated[str, typer.Option(help=f"What the host shows: {_METRICS}.")]
Decimals = Annotated[int | None, typer.Option(help="The host rounds scores to this many decimals.")]
Noise = Annotated[float | None, typer.Option(metavar="TAU", help="The host adds noise of at most TAU to scores.")]
DesignName = Annotated[
    str,
    typer.Option(
        help="best, or for losses digits (a few rows a query), joint (all rows at once), or for two classes crowded "
        "(joint, and what stays ambiguous is asked for: fewer queries, how many depends on the labels)."
    ),
]
Attacked = Annotated[
    str | None, typer.Option(metavar="FILE", help="Labels to attack: a table, or titanic, iris or satellite.")
]
Column = Annotated[str | None, typer.Option(help="The column with the labels, if the table has several.")]
Classes = Annotated[int | None, typer.Option(help="Number of labels. Default: as many as the table has.")]
ShuffleSeed = Annotated[int | None, typer.Option(min=0, help="Shuffle the rows and draw noise by this seed.")]
Url = Annotated[
    str | None, typer.Option(help="A scoring endpoint that you own: predictions are posted, a score comes back.")
]
Rows = Annotated[int | None, typer.Option(help="With --url: rows that the host scores.")]
Body = Annotated[str, typer.Option(help="With --url: post predictions as json or csv.")]
ScoreField = Annotated[str, typer.Option(help="With --url: where the score is in a JSON answer.")]
Header = Annotated[list[str] | None, typer.Option(metavar="NAME: VALUE", help="With --url: sent along; repeatable.")]
Timeout = Annotated[float, typer.Option(help="With --url: seconds to wait for an answer.")]
State = Annotated[
    Path | None, typer.Option(help="Keep what was recovered in this file, and go on from it if it is there.")
]
Recovered = Annotated[Path | None, typer.Option(help="Write the recovered labels to this CSV file, -1 where unknown.")]
ForceOut = Annotated[bool, typer.Option("--force", help="Replace the file of --out.")]
