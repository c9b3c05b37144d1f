"""Labels at rest: encrypted under a key that is not in the database."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.files import write_atomically

__all__ = ["VARIABLE", "ServerKey"]

VARIABLE = "TACIT_SERVER_KEY"
"""The environment variable that may hold the key: 32 bytes in base64."""

_BYTES, _NONCE = 32, 12


@dataclass(frozen=True, slots=True)
class ServerKey:
    """256 bits that encrypt what must not be read in the database: AES-GCM with a random nonce.

    A text is bound to its place: what was sealed for one competition does not open for another. With random
    96-bit nonces one key is good for 2^32 texts. It does not protect against anyone who can read the key as well.

    References
    ----------
    NIST SP 800-38D, section 8.3: at most 2^32 calls under one key with random nonces.
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != _BYTES:
            raise InvalidInput(f"key must be {_BYTES} bytes, got {len(self.secret)}")

    @classmethod
    def new(cls) -> ServerKey:
        """Draw a key from the operating system."""
        return cls(secrets.token_bytes(_BYTES))

    @staticmethod
    def exists(file: Path) -> bool:
        """Return whether :meth:`find` would find a key, and not make one."""
        return VARIABLE in os.environ or os.path.lexists(file)

    @classmethod
    def find(cls, file: Path) -> ServerKey:
        """Take the key from the environment, or from a file, which is made with mode 0600 where it is absent."""
        return cls.told(VARIABLE) or cls.find_file(file)

    @classmethod
    def told(cls, variable: str) -> ServerKey | None:
        """Take the key from an environment variable; None if there is no such variable."""
        told = os.environ.get(variable)
        return None if told is None else cls(_decode(told, where=f"the environment variable {variable}"))

    @classmethod
    def find_file(cls, file: Path) -> ServerKey:
        """Take the key from a file, which is made with mode 0600 where it is absent."""
        if not file.exists():
            _make(file, cls.new())
        _check_mode(file)
        return cls(_decode(file.read_text(encoding="ascii", errors="replace"), where=str(file)))

    def seal(self, plain: bytes, *, place: str) -> bytes:
        """Encrypt for one place."""
        nonce = secrets.token_bytes(_NONCE)
        return nonce + AESGCM(self.secret).encrypt(nonce, plain, place.encode())

    def open(self, sealed: bytes, *, place: str) -> bytes:
        """Decrypt, or raise if the key, the place or a byte is another one."""
        try:
            return AESGCM(self.secret).decrypt(sealed[:_NONCE], sealed[_NONCE:], place.encode())
        except InvalidTag:
            raise TacitError(
                f"what is stored for {place} does not open with this key; use the key it was made with"
            ) from None

    def derive(self, purpose: str) -> bytes:
        """Return another key for another purpose, from which this one cannot be found."""
        return hmac.digest(self.secret, purpose.encode(), "sha256")


def _make(file: Path, key: ServerKey) -> None:
    try:
        with write_atomically(file, mode=0o600) as draft:
            draft.write(base64.b64encode(key.secret) + b"\n")
    except InvalidInput:
        if not file.exists():  # else another process, starting at the same moment, made it: there is one key
            raise


def _decode(text: str, *, where: str) -> bytes:
    try:
        secret = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if len(secret) != _BYTES:
        raise InvalidInput(f"key in {where} must be {_BYTES} bytes in base64; it is not shown here")
    return secret


def _check_mode(file: Path) -> None:
    if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise InvalidInput(f"key file {file} must be readable by its owner only; run: chmod 600 {file}")
