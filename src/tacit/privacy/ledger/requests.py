"""Find the charge of a request or make it, and keep what was delivered for it; each inside one transaction."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.privacy.errors import LedgerError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.book import Book, guarantee_of, now
from tacit.privacy.ledger.records import Receipt, split_id
from tacit.privacy.ledger.rows import Row
from tacit.privacy.ledger.schema import DELIVERY, ENTRY, REQUEST

__all__ = ["Charge", "Delivery", "charge_of_entry", "find_charge", "record_delivery", "record_request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The release that a charge paid for: its SHA-256, and its name in the store."""

    digest: bytes
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A standing charge for a release.

    Parameters
    ----------
    delivery
        What was delivered for it; None while nothing has left.
    receipt
        What it cost, where it was made just now.
    """

    entry: str
    delivery: Delivery | None = None
    receipt: Receipt | None = None


def find_charge(book: Book, key: bytes) -> Charge | None:
    """Return the newest charge for a key that nobody voided."""
    corrections = book.rows.find(ENTRY, ENTRY.c.data_set == book.id, ENTRY.c.voids.is_not(None))
    voided = {entry["voids"] for entry in corrections}
    mine = book.rows.find(REQUEST, REQUEST.c.data_set == book.id, REQUEST.c.key == key)
    standing = [row["number"] for row in mine if row["number"] not in voided]
    return _charge(book, max(standing)) if standing else None


def charge_of_entry(book: Book, number: int, guarantee: Guarantee) -> Charge:
    """Return a charge by its number; one that was voided, or was for no such release, is refused."""
    entries: dict[int, Row] = {entry["number"]: entry for entry in book.entries()}
    name = f"{book.name}/{number}"
    if number in {entry["voids"] for entry in entries.values()}:
        raise LedgerError(f"{name} was voided: it pays for no release")
    if not book.rows.find(REQUEST, REQUEST.c.data_set == book.id, REQUEST.c.number == number):
        raise LedgerError(f"{name} is not the charge of a release; tacit ledger show lists them")
    paid = guarantee_of(entries[number]["guarantee"])
    if paid.to_json() != guarantee.to_json():
        raise LedgerError(f"{name} paid for {paid}, and this release has {guarantee}; resume it with its own plan")
    return _charge(book, number)


def record_request(book: Book, receipt: Receipt, key: bytes) -> Charge:
    """Write down what a new charge is for."""
    book.rows.add(REQUEST, data_set=book.id, number=split_id(receipt.id)[1], key=key)
    return Charge(entry=receipt.id, receipt=receipt)


def record_delivery(book: Book, number: int, delivery: Delivery) -> None:
    """Write down what leaves for a charge, before it leaves; a second, different delivery is refused."""
    known = _delivery(book, number)
    if known is not None and known != delivery:
        raise LedgerError(f"the ledger holds another release for {book.name}/{number}; this one was not delivered")
    if known is None:
        if not book.rows.find(ENTRY, ENTRY.c.data_set == book.id, ENTRY.c.number == number):
            raise LedgerError(f"the ledger has no charge {book.name}/{number}")
        book.rows.add(DELIVERY, data_set=book.id, number=number, digest=delivery.digest, file=delivery.file, time=now())


def _charge(book: Book, number: int) -> Charge:
    return Charge(entry=f"{book.name}/{number}", delivery=_delivery(book, number))


def _delivery(book: Book, number: int) -> Delivery | None:
    found = book.rows.find(DELIVERY, DELIVERY.c.data_set == book.id, DELIVERY.c.number == number)
    return Delivery(digest=bytes(found[0]["digest"]), file=found[0]["file"]) if found else None
