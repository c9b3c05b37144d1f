"""One randomized label per row: protect it, learn from it, attack it."""
