"""One file per revision; none is changed after it was published."""

__all__: list[str] = []
