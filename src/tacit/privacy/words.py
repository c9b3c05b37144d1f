"""Lists on a command line, and nouns with their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["counted", "join_words", "numbers_of", "shown", "split_words"]

_MOST_STEPS = 2_000  # the best bins of n numbers take several tables of n^2 numbers


def split_words(text: str) -> list[str]:
    r"""Split at commas; a comma in a word, or a space at its end, is written with a backslash before it.

    Examples
    --------
    >>> split_words("no, yes\\, once")
    ['no', 'yes, once']
    """
    held = text.replace("\\,", "\0").replace("\\ ", "\1")
    return [word.strip().replace("\0", ",").replace("\1", " ") for word in held.split(",") if word.strip()]


def join_words(words: Iterable[str]) -> str:
    r"""Return the list that :func:`split_words` splits into these words.

    Examples
    --------
    >>> join_words(["no", "yes, once"])
    'no,yes\\, once'
    """
    return ",".join(_escaped(word.replace(",", "\\,")) for word in words)


def _escaped(word: str) -> str:
    inner = word.strip(" ")
    before, after = len(word) - len(word.lstrip(" ")), len(word) - len(word.rstrip(" "))
    return "\\ " * before + inner + "\\ " * after if inner else "\\ " * len(word)


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
