"""Learners of randomized labels."""
