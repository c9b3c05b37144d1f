"""A cache of findings, keyed by what they depend on; it never contains a private column."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

import tacit
from tacit import __version__
from tacit.audit.checked_guarantee import CheckedGuarantee
from tacit.audit.plan import PlannedRelease
from tacit.audit.source import AuditedTable
from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import write_atomically

__all__ = ["FindingCache", "Found", "default_folder"]

_KEY = "key"
Found = TypeVar("Found", bound=CheckedGuarantee)
"""What is kept: a finding about one release or several."""
_MAKERS = ("numpy", "scipy", "scikit-learn", "opendp", "randomgen", "duckdb", "torch", "opacus")


def default_folder() -> Path:
    """Return where findings are kept: ``$XDG_CACHE_HOME/tacit/audit``, or under ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "tacit" / "audit"


class FindingCache:
    """A folder of findings, each named by a keyed digest of the data, the release, the seed and the code.

    The code is tacit's own files and the versions of what it computes with.

    Files have mode 0600 and the folder 0700. The digest's key is random and stays in the folder, so a file's name alone
    reveals nothing about the data. No file contains a row, or a command, which names the file and the classes.

    Parameters
    ----------
    folder
        Created if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._key = self._read_key()
        except OSError as error:
            raise InvalidInput(
                f"the cache {folder} cannot be used: {error.strerror}; choose another, or none"
            ) from None

    def name(self, *steps: PlannedRelease, seed: int | None, about: Sequence[str] = ()) -> str:
        """Return the name of the finding about some releases of one table."""
        digest, source = hashlib.blake2b(key=self._key, digest_size=20), steps[0].source
        code = [__version__, _code(), _makers()]
        asked = [source.name, source.features, source.groups, seed, [step.plan.request() for step in steps], [*about]]
        digest.update(json.dumps([*code, *asked], sort_keys=True).encode() + b"\0")
        digest.update(_bytes_of(source))
        return digest.hexdigest()

    def find(self, name: str, kind: type[Found]) -> Found | None:
        """Return a cached finding; one that cannot be read counts as none."""
        try:
            return kind.from_json(json.loads(self._path(name).read_bytes()))
        except (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
            return None

    def keep(self, name: str, finding: CheckedGuarantee) -> None:
        """Store a finding; a full disk must not lose it for the report."""
        try:
            with write_atomically(self._path(name), force=True, mode=0o600) as file:
                file.write(json.dumps(finding.to_json()).encode())
        except (OSError, InvalidInput):
            return

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _read_key(self) -> bytes:
        path = self._folder / _KEY
        if not path.exists():
            with write_atomically(path, force=True, mode=0o600) as file:
                file.write(secrets.token_bytes(32))
        return path.read_bytes()


def _bytes_of(source: AuditedTable) -> memoryview:
    """Return the table unchanged: as numbers, a missing value and its column's mean would be equal."""
    columns = source.table.combine_chunks().replace_schema_metadata()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema) as stream:
        stream.write_table(columns)
    return memoryview(sink.getvalue())


@cache
def _makers() -> dict[str, str | None]:
    """Return the versions of the libraries that compute numbers: another version may draw or round differently."""

    def version_of(name: str) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    return {name: version_of(name) for name in _MAKERS}


@cache
def _code() -> str:
    """Return a digest of tacit's own source files, because a finding is valid only for the code that made it."""
    folder = Path(tacit.__file__).parent
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
