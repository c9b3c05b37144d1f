"""Write a file completely or not at all, and never over another one by accident."""

from __future__ import annotations

import errno
import mmap
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tacit.privacy.errors import InvalidInput
from tacit.privacy.unfinished import held, sweep, unfinished_name

__all__ = [
    "RELEASE",
    "ReplaceableFile",
    "check_not_read",
    "check_writable",
    "is_inside",
    "sync_folder",
    "taken",
    "write_atomically",
]

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class ReplaceableFile:
    """The only kind of file that a command may replace: another one may be all that someone has."""

    what: str
    """Its name in an error."""
    mark: re.Pattern[bytes]
    """A pattern that occurs in it."""


RELEASE = ReplaceableFile("a release", re.compile(rb"tacit[_ ]release"))
"""What a release may replace."""


@contextmanager
def write_atomically(
    path: str | os.PathLike[str], *, force: bool = False, mode: int = 0o666, over: ReplaceableFile | None = None
) -> Iterator[BinaryIO]:
    """Open a new file beside ``path`` that takes its name, synced to disk, when the block ends without an error.

    Readers see no file (or the old one) and then the whole new one. After an error or Ctrl-C the unfinished
    file is removed and ``path`` is unchanged. Of two writers without ``force`` one fails, even if both began before
    the file existed. The unfinished file's path is the ``name`` of the handle.

    Parameters
    ----------
    path
        A new file in an existing folder.
    force
        Replace an existing file; its permissions never become wider. Links, folders, devices and databases, such as a
        ledger, are not replaced.
    mode
        The permissions, less the user's umask; 0o600 for secrets.
    over
        The kind of existing file that may be replaced; default: any other.

    Raises
    ------
    InvalidInput
        The file exists and ``force`` is false, or the place cannot be written.
    """
    target = Path(path)
    mode = _check_target(target, force=force, mode=mode, over=over)
    sweep(target.parent)
    unfinished = unfinished_name(target)
    try:
        with _create(unfinished, target, mode) as file, held(os.dup(file.fileno())) as lock:
            yield file  # the block may close its handle; the lock's is open until the file has its name
            if not file.closed:
                file.flush()
            os.fsync(lock)
            _publish(unfinished, target, force=force)
    except OSError as error:
        if error.errno in _DISK_FULL:
            raise _unwritable(target, error) from error
        raise
    finally:
        with suppress(OSError):  # a folder that cannot be written has nothing to remove, and fails elsewhere
            unfinished.unlink()
    sync_folder(target.parent)


class _NotWanted(Exception):
    """Ends a trial of writing."""


def check_writable(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    sources: Iterable[Path] = (),
    over: ReplaceableFile | None = None,
) -> None:
    """Raise as writing would, and change nothing, so that no release is charged that cannot be written.

    Parameters
    ----------
    path, force, over
        What will be given to :func:`write_atomically`.
    sources
        The input files. ``path`` must be another file, even with ``force``, or the private table would be lost.
    """
    check_not_read(Path(path), sources)
    with suppress(_NotWanted), write_atomically(path, force=force, over=over):
        raise _NotWanted


def check_not_read(target: Path, sources: Iterable[Path]) -> None:
    """Raise if a target is an input file, or a folder that contains one."""
    for source in sources:
        if _same(source, target):
            raise InvalidInput(f"{target} is an input file, which would be lost; choose another path")
        if is_inside(source, target):
            raise InvalidInput(f"{target} contains {source}, an input file, which would be lost; choose another path")


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path is a folder or inside it, through any links."""
    whole = path.resolve()
    return any(_same(one, folder) for one in (whole, *whole.parents))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist or cannot be read: reading or writing raises
        return one.resolve() == other.resolve()


def _check_target(target: Path, *, force: bool, mode: int, over: ReplaceableFile | None) -> int:
    try:
        found = target.lstat()
    except FileNotFoundError:
        return mode
    except OSError as error:
        raise _unwritable(target, error) from None
    if not force:
        raise taken(target)
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput(f"{target} is not a plain file and is not overwritten; choose another path")
    if found.st_size:
        _check_replaceable(target, over)
    return mode & stat.S_IMODE(found.st_mode)


def _check_replaceable(target: Path, over: ReplaceableFile | None) -> None:
    try:
        with target.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            is_database = content[: len(_SQLITE)] == _SQLITE
            is_other = over is not None and over.mark.search(content) is None
    except OSError as error:
        raise _unwritable(target, error) from None
    if is_database:
        raise InvalidInput(f"{target} is a database, perhaps a ledger, and is not overwritten; choose another path")
    if over is not None and is_other:
        raise InvalidInput(f"{target} is not {over.what} and is not overwritten; choose another path")


def _create(unfinished: Path, target: Path, mode: int) -> BinaryIO:
    try:
        return open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, mode))
    except OSError as error:
        raise _unwritable(target, error) from None


def _publish(unfinished: Path, target: Path, *, force: bool) -> None:
    if force:
        os.replace(unfinished, target)
        return
    try:
        os.link(unfinished, target)  # unlike a rename, fails where the name is taken
    except FileExistsError:
        raise taken(target) from None
    except OSError:  # a file system without hard links: take the name first, empty, then fill it
        _reserve(target)
        try:
            os.replace(unfinished, target)
        except BaseException:
            target.unlink()
            raise


def _reserve(target: Path) -> None:
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise taken(target) from None


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk."""
    with suppress(OSError):  # Windows opens no folders
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def taken(target: Path) -> InvalidInput:
    """Return the error of a name that is taken."""
    return InvalidInput(f"{target} exists already; choose another path, or replace it with --force")


def _unwritable(target: Path, error: OSError) -> InvalidInput:
    if re.match(r"\w+:/", str(target)):
        url = str(target).replace(":/", "://", 1)  # Path drops a slash
        return InvalidInput(f"{url} is a URL; write to a local file and copy that to its place")
    return InvalidInput(f"{target} cannot be written: {error.strerror}; choose another path")
