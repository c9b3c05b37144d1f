"""Lists on a command line, and nouns with their number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["counted", "join_pair", "join_words", "numbers_of", "shown", "split_pair", "split_words"]

_MOST_STEPS = 2_000  # the best bins of n numbers take several tables of n^2 numbers


def split_words(text: str) -> list[str]:
    r"""Split at commas; a comma in a word, or a space at its end, is written with a backslash before it."""
    return [word.strip().translate(_PLAIN) for word in _held(text).split(",") if word.strip()]


def join_words(words: Iterable[str]) -> str:
    r"""Return the list that :func:`split_words` splits into these words."""
    return ",".join(map(_escaped, words))


def split_pair(text: str) -> tuple[str, str | None]:
    r"""Return the name before the first equals sign and the words after it, or None; one in a name has a backslash."""
    name, sign, value = _held(text).partition("=")
    return name.strip().translate(_PLAIN), value.translate(_WRITTEN) if sign else None


def join_pair(name: str, value: str) -> str:
    """Return what :func:`split_pair` splits into this name and these words."""
    return f"{_escaped(name).replace('=', _MARK + '=')}={value}"


_MARK, _MARKED = "\\", "\\,= "
_HELD = {sign: chr(place) for place, sign in enumerate(_MARKED)}
_PLAIN = str.maketrans({held: sign for sign, held in _HELD.items()})
_WRITTEN = str.maketrans({held: _MARK + sign for sign, held in _HELD.items()})


def _held(text: str) -> str:
    """Return a text with each sign that has a backslash before it as a character that no text has."""
    return re.sub(r"\\([\\,= ])", lambda found: _HELD[found[1]], text)


def _escaped(word: str) -> str:
    marked = re.sub(r"[\\,]", lambda found: _MARK + found[0], word)
    return re.sub(r"^ +| +$", lambda found: f"{_MARK} " * len(found[0]), marked)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> counted(1, "row"), counted(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def shown(values: Sequence[object], *, most: int = 12) -> str:
    """Return a list of values as an error shows it.

    Examples
    --------
    >>> shown(["no", "yes"]), shown(range(3), most=2)
    ("['no', 'yes']", '[0, 1 and 1 more]')
    """
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return f"[{', '.join(map(repr, values[:most]))}{more}]"


def numbers_of(text: str) -> tuple[float, ...]:
    """Return the numbers of a list with commas, or of ``LOW:HIGH:STEP`` with both ends.

    Examples
    --------
    >>> numbers_of("0:1:0.25")
    (0.0, 0.25, 0.5, 0.75, 1.0)
    """
    try:
        if ":" not in text:
            return tuple(float(word) for word in split_words(text))
        low, high, step = (float(word) for word in text.split(":"))
        steps = (high - low) / step
        whole = round(steps)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ValueError("comma-separated numbers, or LOW:HIGH:STEP") from None
    if not 1 <= whole <= _MOST_STEPS or abs(steps - whole) > 1e-6:
        raise ValueError(f"LOW:HIGH:STEP with 1 to {_MOST_STEPS:,} whole steps")
    return tuple(low + step * i for i in range(whole + 1))
