"""What the parser of the command line refuses, in the words that plans use for a wrong value."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["usage_sentence"]

_RULE = re.compile(r"Input should be (.*?)(?:, (?:unable|input) .*)?$")
_CHOICE = re.compile(r"Value error, (.*) is not one of (.*?)\.?$")
_WORDS = {
    "a valid integer": "an integer",
    "a valid number": "a number",
    "a valid datetime or date": "a date such as 2027-01-31",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
}


def usage_sentence(error: Any) -> str:  # noqa: ANN401
    """Return which option is wrong, what it must be, and where its help is."""
    where = error.ctx.command_path if getattr(error, "ctx", None) else "tacit"
    param, message = getattr(error, "param", None), getattr(error, "message", "")
    if param is not None and (rule := _RULE.match(message)):
        wanted = rule[1]
        for theirs, ours in _WORDS.items():
            wanted = wanted.replace(theirs, ours)
        said = f"{param.opts[0]} must be {wanted}"
    elif param is not None and (choice := _CHOICE.match(message)):
        names = choice[2].replace("'", "")
        said = f"{param.opts[0]} must be one of {names}, got {choice[1]}"
    else:
        said = error.format_message().rstrip(".")
    return f"{said}; see {where} --help"
