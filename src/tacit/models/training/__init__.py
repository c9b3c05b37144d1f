"""Training that protects the rows it sees, or weakens attacks on them."""

__all__: list[str] = []
