"""The ledger's secret at rest: in clear, or sealed under a key that is kept elsewhere."""

from __future__ import annotations

from typing import Protocol

from tacit.privacy.errors import LedgerError

__all__ = ["SealedLedger", "SealingKey", "is_clear", "open_secret", "seal_secret"]

_BYTES = 32
_PLACE = "the ledger's secret"


class SealingKey(Protocol):
    """A key that encrypts texts, each for one place: a scoring server's."""

    def seal(self, plain: bytes, *, place: str) -> bytes:
        """Encrypt for one place; what is sealed is longer than the text."""

    def open(self, sealed: bytes, *, place: str) -> bytes:
        """Decrypt, or raise."""


class SealedLedger(LedgerError):
    """The ledger's secret is sealed, and no key was given."""


def is_clear(stored: bytes) -> bool:
    """Return whether the secret is stored as it is."""
    return len(stored) == _BYTES


def seal_secret(secret: bytes, key: SealingKey) -> bytes:
    """Return what is stored of a secret under a key."""
    return key.seal(secret, place=_PLACE)


def open_secret(stored: bytes, key: SealingKey | None) -> bytes:
    """Return the secret."""
    if is_clear(stored):
        return stored
    if key is None:
        raise SealedLedger(
            "the ledger's secret is sealed under a scoring server's key; set TACIT_SERVER_KEY, or put that server's "
            "labels.key beside the ledger"
        )
    return key.open(stored, place=_PLACE)
