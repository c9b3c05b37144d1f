"""Tokens and codes: shown once, kept as hashes; and CSRF tokens, which show that a form came from our own page."""

from __future__ import annotations

import hashlib
import hmac
import secrets

__all__ = ["csrf_token", "csrf_token_fits", "hash_token", "new_token"]

_LONGEST = 256


def new_token(kind: str) -> str:
    """Return 256 random bits as text, with a prefix that names its role."""
    return f"tacit_{kind}_{secrets.token_urlsafe(32)}"


def hash_token(token: str) -> bytes:
    """Return SHA-256 of a token.

    A slow password hash is for secrets that people choose. A token has 256 random bits: nobody finds it from its
    hash by trying, and a fast hash cannot be used to keep the server busy. The database is asked for the hash, so
    what its comparison's time could tell is about hashes, from which no token can be made.
    """
    return hashlib.sha256(token[:_LONGEST].encode("utf-8", errors="surrogatepass")).digest()


def csrf_token(secret: bytes, *, visitor: str) -> str:
    """Return the hidden field of a form: a keyed digest of the visitor's cookie, which another site cannot know."""
    return hmac.new(secret, visitor.encode("utf-8", errors="surrogatepass"), "sha256").hexdigest()


def csrf_token_fits(token: str, *, secret: bytes, visitor: str) -> bool:
    """Return in constant time whether a form's hidden field belongs to the visitor's cookie."""
    told = token.encode("utf-8", errors="surrogatepass")
    return bool(visitor) and hmac.compare_digest(told, csrf_token(secret, visitor=visitor).encode())
