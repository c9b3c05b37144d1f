"""``tacit labels``: randomize a label column, learn from it, and guess it back."""

from tacit.cli.surface import surface_app

__all__ = ["app"]

app = surface_app("labels", help="One randomized label per row: protect a label column, learn from it, attack it.")
