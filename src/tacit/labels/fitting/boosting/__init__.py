"""Boosted trees by the likelihood of released labels: the libraries' own trees, with another loss."""

__all__: list[str] = []
