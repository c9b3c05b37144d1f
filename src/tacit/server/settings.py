"""The locations of a server's data, and its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tacit.scores.metrics import CustomMetric
from tacit.server.limits import ServerLimits

__all__ = ["ServerSettings", "utc_now"]


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The locations of a server's data, and its limits.

    Parameters
    ----------
    folder
        Holds the SQLite files and the key, unless these are elsewhere; made with mode 0700. Nothing in it is served.
    database
        A file or a ``postgresql://`` URL; default: ``server.db`` in the folder.
    ledger
        A privacy ledger that others use too; its secret is not under this server's key. Default: one of its own,
        ``ledger.db`` in the folder, or in the same PostgreSQL database.
    key_file
        The key that encrypts labels, made with mode 0600 at a server's first start; default: ``labels.key`` in the
        folder.
        The environment variable TACIT_SERVER_KEY goes first; with it no key is on disk.
    custom_metrics
        The operator's own metrics; a function never comes from outside.
    secure_cookies
        Whether cookies are sent over HTTPS alone; right for every server that others reach.
    trusted_proxies
        The addresses of proxies whose X-Forwarded-For names the caller; anyone else's is not read.
    metrics_token
        With this token, as with the admin token, the metrics can be read, and nothing else.
    """

    folder: Path
    database: str | None = None
    ledger: str | None = None
    key_file: Path | None = None
    custom_metrics: tuple[CustomMetric, ...] = ()
    limits: ServerLimits = field(default_factory=ServerLimits)
    secure_cookies: bool = False
    trusted_proxies: tuple[str, ...] = ()
    metrics_token: str | None = field(default=None, repr=False)
    clock: Callable[[], datetime] = utc_now

    @property
    def database_location(self) -> str:
        """The database's file or URL."""
        return self.database or str(self.folder / "server.db")

    @property
    def key_location(self) -> Path:
        """The key's file."""
        return self.key_file or self.folder / "labels.key"

    @property
    def next_key_location(self) -> Path:
        """The file of a new key, until everything is sealed under it."""
        return self.key_location.with_name(f"{self.key_location.name}.new")

    @property
    def ledger_location(self) -> str:
        """The ledger's file or URL."""
        if self.ledger:
            return self.ledger
        return self.database if self.database and "://" in self.database else str(self.folder / "ledger.db")
