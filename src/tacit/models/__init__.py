"""Trained networks: train them to a certified margin, protect their training data, attack them."""
