"""Training points from the weights of a network of one feature."""

__all__: list[str] = []
