"""The parameters of ``tacit scores host create``: two files, the fields of plan and rules, and what the page shows."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from tacit.cli.options import AsJson
from tacit.cli.server.connection import Token, Url
from tacit.cli.surface import field_option, option
from tacit.privacy.settings import settings_of
from tacit.server.rules import CompetitionPlan, Rules

__all__ = ["PARAMETERS", "RULES"]

_OF_PLAN = ("label", "classes", "metric", "policy", "epsilon", "submissions")
_SETTINGS = {one.name: one for one in settings_of(CompetitionPlan)}

RULES = [field_option(one) for one in (*(_SETTINGS[name] for name in _OF_PLAN), *settings_of(Rules))]
"""The options that make the plan and the rules, in the server's words."""

PARAMETERS = [
    option(
        "slug", Annotated[str, typer.Argument(help="Short name in addresses: lowercase letters, digits and hyphens.")]
    ),
    option(
        "data",
        Annotated[str, typer.Option(metavar="FILE", help="What teams get, a CSV file; a column id names the rows.")],
    ),
    option(
        "truth",
        Annotated[
            str,
            typer.Option(metavar="FILE", help="The labels, a CSV file that never leaves the server; ids as in --data."),
        ],
    ),
    *RULES,
    option(
        "name", Annotated[str | None, typer.Option(help="The name that everybody sees. Default: the short one.")], None
    ),
    option("description", Annotated[str, typer.Option(help="Plain text for the teams.")], ""),
    option("opens", Annotated[datetime | None, typer.Option(help="First moment for submissions, in UTC.")], None),
    option("closes", Annotated[datetime | None, typer.Option(help="Last moment for submissions, in UTC.")], None),
    option(
        "private",
        Annotated[bool, typer.Option("--private", help="Show the leaderboard to teams and host alone.")],
        False,
    ),
    option("url", Url, "http://127.0.0.1:8000"),
    option("token", Token, ""),
    option("as_json", AsJson, False),
]
