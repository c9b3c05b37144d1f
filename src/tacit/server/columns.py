"""The columns that the server's tables are made of."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, ForeignKeyConstraint, Integer, LargeBinary, Text

__all__ = ["binary", "count", "flag", "key", "number", "text", "to", "to_submission"]


def key() -> Column[int]:
    """Return the key of a table."""
    return Column("id", Integer, primary_key=True)


def to(name: str, *, primary_key: bool = False) -> Column[int]:
    """Return a reference to a row of another table."""
    target = ForeignKey(f"server_{name}.id")
    return Column(name, Integer, target, primary_key=primary_key, nullable=False, autoincrement=False)


def text(name: str, *, nullable: bool = False, unique: bool = False) -> Column[str]:
    """Return a column of texts."""
    return Column(name, Text, nullable=nullable, unique=unique)


def count(name: str, *, primary_key: bool = False) -> Column[int]:
    """Return a column of integers."""
    return Column(name, Integer, primary_key=primary_key, nullable=False, autoincrement=False)


def number(name: str) -> Column[float]:
    """Return a column of numbers."""
    return Column(name, Float, nullable=False)


def flag(name: str) -> Column[bool]:
    """Return a column of yes and no."""
    return Column(name, Boolean, nullable=False)


def binary(name: str, *, nullable: bool = False, unique: bool = False) -> Column[bytes]:
    """Return a column of bytes."""
    return Column(name, LargeBinary, nullable=nullable, unique=unique)


def to_submission(*, primary_key: bool) -> tuple[Column[int] | ForeignKeyConstraint, ...]:
    """Return a reference to a submission: its team and its number."""
    columns = (count("team", primary_key=primary_key), count("number", primary_key=primary_key))
    return (*columns, ForeignKeyConstraint(["team", "number"], ["server_submission.team", "server_submission.number"]))
