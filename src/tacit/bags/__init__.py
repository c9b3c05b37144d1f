"""Bags: label totals of groups of rows, what can be learned from them, and what they tell."""

