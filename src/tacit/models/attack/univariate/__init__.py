"""Training points from a network of one feature."""
