"""Who pays for a release of labels: a ledger, charged once for labels that were not released before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa

from tacit.labels.releases.memo import Memo, memo_key
from tacit.labels.releases.source import LABEL, Source
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.files import check_writable
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, Receipt
from tacit.privacy.payment import recognise
from tacit.privacy.release import Release, ReleaseWriter

__all__ = ["Order", "Payment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """Who pays for a release, and where it is remembered.

    Parameters
    ----------
    ledger
        Charged before anything is randomized.
    dataset
        The data set to charge; default: the one that the ledger recognises by the label column.
    memo
        The folder of earlier releases; default: beside the ledger's file.
    again
        Make, and pay for, a second release of labels that were released before.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> Payment(ledger=Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")).again
    False
    """

    ledger: Ledger
    dataset: str | None = None
    memo: Memo | None = None
    again: bool = False

    def order(self, source: Source, *, label: str, request: Mapping[str, Any]) -> Order:
        """Look up what these labels and this request are to the ledger; nothing is charged yet.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from tacit.data import load_table
        >>> from tacit.labels.releases.source import TableSource
        >>> from tacit.privacy import Unit
        >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
        >>> _ = ledger.register([0, 1], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
        >>> source = TableSource(table=load_table(pa.table({"y": [0, 1]})))
        >>> Payment(ledger=ledger).order(source, label="y", request={"name": "randomized_response"}).dataset
        'clicks'
        """
        if not source.ordered:
            if self.dataset is None:
                raise InvalidInput("dataset must name what to charge: a table without a row order is not recognised")
            return Order(payment=self, dataset=self.dataset, version=None, memo=None, key=None)
        memo = Memo.beside(self.ledger) if self.memo is None else self.memo
        key = memo_key(self.ledger.fingerprint(_labels(source, label)), request)
        dataset, version = recognise(self.ledger, _labels(source, label), dataset=self.dataset)
        return Order(payment=self, dataset=dataset, version=version, memo=memo, key=key)


_CHARGE = "charge"  # in the memo's header: the ledger's entry that paid for the release


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A release that was asked for: found among the earlier ones, or charged; made by :meth:`Payment.order`."""

    payment: Payment
    dataset: str
    version: int | None
    memo: Memo | None
    key: str | None

    def find(self, *, rows: int) -> Release | None:
        """Return the earlier release of the same labels by the same mechanism, unless another one is wanted."""
        if self.memo is None or self.key is None or self.payment.again:
            return None
        found = self.memo.find(self.key)
        if found is None or not self._is_paid(found):
            return None
        if not isinstance(found.value, pa.Table) or found.value[LABEL].length() != rows:
            raise InvalidRelease(f"{self.memo.path(self.key)} is not the release of these {rows} labels; remove it")
        return replace(found, mechanism={k: v for k, v in found.mechanism.items() if k != _CHARGE})

    def _is_paid(self, found: Release) -> bool:
        """Whether the charge that paid for a remembered release still stands: a void one buys nothing."""
        entries = self.payment.ledger.statement(self.dataset).entries
        return any(e.id == found.mechanism.get(_CHARGE) and e.voided_by is None for e in entries)

    def charge(self, guarantee: Guarantee, *, purpose: str) -> Receipt:
        """Charge the ledger; a place for the release to be kept in is found first."""
        if self.memo is not None and self.key is not None:
            self.memo.folder.mkdir(mode=0o700, exist_ok=True)
            check_writable(self.memo.path(self.key), force=True)
        return self.payment.ledger.charge(self.dataset, guarantee, purpose=purpose, version=self.version)

    def memo_writer(
        self,
        receipt: Receipt,
        *,
        mechanism: Mapping[str, Any],
        **header: Any,  # noqa: ANN401
    ) -> Callable[..., AbstractContextManager[ReleaseWriter]] | None:
        """Return what opens the memo's file for a release with this header; None where none is kept."""
        if self.memo is None or self.key is None:
            return None
        return partial(self.memo.keep, self.key, mechanism={**mechanism, _CHARGE: receipt.id}, **header)


def _labels(source: Source, label: str) -> pa.RecordBatchReader:
    batches = source.read([label])
    first = next(batches)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
