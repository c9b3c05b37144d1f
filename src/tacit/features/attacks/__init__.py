"""What a release of features still reveals: links to rows, membership, and records behind a selection."""

__all__: list[str] = []
