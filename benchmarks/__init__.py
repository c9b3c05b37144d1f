"""Timings of each area, every one as a ratio against a named reference measured in the same run."""
