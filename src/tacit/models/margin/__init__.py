"""Train two-layer networks to a certified KKT point of the margin problem."""

__all__: list[str] = []
