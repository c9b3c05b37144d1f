"""Reconstructing test labels from noisy loss scores (Aggarwal et al., 2021)."""
