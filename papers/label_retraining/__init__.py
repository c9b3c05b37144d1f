"""Retraining with predicted hard labels provably increases model accuracy (Das et al., 2024)."""
