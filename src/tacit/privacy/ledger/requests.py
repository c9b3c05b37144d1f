"""Find the charge of a request or make it, and keep what was delivered for it; each inside one transaction."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.privacy.errors import LedgerError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.book import DataSetAccounts, guarantee_of, now
from tacit.privacy.ledger.records import Receipt, split_id
from tacit.privacy.ledger.rows import Row
from tacit.privacy.ledger.schema import DELIVERY, ENTRY, REQUEST

__all__ = [
    "DeliveredRelease",
    "ReleaseCharge",
    "charge_of_entry",
    "find_charge",
    "record_delivery",
    "record_request",
    "request_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredRelease:
    """The release that a charge paid for: its SHA-256, and its name in the store."""

    digest: bytes
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseCharge:
    """A standing charge for a release.

    Parameters
    ----------
    delivery
        What was delivered for it; None if nothing was released yet.
    receipt
        What it cost, if it was made just now.
    """

    entry: str
    delivery: DeliveredRelease | None = None
    receipt: Receipt | None = None


def find_charge(book: DataSetAccounts, key: bytes) -> ReleaseCharge | None:
    """Return the newest charge for a key that was not voided."""
    voided = _voided(book)
    mine = book.rows.find(REQUEST, REQUEST.c.data_set == book.id, REQUEST.c.key == key)
    standing = [row["number"] for row in mine if row["number"] not in voided]
    return _charge(book, max(standing)) if standing else None


def request_of(book: DataSetAccounts, number: int) -> bytes:
    """Return the key of the request that a charge was made for."""
    found = book.rows.find(REQUEST, REQUEST.c.data_set == book.id, REQUEST.c.number == number)
    if not found:
        raise LedgerError(f"{book.name}/{number} is not the charge of a release; tacit ledger show lists them")
    return bytes(found[0]["key"])


def charge_of_entry(book: DataSetAccounts, number: int, guarantee: Guarantee, *, key: bytes | None) -> ReleaseCharge:
    """Return a charge by its number; one that was voided, or was for another release, is rejected.

    Parameters
    ----------
    key
        The key of the request to resume; None if rows have no order, and so no key.
    """
    entries: dict[int, Row] = {entry["number"]: entry for entry in book.entries()}
    name = f"{book.name}/{number}"
    if number in {entry["voids"] for entry in entries.values()}:
        raise LedgerError(f"{name} was voided, so it covers no release")
    requested = request_of(book, number)
    paid = guarantee_of(entries[number]["guarantee"])
    if paid.to_json() != guarantee.to_json():
        raise LedgerError(f"{name} paid for {paid}, and this release has {guarantee}; resume it with its own plan")
    if key not in (None, requested):
        raise LedgerError(
            f"{name} paid for a release of another plan or of other rows; without entry, the command that made the "
            "charge resumes its release by itself"
        )
    return _charge(book, number)


def record_request(book: DataSetAccounts, receipt: Receipt, key: bytes) -> ReleaseCharge:
    """Record what a new charge is for."""
    book.rows.add(REQUEST, data_set=book.id, number=split_id(receipt.id)[1], key=key)
    return ReleaseCharge(entry=receipt.id, receipt=receipt)


def record_delivery(book: DataSetAccounts, number: int, delivery: DeliveredRelease) -> None:
    """Record the release of a charge before it is published; a second delivery and a voided charge are rejected."""
    if number in _voided(book):
        raise LedgerError(f"{book.name}/{number} was voided while its release was drawn; it was not delivered")
    known = _delivery(book, number)
    if known is not None and known != delivery:
        raise LedgerError(f"the ledger has another release for {book.name}/{number}; this one was not delivered")
    if known is None:
        if not book.rows.find(ENTRY, ENTRY.c.data_set == book.id, ENTRY.c.number == number):
            raise LedgerError(f"the ledger has no charge {book.name}/{number}")
        book.rows.add(DELIVERY, data_set=book.id, number=number, digest=delivery.digest, file=delivery.file, time=now())


def _charge(book: DataSetAccounts, number: int) -> ReleaseCharge:
    return ReleaseCharge(entry=f"{book.name}/{number}", delivery=_delivery(book, number))


def _voided(book: DataSetAccounts) -> set[int]:
    corrections = book.rows.find(ENTRY, ENTRY.c.data_set == book.id, ENTRY.c.voids.is_not(None))
    return {entry["voids"] for entry in corrections}


def _delivery(book: DataSetAccounts, number: int) -> DeliveredRelease | None:
    found = book.rows.find(DELIVERY, DELIVERY.c.data_set == book.id, DELIVERY.c.number == number)
    return DeliveredRelease(digest=bytes(found[0]["digest"]), file=found[0]["file"]) if found else None
