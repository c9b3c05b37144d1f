"""Label totals of groups of rows: protect them, learn from them, attack them."""
