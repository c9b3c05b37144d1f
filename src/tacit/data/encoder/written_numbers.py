"""Text columns that hold numbers: written with signs such as %, or mixed with words for a gap."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tacit.data.encoder.kinds import is_word, words_of
from tacit.data.written import GAP_MARKS

__all__ = ["signs_of_numbers", "words_among_numbers"]

_SIGNS = "%$€£¥(,'"
_NUMBER = r"^[(+-]?\s*[$€£¥]?\s*-?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)?\s*[%$€£¥]?\)?$"
_CODE = r"^0\d+$"  # 00123 is a code
_MOST = 0.9  # of the rows with a value
_LEAST_ROWS = 10  # of a word that is shown


def signs_of_numbers(column: pa.ChunkedArray) -> str:
    """Return the signs that make text of a column of numbers; empty if it holds other text.

    Examples
    --------
    >>> signs_of_numbers(pa.chunked_array([["$1,250.00", "$80.50", "-$3.10"]]))
    "'$' and ','"
    >>> signs_of_numbers(pa.chunked_array([["00123", "00124", "Ann"]]))
    ''
    """
    words = words_of(column).drop_null()
    numbers = words.filter(_are_numbers(words))
    if len(numbers) < max(1, _MOST * len(words)):
        return ""
    found = [sign for sign in _SIGNS if pc.any(pc.match_substring(numbers, sign)).as_py()]
    return " and ".join(f"{sign!r}" for sign in found)


def words_among_numbers(column: pa.ChunkedArray) -> tuple[str, ...] | None:
    """Return the words of ten rows or more in a column that otherwise holds numbers; None if it is another column.

    A mark that is read as a gap is none of them.

    Examples
    --------
    >>> words_among_numbers(pa.chunked_array([[str(age) for age in range(20, 170)] + ["-", "old"] * 5 + ["old"] * 5]))
    ('old',)
    >>> words_among_numbers(pa.chunked_array([["A1", "B2"]])) is None
    True
    """
    if not is_word(column.type):
        return None
    words = words_of(column).drop_null()
    if not len(words):
        return None
    numbers = _are_numbers(words)
    if not _MOST <= pc.mean(numbers).as_py() < 1:
        return None
    counts = pc.value_counts(words.filter(pc.invert(numbers))).to_pylist()
    shown = (one["values"] for one in counts if one["counts"] >= _LEAST_ROWS)
    return tuple(sorted(word for word in shown if word.strip().lower() not in GAP_MARKS))


def _are_numbers(words: pa.Array) -> pa.Array:
    code = pc.match_substring_regex(words, _CODE)
    return pc.and_not(pc.match_substring_regex(words, _NUMBER), code)
