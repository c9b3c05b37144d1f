"""How label totals of bags are made: curated or random bags, exact or under a guarantee."""

__all__: list[str] = []
