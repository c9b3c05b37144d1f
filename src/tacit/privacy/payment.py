"""The payment for a release: a ledger, charged before any noise is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, Receipt, charging, registry, requests
from tacit.privacy.ledger.book import DataSetAccounts
from tacit.privacy.ledger.records import check_text, split_id
from tacit.privacy.ledger.requests import DeliveredRelease, ReleaseCharge
from tacit.privacy.ledger.reservations import reserved_entry
from tacit.privacy.store import ReleaseStore

__all__ = ["Payment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """The ledger that pays for a release, and the data set that it is charged to.

    If the budget is for labels, a guarantee for one record is charged as the same guarantee for one label: two tables
    that differ in one label differ in one record, so the guarantee for records covers labels. A guarantee for labels
    does not cover records, and is rejected.

    Parameters
    ----------
    ledger
        Charged before anything is drawn; a charge that it refuses stops the release.
    dataset
        The data set to charge; default: the one that the ledger recognizes by the private column.
    parts
        The declared parts of the data set that contain every row of the release; default: all. The ledger recognizes
        whole columns, not parts of them, so name the data set as well. A column that it recognizes, and that may have
        rows outside these parts, is rejected.
    store
        The folder of finished releases, from which a release that was paid for is delivered again without a second
        charge; default: beside the ledger's file, with ``.releases`` after its name. It never contains a seed.
    again
        Charge for another release of a request that already has one.
    reserved
        The charge that reserved this release (:meth:`tacit.privacy.ledger.Ledger.reserve`), which costs nothing more.
    entry
        Resume the release of this charge, for rows without an order, which the ledger cannot recognize: the caller is
        responsible that the rows are the same. Rows with an order must be those that the charge was made for.
    """

    ledger: Ledger
    dataset: str | None = None
    parts: Sequence[str] | None = None
    store: Path | None = None
    again: bool = False
    entry: str | None = None
    reserved: str | None = None

    def __post_init__(self) -> None:
        for field in ("again", "reserved"):
            if getattr(self, field) and self.entry is not None:
                raise InvalidInput("must be left out with entry, which resumes a release that is paid for", field=field)

    @property
    def folder(self) -> Path:
        """The folder of finished releases."""
        if self.store is not None:
            return Path(self.store)
        if self.ledger.file is None:
            raise InvalidInput("must name a folder for finished releases: the ledger is not a file", field="store")
        return self.ledger.file.with_name(f"{self.ledger.file.name}.releases")

    def settle(
        self, key: bytes, guarantee: Guarantee, *, purpose: str, prints: Mapping[int, bytes] | None = None
    ) -> ReleaseCharge:
        """Find the standing charge for a key, or make it, in one transaction.

        Parameters
        ----------
        key
            What is paid for, by :meth:`tacit.privacy.ledger.Ledger.key_of`: after a crash the same key finds the
            charge that was made for it.
        prints
            The fingerprints of the private columns; None if only ``dataset`` names what to charge.

        Examples
        --------
        >>> import tempfile
        >>> from tacit.privacy import Unit
        >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
        >>> one = Guarantee(unit=Unit.LABEL, epsilon=1.0)
        >>> _ = ledger.register([0, 1], name="clicks", budget=one)
        >>> payment, key = Payment(ledger=ledger, dataset="clicks"), ledger.key_of(b"team", b"7")
        >>> [payment.settle(key, one, purpose="scores of a team").entry for _ in range(2)]
        ['clicks/1', 'clicks/1']
        """
        check_text(purpose, name="purpose")
        with self.ledger.transaction() as rows:
            planned = None if self.reserved is None else split_id(self.reserved)[0]
            name, version = registry.find_data_set(rows, prints, dataset=self.dataset or planned)
            book = DataSetAccounts.find(rows, name, lock=True)
            found = requests.find_charge(book, key)
            if found is not None and (found.delivery is None or not self.again):
                return found
            number = None if self.reserved is None else reserved_entry(self.reserved, name=name)
            receipt = charging.pay(book, guarantee, parts=self.parts, purpose=purpose, version=version, reserved=number)
            return requests.record_request(book, receipt, key)

    def record_delivery(self, entry: str, delivery: DeliveredRelease) -> None:
        """Record the release of a charge, before it is published."""
        name, number = split_id(entry)
        with self.ledger.transaction() as rows:
            requests.record_delivery(DataSetAccounts.find(rows, name, lock=True), number, delivery)

    def void(self, entry: str, *, reason: str) -> Receipt:
        """Correct a charge whose release never left, and remove from the store what was drawn for it."""
        receipt = self.ledger.void(entry, reason=reason)
        if self.store is not None or self.ledger.file is not None:
            with suppress(LedgerError):  # charged by hand: nothing was drawn
                ReleaseStore(self.folder).remove_voided(self.ledger.request_of(entry).hex(), entry)
        return receipt
