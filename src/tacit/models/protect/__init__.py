"""Train with a promise to every training record."""
