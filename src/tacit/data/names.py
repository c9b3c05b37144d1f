"""Column names: checked for duplicates, and found or suggested."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from tacit.privacy.errors import InvalidInput

__all__ = ["check_names", "check_present"]

_LISTED = 12
_QUOTES = "\"'"


def check_names(names: Iterable[str], *, source: str) -> None:
    """Raise if there are no names, or if two are equal, or equal but for case, which SQL does not distinguish."""
    seen: dict[str, str] = {}
    for name in names:
        earlier = seen.get(name.casefold())
        seen[name.casefold()] = name
        if earlier == name:
            raise InvalidInput(f"{source} has two columns named {name!r}; rename one of them")
        if earlier is not None:
            raise InvalidInput(f"{source} has columns {earlier!r} and {name!r}, the same but for case; rename one")
    if not seen:
        raise InvalidInput(f"{source} has no named columns; a table needs at least one")


def check_present(name: str, columns: Sequence[str], *, argument: str) -> str:
    """Return ``name`` if it is a column, or raise with the nearest name and the list of columns."""
    if name in columns:
        return name
    folded = {str(column).strip().casefold(): column for column in columns}
    near = difflib.get_close_matches(str(name).strip().casefold(), folded, n=1)
    hint = f"; did you mean {folded[near[0]]!r}?" if near else ";"
    if split := next((column for column in columns if str(column).startswith(f"{str(name).lstrip(_QUOTES)},")), None):
        hint = f"; did you mean {split!r}? a comma inside a name is written \\, on the command line;"
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    listed = ", ".join(map(str, columns[:_LISTED]))
    raise InvalidInput(f"names no column {name!r}{hint} the columns are {listed}{more}", field=argument)
