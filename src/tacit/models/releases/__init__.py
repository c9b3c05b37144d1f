"""Model releases: numbers and a guarantee in one file, never code."""
