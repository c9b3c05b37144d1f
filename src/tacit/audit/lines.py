"""The line of a key in a TOML file, which ``tomllib`` does not give."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["KeyLines", "key_at"]

_HEAD = re.compile(r"\s*\[{1,2}\s*([\w.-]+)\s*\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*["']?([^\s"'.=#\[\]]+)["']?\s*(?:\.\s*["']?([^\s"'.=#\[\]]+)["']?)?\s*[=.]""")


class KeyLines:
    r"""The lines of all tables and keys, found in one pass.

    Examples
    --------
    >>> lines = KeyLines("[[bags]]\nby = [\n  ['a'],\n]\n[[bags]]\nby = []\n")
    >>> lines.find("bags", "by", number=1), lines.find("bags"), lines.find("labels", "by")
    (6, 1, 1)
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, str | None, int], int] = {}
        self._count: Counter[str] = Counter()
        table, number = "", 0
        for at, line in enumerate(text.splitlines(), start=1):
            if head := _HEAD.match(line):
                table, number = head[1], self._count[head[1]]
                self._count[table] += 1
                self._lines[table, None, number] = at
            elif key := _KEY.match(line):
                place = (table, key[1], number) if table else (key[1], key[2], 0)
                self._lines.setdefault(place, at)
                if not table:
                    self._lines.setdefault((key[1], None, 0), at)

    def find(self, table: str, key: str | None = None, *, number: int = 0) -> int:
        """Return the line of a key in the ``number``-th table of a name, or of the table's head; 1 if it has none."""
        number = max(0, min(number, self._count[table] - 1))
        places = ((table, key, number), (table, None, number))
        return next((self._lines[place] for place in places if place in self._lines), 1)


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
