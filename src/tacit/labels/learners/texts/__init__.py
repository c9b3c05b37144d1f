"""Texts as numbers: words that a set counts itself, or a sentence encoder that is given."""

from tacit.labels.learners.texts.representation import OWN, TextRepresentation

__all__ = ["OWN", "TextRepresentation"]
