"""Mechanisms for labels."""
