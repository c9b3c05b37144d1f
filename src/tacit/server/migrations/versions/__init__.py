"""One file a revision; none is changed once it was published."""

__all__: list[str] = []
