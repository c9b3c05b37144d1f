"""The unit of privacy."""

from enum import StrEnum

__all__ = ["Unit"]


class Unit(StrEnum):
    """The unit of privacy.

    ``LABEL``: one row's label, features and everything else fixed. ``RECORD``: one whole row is replaced,
    its label included. ``BAG``: one bag's label total.
    """

    LABEL = "label"
    RECORD = "record"
    BAG = "bag"
