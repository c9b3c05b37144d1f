"""What a recipient does with a released model."""

__all__: list[str] = []
