"""The privacy spend of data sets, over all surfaces, in a database."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import write_atomically
from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.ledger import charging, registry, requests
from tacit.privacy.ledger.book import DataSetAccounts
from tacit.privacy.ledger.database import LedgerDatabase
from tacit.privacy.ledger.fingerprint import batches_of, fingerprint_rows, fingerprints
from tacit.privacy.ledger.founding import exists, found, open_database, reseal
from tacit.privacy.ledger.records import DataSetPart, DataSetStatement, DataSetVersion, Receipt, check_text, split_id
from tacit.privacy.ledger.requests import ReleaseCharge
from tacit.privacy.ledger.reservations import reserved_entry
from tacit.privacy.ledger.rows import SealedRows
from tacit.privacy.ledger.schema import DATA_SET
from tacit.privacy.ledger.secret import SealingKey
from tacit.privacy.ledger.sketch import DataSetOverlap, SketchedRows
from tacit.privacy.ledger.transfer import EXPORT, export, read_export
from tacit.privacy.ledger.verification import check_against, verify
from tacit.privacy.rounding import check_count

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Ledger"]


@dataclass(frozen=True, slots=True)
class Ledger:
    """The privacy budget and spend of each data set: a SQLite file, or a PostgreSQL database by URL.

    A charge is one transaction, written before the release exists. It is refused if it would exceed the budget, it is
    on disk when :meth:`charge` returns, and concurrent charges wait for each other. Data are recognized by a
    fingerprint under the ledger's secret; contents are never stored.

    Charges may be chosen after looking at earlier releases. A budget with a delta is kept by a filter: a charge is
    accepted while one of a few sums, fixed when the budget was opened, is within its limit.

    Limits: the ledger records what is declared. It cannot detect a release that was not charged, two data sets of the
    same people in other rows, or parts that are not disjoint. Anyone who can read the file can read the secret, unless
    it is sealed under a key that is kept elsewhere.

    Examples
    --------
    >>> import tempfile
    >>> from tacit.privacy import Unit
    >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
    >>> _ = ledger.register([0, 1, 1, 0], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    >>> print(ledger.charge("clicks", Guarantee(unit=Unit.LABEL, epsilon=0.75), purpose="first release"))
    entry clicks/1: spent epsilon 0.75, left 0.25
    >>> ledger.charge("clicks", Guarantee(unit=Unit.LABEL, epsilon=0.5), purpose="one too many")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.BudgetExceeded: clicks has spent epsilon 0.75 of 1 and 0.25 is left; a charge of epsilon
    0.5 for one label would bring it to 1.25; it was used by clicks/1 (..., first release), so nothing was charged
    """

    _database: LedgerDatabase
    _secret: bytes = field(repr=False)

    @classmethod
    def create(
        cls,
        location: str | Path,
        *,
        restore: str | Path | Mapping[str, Any] | None = None,
        sealing: SealingKey | None = None,
    ) -> Ledger:
        """Create a ledger; an existing file or ledger is rejected.

        Parameters
        ----------
        location
            A file's path, or a ``postgresql://`` URL of an existing database.
        restore
            An export (its path, or the document itself) whose secret, data sets and entries the ledger takes over.
        sealing
            A key under which the ledger's secret is stored, so that a copy of the ledger alone identifies no data;
            default: the secret is stored in clear.
        """
        found(LedgerDatabase.at(location), None if restore is None else read_export(restore), sealing=sealing)
        return cls.open(location, sealing=sealing)

    @classmethod
    def open(cls, location: str | Path, *, sealing: SealingKey | None = None) -> Ledger:
        """Open an existing ledger, and bring an older schema up to date.

        With ``sealing`` a secret that was stored in clear is sealed; afterwards the ledger opens with that key alone.
        """
        database = LedgerDatabase.at(location)
        return cls(database, open_database(database, sealing=sealing))

    @classmethod
    def reseal(cls, location: str | Path, *, old: SealingKey, new: SealingKey) -> None:
        """Store the secret of a ledger under a new key, whether it is in clear or under the old one."""
        reseal(LedgerDatabase.at(location), old=old, new=new)

    @classmethod
    def exists(cls, location: str | Path) -> bool:
        """Return whether something exists that :meth:`create` would reject and :meth:`open` may open."""
        return exists(LedgerDatabase.at(location))

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        """Return itself: a copy of the handle is the same ledger, so objects that contain one can be copied."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the location only, without secret or password; whoever unpickles it must be able to open it."""
        file, url = self._database.file, self._database.engine.url
        return Ledger.open, (url._replace(password=None).render_as_string() if file is None else str(file),)

    @property
    def location(self) -> str:
        """Where the ledger is: its file, or its URL without the password."""
        return self._database.where

    @property
    def file(self) -> Path | None:
        """The ledger's file; None if it is in a database server."""
        return self._database.file

    @property
    def data_sets(self) -> tuple[str, ...]:
        """The names of all data sets, oldest first."""
        with self._reading() as rows:
            return tuple(row["name"] for row in rows.find(DATA_SET))

    def register(
        self,
        data: object,
        *,
        name: str,
        budget: Guarantee,
        parts: Sequence[DataSetPart] = (),
        private: Sequence[str] | None = None,
    ) -> DataSetStatement:
        """Give data a name, a unit and a budget; known data, and data that extend known data, are rejected.

        Afterwards :meth:`overlaps` finds other data sets with many of the same rows; they are not rejected.

        Parameters
        ----------
        data
            The private columns, in the order of their rows: a list, an array, a series, a table. Only their
            keyed fingerprint is stored.
        budget
            The largest total privacy cost of all releases from these data, with its unit and the largest number of
            units per person (``rows``).
        parts
            Parts that share no row and, with more than one row per person, no person. The part of a row must not depend
            on what the budget protects. Default: one part. A charge that names its parts costs the others nothing.
        private
            The columns that the budget is for, if the data have others, by which rows are found in other data sets.
        """
        terms = registry.DataSetTerms(name=name, budget=budget, parts=tuple(parts))
        passing = SketchedRows(self._secret, private=private)
        prints = self._fingerprints(passing.pass_private(batches_of(data)))
        with self.transaction() as opened:
            registry.register(opened, prints, terms, passing.sketch())
            return DataSetAccounts.find(opened, name).statement()

    def overlaps(self, name: str) -> list[DataSetOverlap]:
        """Return the data sets that seem to have rows of this one, for their owner: releases from both add up.

        In any order, with some rows changed, left out or added, whatever the columns are called. Where the ledger knows
        only labels: the same labels in a row, forward or backward, whatever the classes are called.
        """
        with self._reading() as rows:
            return registry.overlaps(rows, DataSetAccounts.find(rows, name).id)

    def open_window(self, data: object, *, name: str, window: DataSetPart) -> DataSetStatement:
        """Give the rows that were appended to a data set a part of their own, with nothing spent.

        Every earlier release was made without them, so charges of the other parts cost them nothing.

        Parameters
        ----------
        data
            The private columns: the rows of the newest version, and the new ones after them.
        window
            The part's name, such as its days, and its own budget if it has one; its rows are the new ones.
        """
        if window.rows is not None:
            raise InvalidInput("must be left out: a window is the new rows", field="rows")
        prints = self._fingerprints(data)
        with self.transaction() as rows:
            registry.open_window(rows, prints, window, name=name)
            return DataSetAccounts.find(rows, name).statement()

    def identify(self, data: object) -> DataSetVersion:
        """Recognize data: the version they are, or a new version if they are a known one with rows appended."""
        prints = self._fingerprints(data)
        with self.transaction() as rows:
            return registry.identify(rows, prints)

    def charge(
        self,
        name: str,
        guarantee: AnyGuarantee,
        *,
        purpose: str,
        parts: Sequence[str] | None = None,
        version: int | None = None,
        reserved: str | None = None,
    ) -> Receipt:
        """Charge a data set by hand for a release that tacit does not make; make it only after this returned.

        Releases of tacit are charged by a :class:`tacit.privacy.payment.Payment`, which never charges twice.

        Parameters
        ----------
        guarantee
            In the data set's unit and rows per person; others are rejected, never added.
        purpose
            One line for the record: the mechanism, and what it is for.
        parts
            The declared parts that the release is made from; default: all.
        version
            The version of the data, as :meth:`identify` gave it; default: the newest.
        reserved
            The id of the charge that reserved this release (:meth:`reserve`): it costs nothing more.

        Returns
        -------
        Receipt
            The entry's id, and what is spent and left of the worst of the charged parts.

        Raises
        ------
        BudgetExceeded
            The charge would exceed the budget; nothing was changed.
        """
        check_text(purpose, name="purpose")
        with self.transaction() as rows:
            book = DataSetAccounts.find(rows, name, lock=True)
            number = None if reserved is None else reserved_entry(reserved, name=name)
            return charging.charge(book, guarantee, parts=parts, purpose=purpose, version=version, reserved=number)

    def reserve(
        self, name: str, *guarantees: AnyGuarantee, purpose: str, parts: Sequence[str] | None = None
    ) -> Receipt:
        """Charge releases that are made later, all together, at the price of their composed loss distributions.

        Many releases that are fixed before the first outcome cost less than charges that are chosen one by one. Each is
        made at most once, in any order, by a :class:`tacit.privacy.payment.Payment` or a :meth:`charge` that names the
        receipt's id. Another release may take the place of one if its loss is dominated. Nothing comes back.

        Examples
        --------
        >>> import tempfile
        >>> from tacit.privacy import Unit
        >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
        >>> budget = Guarantee(unit=Unit.LABEL, epsilon=1.5, delta=1e-6)
        >>> _ = ledger.register([0, 1, 1, 0], name="clicks", budget=budget)
        >>> small = Guarantee(unit=Unit.LABEL, epsilon=0.01)
        >>> plan = ledger.reserve("clicks", *[small] * 1000, purpose="a total every day")
        >>> ledger.charge("clicks", small, purpose="the first day", reserved=plan.id).id
        'clicks/2'
        """
        check_text(purpose, name="purpose")
        with self.transaction() as rows:
            book = DataSetAccounts.find(rows, name, lock=True)
            return charging.reserve(book, guarantees, parts=parts, purpose=purpose)

    def would_exceed(
        self, name: str, *guarantees: AnyGuarantee, parts: Sequence[str] | None = None, reserved: bool = False
    ) -> bool:
        """Return whether these charges, one after the other, would exceed the budget; nothing is charged.

        With ``reserved``: whether one charge that reserves them would.

        Examples
        --------
        >>> import tempfile
        >>> from tacit.privacy import Unit
        >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
        >>> one = Guarantee(unit=Unit.LABEL, epsilon=1.0)
        >>> _ = ledger.register([0, 1], name="clicks", budget=one)
        >>> ledger.would_exceed("clicks", one), ledger.would_exceed("clicks", one, one)
        (False, True)
        """
        return self.share_after(name, *guarantees, parts=parts, reserved=reserved) > 1

    def share_after(
        self, name: str, *guarantees: AnyGuarantee, parts: Sequence[str] | None = None, reserved: bool = False
    ) -> float:
        """Return the share of the budget that would be used after these charges; infinite if they do not fit.

        A guarantee for one record counts as one for its label, as a :class:`tacit.privacy.payment.Payment` charges it.
        """
        with self._reading() as rows:
            book = DataSetAccounts.find(rows, name)
            after = charging.accounts_after(book, guarantees, parts=parts, reserved=reserved)
            return max(account.used for account in after.values())

    def fitting(
        self, name: str, *, charges: int = 1, parts: Sequence[str] | None = None, reserved: bool = False
    ) -> float:
        """Return the largest pure epsilon of each of so many more charges, rounded down; 0 if none fits.

        With ``reserved``: if one charge reserves all of them.
        """
        count = check_count(charges, name="charges")
        with self._reading() as rows:
            book = DataSetAccounts.find(rows, name)
            accounts = (book.account(part) for part in book.choose(parts))
            return min(account.fitting(charges=count, reserved=reserved) for account in accounts)

    def verify(self, against: str | Path | Mapping[str, Any] | None = None) -> int:
        """Return the number of entries, if none is missing or changed and all accounts are what the entries say.

        Parameters
        ----------
        against
            An earlier receipt or export of this ledger, or its file: its entries must be there with the same history,
            so a ledger that lost its last entries, or an older copy of it, is rejected.
        """
        with self._reading() as rows:
            count = verify(rows)
            if against is not None:
                check_against(rows, against)
            return count

    def void(self, entry: str, *, reason: str) -> Receipt:
        """Correct a charge whose release was never made; charge and correction both stay on record."""
        check_text(reason, name="reason")
        name, number = split_id(entry)
        with self.transaction() as rows:
            return charging.void(DataSetAccounts.find(rows, name, lock=True), number, reason=reason)

    def recognize(self, batches: Iterable[pa.RecordBatch], *, private: Sequence[str]) -> tuple[dict[int, bytes], bytes]:
        """Return, from one pass over rows, the private columns' fingerprints, and a digest of all columns."""
        with self._reading() as rows:
            counts = registry.known_counts(rows)
        return fingerprint_rows(batches, private=private, secret=self._secret, at=counts)

    def key_of(self, *parts: bytes) -> bytes:
        """Return the key of a request: an HMAC under the ledger's secret, so that nobody can guess its content."""
        return hmac.digest(self._secret, b"".join(hashlib.sha256(part).digest() for part in parts), "sha256")

    def request_of(self, entry: str) -> bytes:
        """Return the key of the request that a charge was made for; a charge by hand is refused."""
        name, number = split_id(entry)
        with self._reading() as rows:
            return requests.request_of(DataSetAccounts.find(rows, name), number)

    def charge_of(
        self, entry: str, guarantee: Guarantee, *, key: bytes | None, prints: Mapping[int, bytes] | None
    ) -> ReleaseCharge:
        """Return the charge of a release by its id, if it was made for this guarantee, these rows and this plan.

        Parameters
        ----------
        key, prints
            The request's key and the fingerprints of its rows; None if rows have no order: the caller is then
            responsible that they are the same.
        """
        name, number = split_id(entry)
        with self.transaction() as rows:
            book = DataSetAccounts.find(rows, name)
            charge = requests.charge_of_entry(book, number, charging.in_unit_of(book, guarantee), key=key)
            registry.find_data_set(rows, prints, dataset=name)
            return charge

    def set_budget(self, name: str, budget: Guarantee) -> DataSetStatement:
        """Give a data set another budget in the same unit; a budget below the spend is rejected."""
        with self.transaction() as rows:
            charging.set_budget(DataSetAccounts.find(rows, name, lock=True), budget)
            return DataSetAccounts.find(rows, name).statement()

    def statement(self, name: str) -> DataSetStatement:
        """Return a data set's budget, spend, parts, versions and entries."""
        with self._reading() as rows:
            return DataSetAccounts.find(rows, name).statement()

    def rebuild(self, name: str) -> DataSetStatement:
        """Recompute a data set's spend from its entries, and store it."""
        with self.transaction() as rows:
            charging.rebuild(DataSetAccounts.find(rows, name, lock=True))
            return DataSetAccounts.find(rows, name).statement()

    def export(self, path: str | Path, *, secret: bool = True, force: bool = False) -> Path:
        """Write everything as JSON, readable by its owner only, completely or not at all.

        Parameters
        ----------
        path
            Where to write; an existing file is replaced only if it is an export and ``force`` is set.
        secret
            With the secret the export is a backup (:meth:`create` restores it). Without it the export can be shared:
            nobody can guess data from its fingerprints.
        """
        with self._reading() as rows:
            document = export(rows, secret=secret)
        with write_atomically(path, force=force, mode=0o600, over=EXPORT) as file:
            file.write(f"{json.dumps(document, indent=1)}\n".encode())
        return Path(path)

    @contextmanager
    def transaction(self) -> Iterator[SealedRows]:
        """Open a transaction that writes, for a :class:`tacit.privacy.payment.Payment`; others wait for it."""
        with self._database.writing() as connection:
            yield SealedRows(connection, self._secret)

    def _fingerprints(self, data: object) -> dict[int, bytes]:
        with self._reading() as rows:
            counts = registry.known_counts(rows)
        return fingerprints(data, secret=self._secret, at=counts)

    @contextmanager
    def _reading(self) -> Iterator[SealedRows]:
        with self._database.reading() as connection:
            yield SealedRows(connection, self._secret)
