"""From a private label column to a release of randomized labels."""

__all__: list[str] = []
