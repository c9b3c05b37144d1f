"""The competitions' labels in the privacy ledger: registered once, charged before anything is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.privacy.composition import compose
from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import DataSetPart, DataSetStatement, Ledger
from tacit.privacy.ledger.requests import DeliveredRelease
from tacit.privacy.payment import Payment
from tacit.server.errors import Conflict
from tacit.server.key import ServerKey

__all__ = ["LedgerAccounts"]

PUBLIC, PRIVATE = "public", "private"
"""The parts of a split competition's labels: behind the leaderboard, and behind the final ranking."""

_SERVER = "scoring server"
_ANSWERS = DeliveredRelease(digest=b"", file=_SERVER)  # kept in the server's own database


class LedgerAccounts:
    """The ledger as the server uses it.

    A charge has a key; asked again for the same key, the ledger finds the standing charge instead of making a second
    one. So a server that was killed after a charge does not pay again. The ledger's secret, with which guesses of
    labels could be confirmed, is stored under the server's key; in a ledger that others use too, it is stored in clear.
    """

    def __init__(self, location: str | Path, *, key: ServerKey | None) -> None:
        self.own = key is not None
        exists = Ledger.exists(location)
        self._ledger = Ledger.open(location, sealing=key) if exists else _create(location, key)

    def knows(self, labels: Sequence[str]) -> DataSetStatement | None:
        """Return the ledger's statement about labels that it knows."""
        try:
            return self.statement(self._ledger.identify(list(labels)).data_set)
        except LedgerError:
            return None

    def open(self, name: str, labels: Sequence[str], *, budget: Guarantee, split: bool) -> str:
        """Register labels that the ledger does not know; return their name in the ledger."""
        parts = [DataSetPart(name=PUBLIC), DataSetPart(name=PRIVATE)] if split else []
        return self._ledger.register(list(labels), name=name, budget=budget, parts=parts).name

    def open_again(self, known: DataSetStatement, *, budget: Guarantee, again: bool) -> str:
        """Take labels that the ledger knows: what they spent stays, and their budget grows by what is needed now.

        Labels that were never charged need no word of the host: a server was killed before it stored the competition.
        """
        if known.entries and not again:
            raise Conflict(
                f"these labels are known to the ledger as {known.name!r}; earlier charges still count: "
                "allow that with again, or use other labels"
            )
        self._ledger.set_budget(known.name, _together(known.budget, budget) if known.entries else budget)
        return known.name

    def charge(self, data_set: str, guarantee: Guarantee, *key: str, purpose: str, part: str | None = None) -> str:
        """Charge once for a key, and return the entry's id.

        The charge counts as delivered: the server may answer at any moment, so nobody can void it.

        Parameters
        ----------
        part
            The part that holds all labels behind the release; None: all labels are charged.
        """
        payment = Payment(ledger=self._ledger, dataset=data_set, parts=None if part is None else [part])
        words = (word.encode() for word in (_SERVER, *key))
        charge = payment.settle(self._ledger.key_of(*words), guarantee, purpose=purpose)
        payment.record_delivery(charge.entry, _ANSWERS)
        return charge.entry

    def standing(self, data_set: str) -> dict[str, str]:
        """Return the charges that nobody voided: what each is for, and its id."""
        entries = self.statement(data_set).entries
        return {entry.purpose: entry.id for entry in entries if entry.voids is None and entry.voided_by is None}

    def reach(self) -> None:
        """Raise unless the ledger can be read."""
        _ = self._ledger.data_sets

    def charged(self) -> tuple[str, ...]:
        """Return the names of all labels in the ledger for which a charge stands."""
        return tuple(name for name in self._ledger.data_sets if self.standing(name))

    def statement(self, data_set: str) -> DataSetStatement:
        """Return all that the ledger says about labels."""
        return self._ledger.statement(data_set)


def _create(location: str | Path, key: ServerKey | None) -> Ledger:
    try:
        return Ledger.create(location, sealing=key)
    except (LedgerError, InvalidInput):
        if not Ledger.exists(location):  # else another process, starting at the same moment, made it
            raise
        return Ledger.open(location, sealing=key)


def _together(first: Guarantee, second: Guarantee) -> Guarantee:
    delta = max(first.delta, second.delta)
    whole = compose([Guarantee(unit=g.unit, epsilon=g.epsilon) for g in (first, second)])
    return Guarantee(unit=first.unit, epsilon=whole.epsilon, delta=delta)
