"""Names that people read as the same."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["read_alike"]

_CYRILLIC = (
    "430 a 432 b 435 e 43a k 43c m 43d h 43e o 440 p 441 c 442 t 443 y 445 x 455 s 456 i 458 j 475 v 4bb h 4cf l 501 d "
    "51b q 51d w"
)
_GREEK = "3b1 a 3b2 b 3b5 e 3b6 z 3b7 h 3b9 i 3ba k 3bc m 3bd n 3bf o 3c1 p 3c4 t 3c5 y 3c7 x"
_OTHERS = "131 i 251 a 261 g 570 h 57d u 585 o 30 o 31 l 69 l 7c l"  # Latin, Armenian; 0 and o; 1, I, l and |
_PAIRS = " ".join((_CYRILLIC, _GREEK, _OTHERS)).split()
_LOOKS_LIKE = {int(code, 16): letter.replace("i", "l") for code, letter in zip(_PAIRS[::2], _PAIRS[1::2], strict=True)}
"""Letters by their numbers, and the Latin small letter that they or their capitals look like."""

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def read_alike(name: str) -> str:
    """Return what names that people read as the same have in common.

    Case, width, the encoding of accents, spaces and unseen characters do not count, nor which of several letters of one
    look is used; so some names that differ are alike too, such as "mail" and "mall".

    References
    ----------
    Unicode Technical Standard 39, section 4: the letters here are a few of its confusable ones.

    Examples
    --------
    >>> read_alike("Team  A") == read_alike("t\u0435am \u0430"), read_alike("Team A") == read_alike("Team B")
    (True, False)
    """
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", name)).casefold()
    return " ".join(unicodedata.normalize("NFKC", seen).translate(_LOOKS_LIKE).split())
