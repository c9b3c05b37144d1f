"""What leaves: label totals of bags, with their plan and guarantee."""
