"""The store of finished releases, so that a charged release is delivered even after a kill or a full disk."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import IO

from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import RELEASE, write_atomically
from tacit.privacy.folders import MANIFEST, write_folder

__all__ = ["ReleaseStore", "digest_of", "name_of"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ReleaseStore:
    """A folder that only its owner can read; one file or folder per release, named by its charge."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> ReleaseStore:
        """Return the store in a folder, which is created if it is missing."""
        try:
            folder.mkdir(mode=0o700, parents=False, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"{folder} cannot store releases: {error.strerror}") from None
        _check_private(folder)
        return cls(folder)

    @contextmanager
    def locked(self, name: str, *, wait: bool = True) -> Iterator[None]:
        """Hold a lock that ends with its process; whoever asks for the same one waits, or gets a BlockingIOError.

        Its file is removed if the holder raises: a refusal leaves nothing in the store.
        """
        path, held = self.folder / f"{name}.lock", False
        while not held:
            with path.open("ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = _is_file_at(path, file)  # another holder may have removed it
                if held:
                    with _removed_on_error(path):
                        yield

    def path(self, file: str) -> Path:
        """Return the path of a release in the store."""
        return self.folder / file

    def remove_voided(self, name: str, entry: str) -> None:
        """Remove what was drawn for a voided charge; a process that still draws for it removes it itself."""
        if not self.folder.is_dir():
            return
        with suppress(BlockingIOError), self.locked(name, wait=False):
            for path in self.folder.iterdir():
                if path.name.partition(".")[0] == name_of(name, entry):
                    self.remove_unfinished(path.name)

    def remove_unfinished(self, file: str) -> None:
        """Remove a release that was never recorded, and so never published."""
        path = self.path(file)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def holds(self, file: str, digest: bytes) -> bool:
        """Return whether a release's file, or its folder's manifest, is here unchanged."""
        try:
            return digest_of(self.path(file)) == digest
        except FileNotFoundError:
            return False

    def publish(self, file: str, out: Path, *, force: bool) -> None:
        """Copy a release to its target, completely or not at all."""
        source = self.path(file)
        if not source.is_dir():
            with source.open("rb") as content, write_atomically(out, force=force, over=RELEASE) as copy:
                shutil.copyfileobj(content, copy, _CHUNK)
            return
        with write_folder(out, force=force) as folder:
            for member in source.iterdir():
                shutil.copyfile(member, folder / member.name)


def _is_file_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


@contextmanager
def _removed_on_error(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def name_of(request: str, entry: str) -> str:
    """Return the name of the release that a charge paid for, without its ending."""
    return f"{request[:32]}-{entry.rpartition('/')[2]}"


def _check_private(folder: Path) -> None:
    """Raise if others could read or replace the content of a folder."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise InvalidInput(f"{folder} cannot store releases: it is a link; name the folder itself as the store")
    if found.st_uid != os.getuid():
        raise InvalidInput(f"{folder} cannot store releases: it belongs to another user; name another folder")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise InvalidInput(f"{folder} cannot store releases: others have access; run: chmod 700 {quote(str(folder))}")


def digest_of(path: Path) -> bytes:
    """Return the SHA-256 of a file, or of a folder's manifest, which has that of every member."""
    digest = hashlib.sha256()
    with (path / MANIFEST if path.is_dir() else path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.digest()
