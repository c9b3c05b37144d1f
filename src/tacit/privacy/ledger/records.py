"""The frozen values that the ledger returns."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.rounding import check_bounds, exact, format_up, round_up

__all__ = [
    "ALL",
    "DataSetPart",
    "DataSetStatement",
    "DataSetVersion",
    "LedgerEntry",
    "PartSpend",
    "Receipt",
    "check_text",
    "format_down",
    "format_share",
    "split_id",
]

ALL = "all"
"""The name of the one part of a data set that declares none."""

_DIGITS = 18  # of an entry's number: more than there will be entries


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetPart:
    """A part of a data set that shares no row and no person with the other parts, for all protected values.

    Parameters
    ----------
    rows
        Its rows, half-open, if the part is a range of rows; otherwise the user knows its rows.
    epsilon, delta
        A budget of its own, not above that of the data set. Default: that of the data set.
    """

    name: str
    rows: range | None = None
    epsilon: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        if check_text(self.name, name="part") == ALL:
            raise InvalidInput(f"part must not be {ALL!r}, the reserved name of a data set without parts")
        check_bounds(self.epsilon, self.delta or 0.0)
        if self.rows is not None and (self.rows.step != 1 or self.rows.start < 0 or not self.rows):
            raise InvalidInput(
                f"part {self.name} must have rows start to stop with 0 <= start < stop, "
                f"got {self.rows.start} to {self.rows.stop}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSpend:
    """The spend of one part.

    Parameters
    ----------
    used
        The share of the budget that is used.
    spent
        The epsilon spent; None if the budget has a delta, because sums of epsilons then say too much.
    left
        The largest pure epsilon that one more charge may have.
    budget
        Its own budget, or that of the data set.
    """

    name: str
    rows: range | None
    budget: Guarantee
    used: float
    spent: float | None
    left: float

    @classmethod
    def of(cls, name: str, account: PrivacyAccount, *, rows: range | None = None) -> PartSpend:
        """Return the spend that an account has."""
        return cls(
            name=name, rows=rows, budget=account.budget, used=account.used, spent=account.spent, left=account.left
        )

    def __str__(self) -> str:
        left = format_down(self.left)
        if self.spent is None:
            return f"used {format_share(self.used)} of the budget, epsilon {left} fits"
        return f"spent epsilon {format_up(self.spent)}, left {left}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetVersion:
    """One state of a data set: rows may be appended, and each time the spend is inherited."""

    data_set: str
    number: int
    rows: int
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One line of the ledger: a charge, the correction that voids one, or a release that a charge reserved.

    Parameters
    ----------
    reserves
        How many releases the charge reserves, to be made later.
    reserved_by
        The charge that reserved this release, which costs nothing more.
    """

    id: str
    time: str
    version: int
    parts: tuple[str, ...]
    guarantee: Guarantee | None
    purpose: str
    voids: str | None = None
    voided_by: str | None = None
    reserves: int = 0
    reserved_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """An entry that was accepted and written: after a charge, the release may be made.

    Parameters
    ----------
    account
        The account of the worst of the charged parts.
    head
        The head of the data set's chain of entries, by which :meth:`Ledger.verify` finds an older copy.
    """

    id: str
    account: PrivacyAccount
    head: str

    @property
    def used(self) -> float:
        """The share of the budget that is used."""
        return self.account.used

    @property
    def spent(self) -> float | None:
        """The epsilon spent; None if the budget has a delta."""
        return self.account.spent

    @property
    def left(self) -> float:
        """The largest pure epsilon that one more charge may have."""
        return self.account.left

    def to_json(self) -> dict[str, Any]:
        """Return the receipt as plain JSON."""
        return {"id": self.id, "used": self.used, "spent": self.spent, "left": self.left, "head": self.head}

    def __str__(self) -> str:
        spend = PartSpend.of(ALL, self.account)
        return f"entry {self.id}: {spend}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetStatement:
    """Everything that the ledger records about one data set.

    Parameters
    ----------
    budget
        The largest total cost of all releases, and its unit.
    head
        The head of the chain of entries; empty before the first one.
    """

    name: str
    budget: Guarantee
    head: str
    parts: tuple[PartSpend, ...]
    versions: tuple[DataSetVersion, ...]
    entries: tuple[LedgerEntry, ...]

    @property
    def worst(self) -> PartSpend:
        """The part that has used most."""
        return max(self.parts, key=lambda part: (part.used, -part.left))

    @property
    def used(self) -> float:
        """The share of the budget that the worst part has used."""
        return self.worst.used

    @property
    def spent(self) -> float | None:
        """The epsilon that the worst part has spent; None if the budget has a delta."""
        return self.worst.spent

    @property
    def left(self) -> float:
        """The largest pure epsilon that one more charge of all parts may have."""
        return self.worst.left

    @property
    def lifetime(self) -> tuple[float, float]:
        """Epsilon and delta of all standing charges together, for a person who has rows in every part: their sums."""
        paid = (entry for entry in self.entries if entry.voided_by is None and entry.reserved_by is None)
        standing = [entry.guarantee for entry in paid if entry.guarantee]
        return round_up(sum(exact(one.epsilon) for one in standing)), round_up(
            sum(exact(one.delta) for one in standing)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the statement as plain JSON."""
        return {
            "name": self.name,
            "budget": {name: getattr(self.budget, name) for name in ("unit", "epsilon", "delta", "rows")},
            "head": self.head,
            "used": self.used,
            "spent": self.spent,
            "left": self.left,
            "lifetime": dict(zip(("epsilon", "delta"), self.lifetime, strict=True)),
            "parts": [
                {
                    "name": part.name,
                    "rows": part.rows and [part.rows.start, part.rows.stop],
                    "epsilon": part.budget.epsilon,
                    "delta": part.budget.delta,
                    "used": part.used,
                    "spent": part.spent,
                    "left": part.left,
                }
                for part in self.parts
            ],
            "versions": [asdict(version) for version in self.versions],
            "entries": [
                {one.name: getattr(entry, one.name) for one in fields(entry)}
                | {"parts": list(entry.parts), "guarantee": entry.guarantee and entry.guarantee.to_json()}
                for entry in self.entries
            ],
        }


def check_text(value: str, *, name: str) -> str:
    """Return ``value``, or raise unless it is one line of printable text.

    Examples
    --------
    >>> check_text("", name="purpose")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: purpose must be one line of text, got ''
    """
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidInput(f"{name} must be one line of text, got {value!r}")
    return value


def split_id(entry: str) -> tuple[str, int]:
    """Return the data set's name and the number that are the id of an entry."""
    name, _, number = entry.rpartition("/")
    if not name or not number.isdecimal() or len(number) > _DIGITS:
        raise LedgerError(f"a charge's id must be a data set's name and a number, as in adult/1, got {entry!r}")
    return name, int(number)


def format_down(value: float) -> str:
    """Print what is left with few digits, rounded down.

    Examples
    --------
    >>> format_down(0.123498), format_down(2.0)
    ('0.1234', '2')
    """
    return format_up(-value).removeprefix("-")


def format_share(share: float) -> str:
    """Print a share as percent, rounded up; infinity is more than all.

    Examples
    --------
    >>> format_share(0.1234501), format_share(1.0), format_share(float("inf"))
    ('12.35%', '100%', 'more than 100%')
    """
    return f"{format_up(100 * share)}%" if math.isfinite(share) else "more than 100%"
