"""What leaves: label totals of bags, with their plan and guarantee."""

__all__: list[str] = []
