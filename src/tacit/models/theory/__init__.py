"""The theory of networks at the margin: which points must lie on it."""

__all__: list[str] = []
