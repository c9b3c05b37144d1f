"""Model releases: numbers and a guarantee in one file, never code."""

__all__: list[str] = []
