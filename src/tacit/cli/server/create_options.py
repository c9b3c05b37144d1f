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

Slug = Annotated[str, typer.Argument(help="Short name in addresses: lowercase letters, digits and hyphens.")]
FeatureFile = Annotated[Path, typer.Option(help="A CSV file that everybody can read; a column id names the rows.")]
HiddenLabels = Annotated[
    Path, typer.Option(help="A CSV file that the server never shows: id and label, or one column.")
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
PerTeam = Annotated[int, typer.Option(help="Submissions per team, in total.")]
PerDay = Annotated[int, typer.Option(help="Submissions per team and day; 0: no limit.", min=0)]
PublicFraction = Annotated[
    float,
    typer.Option(
        help="Share of rows that live scores use; the others decide the final ranking, released once. "
        "1: all rows, and the leaderboard is final."
    ),
]
FinalPolicy = Annotated[
    str | None,
    typer.Option(metavar=_CHOICE, help="How each team's one final score is released. Default: laplace:epsilon=5."),
]
MostTeams = Annotated[int, typer.Option(help="The most teams; the ledger reserves epsilon for that many.")]
Opens = Annotated[datetime | None, typer.Option(help="First moment for submissions, in UTC.")]
Closes = Annotated[datetime | None, typer.Option(help="Last moment for submissions, in UTC.")]
Private = Annotated[bool, typer.Option("--private", help="Show the leaderboard to teams and host only.")]
