"""Measure what a trained model tells about its training data."""
