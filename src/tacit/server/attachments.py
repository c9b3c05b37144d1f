"""Files that a host attaches to a competition: training data, a sample submission. Whoever may see it reads them."""

from __future__ import annotations

import re

from sqlalchemy import Connection, delete, func, insert, select

from tacit.privacy.errors import InvalidInput
from tacit.server.competition import find
from tacit.server.errors import NotFound
from tacit.server.schema import FILE
from tacit.server.trail import Author, record

__all__ = ["attach", "attached", "attachments", "detach"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KIND, _MOST = "attached: ", 20


def attach(connection: Connection, slug: str, name: str, content: bytes, *, by: Author, now: str) -> None:
    """Attach a file, or replace the one of this name."""
    competition = find(connection, slug, lock=True)
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"must be 1 to 100 letters, digits, dots, hyphens and underscores, got {name[:40]!r}", field="name"
        )
    if not content:
        raise InvalidInput(f"{name} is empty; choose the file again")
    names = [known for known, _ in attachments(connection, competition["id"])]
    if name not in names and len(names) >= _MOST:
        raise InvalidInput(f"a competition has at most {_MOST} files; remove one first")
    _drop(connection, competition["id"], name)
    connection.execute(insert(FILE).values(competition=competition["id"], kind=f"{_KIND}{name}", content=content))
    record(connection, slug, "attach", name, by=by, now=now)


def detach(connection: Connection, slug: str, name: str, *, by: Author, now: str) -> None:
    """Remove a file."""
    competition = find(connection, slug, lock=True)
    if not _drop(connection, competition["id"], name):
        raise NotFound(f"there is no file {name[:100]!a} in {slug}")
    record(connection, slug, "detach", name, by=by, now=now)


def attachments(connection: Connection, competition: int) -> tuple[tuple[str, int], ...]:
    """Return the names and sizes of the files, by name."""
    query = select(FILE.c.kind, func.length(FILE.c.content)).where(
        FILE.c.competition == competition, FILE.c.kind.startswith(_KIND)
    )
    rows = connection.execute(query.order_by(FILE.c.kind)).all()
    return tuple((row[0].removeprefix(_KIND), int(row[1])) for row in rows)


def attached(connection: Connection, slug: str, name: str) -> bytes:
    """Return a file, or raise NotFound."""
    mine = (FILE.c.competition == find(connection, slug)["id"], FILE.c.kind == f"{_KIND}{name}")
    found = connection.execute(select(FILE.c.content).where(*mine)).scalar() if _NAME.fullmatch(name) else None
    if found is None:
        raise NotFound(f"there is no file {name[:100]!a} in {slug}")
    return bytes(found)


def _drop(connection: Connection, competition: int, name: str) -> int:
    mine = (FILE.c.competition == competition, FILE.c.kind == f"{_KIND}{name}")
    return int(connection.execute(delete(FILE).where(*mine)).rowcount)
