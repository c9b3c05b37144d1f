"""``tacit features``: release few features under noise, learn from them, and link them back."""

from tacit.cli.surface import surface_app

__all__ = ["app"]

app = surface_app(
    "features",
    help="Noisy features: select and release a few, learn from them, link them back.",
    unused=["data"],
)
