"""Mechanisms that randomize labels."""
