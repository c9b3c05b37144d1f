"""The line of a key in a TOML file, which ``tomllib`` does not give."""

from __future__ import annotations

import re

__all__ = ["key_at", "line_of"]

_HEAD = re.compile(r"\s*\[{1,2}\s*([\w.-]+)\s*\]{1,2}\s*(?:#.*)?$")


def line_of(text: str, table: str, key: str | None = None, *, number: int = 0) -> int:
    r"""Return the line of a key in the ``number``-th table of this name, or of the table's head; 1 if it has none.

    Examples
    --------
    >>> line_of("[[bags]]\nby = [\n  ['a'],\n]\n[[bags]]\nby = []\n", "bags", "by", number=1)
    6
    """
    lines = text.splitlines()
    heads = [at for at, line in enumerate(lines) if (head := _HEAD.match(line)) and head[1] == table]
    if not heads:
        written = [table] if key is None else [f"{table}.{key}", table]
        found = (at for name in written for at, line in enumerate(lines) if _sets(line, name))
        return next(found, 0) + 1
    start = heads[min(number, len(heads) - 1)]
    for at in range(start + 1, len(lines)):
        if _HEAD.match(lines[at]):
            break
        if key is not None and _sets(lines[at], key):
            return at + 1
    return start + 1


def key_at(text: str, line: int) -> str:
    r"""Return the key or table that a line sets; nothing if it sets none.

    Examples
    --------
    >>> key_at("[data]\nfile = 3\n", 2), key_at("[data]\n", 1), key_at("!", 1)
    ('file', 'data', '')
    """
    lines = text.splitlines()
    found = (
        re.match(r"""\s*\[{0,2}\s*["']?([\w.-]+)["']?\s*(?:=|\])""", lines[line - 1]) if line <= len(lines) else None
    )
    return found[1] if found else ""


def _sets(line: str, key: str) -> bool:
    return re.match(rf"""\s*["']?{re.escape(key)}["']?\s*(=|\.)""", line) is not None
