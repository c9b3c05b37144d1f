"""``tacit bags``: label totals of groups of rows."""

from tacit.cli.surface import surface_app

__all__ = ["app"]

app = surface_app(
    "bags",
    help="Label totals of groups of rows: protect them, learn from them, attack them.",
    unused=["hold_out"],
)
