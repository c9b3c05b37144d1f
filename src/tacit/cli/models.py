"""``tacit models``: train a model under a guarantee, evaluate it, and measure what it reveals."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.surface import option, surface_app

__all__ = ["app"]

_LABEL = Annotated[
    str | None, typer.Option(metavar="COL", help="The column of true labels in these tables. Default: the plan's.")
]
_TRUST = Annotated[bool, typer.Option("--trust", help="Open a model that is a pickle; this runs the code in it.")]

app = surface_app(
    "models",
    help="Train models privately or without protection, evaluate them, and infer which rows they were trained on.",
    reading=[option("label", _LABEL, None), option("trust", _TRUST, False)],
    unused=["data", "hold_out"],
)
