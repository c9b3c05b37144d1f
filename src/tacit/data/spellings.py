"""Words that differ only in case or in spaces, such as ``Paid`` and ``PAID``."""

from __future__ import annotations

import pyarrow as pa

from tacit.data.encoder.kinds import is_word, words_of

__all__ = ["spellings_of"]

_MOST = 1_000  # different words; more are names


def spellings_of(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return the spellings of the first word that a column writes in several ways; nothing if there is none.

    Examples
    --------
    >>> spellings_of(pa.chunked_array([["Paid", "PAID", "late", " paid"]]))
    (' paid', 'PAID', 'Paid')
    >>> spellings_of(pa.chunked_array([["Paid", "late"]]))
    ()
    """
    if not is_word(column.type):
        return ()
    words = words_of(column).unique().drop_null().to_pylist()
    if len(words) > _MOST:
        return ()
    alike: dict[str, list[str]] = {}
    for word in sorted(words):
        alike.setdefault(" ".join(word.split()).casefold(), []).append(word)
    return next((tuple(group) for group in alike.values() if len(group) > 1), ())
