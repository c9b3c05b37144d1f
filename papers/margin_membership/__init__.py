"""Provable privacy attacks on trained shallow neural networks."""
