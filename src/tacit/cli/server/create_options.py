"""The options of ``tacit scores host create``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Closes",
    "Description",
    "FeatureFile",
    "FinalPolicy",
    "HiddenLabels",
    "LivePolicy",
    "MostTeams",
    "Opens",
    "PageName",
    "PerDay",
    "PerTeam",
    "Private",
    "PublicFraction",
    "ScoredBy",
    "Slug",
]

_CHOICE = "NAME[:KEY=VALUE,...]"

Slug = Annotated[str, typer.Argument(help="Short name in addresses: small letters, digits and hyphens.")]
FeatureFile = Annotated[Path, typer.Option(help="A CSV file that everybody may read; a column id names the rows.")]
HiddenLabels = Annotated[
    Path, typer.Option(help="A CSV file that never leaves the server: id and label, or one column.")
]
PageName = Annotated[str | None, typer.Option(help="Name on the pages. Default: the short name.")]
Description = Annotated[str, typer.Option(help="Plain text for the teams.")]
ScoredBy = Annotated[
    str,
    typer.Option(
        metavar=_CHOICE,
        help="log_loss (classes, floor), brier (classes), accuracy (classes), auc or f1 (classes, class_floor), "
        "rmse, mae.",
    ),
]
LivePolicy = Annotated[
    str | None,
    typer.Option(
        metavar=_CHOICE,
        help="laplace (epsilon), thresholdout (epsilon, threshold, refreshes), ladder (step), rounded (decimals) "
        "or exact. Default: laplace:epsilon=0.2.",
    ),
]
PerTeam = Annotated[int, typer.Option(help="Submissions of a team, in all.")]
PerDay = Annotated[int, typer.Option(help="Submissions of a team per day; 0: no limit.", min=0)]
PublicFraction = Annotated[
    float,
    typer.Option(
        help="Share of rows behind the live scores; the others decide the final ranking, released once. "
        "1: all rows, and the leaderboard is final."
    ),
]
FinalPolicy = Annotated[
    str | None,
    typer.Option(metavar=_CHOICE, help="How each team's one final score is released. Default: laplace:epsilon=5."),
]
MostTeams = Annotated[int, typer.Option(help="Most teams; the ledger keeps epsilon for that many.")]
Opens = Annotated[datetime | None, typer.Option(help="First moment for submissions, in UTC.")]
Closes = Annotated[datetime | None, typer.Option(help="Last moment for submissions, in UTC.")]
Private = Annotated[bool, typer.Option("--private", help="Show the leaderboard to teams and host alone.")]
