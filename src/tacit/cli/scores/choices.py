"""Metrics and policies as words of a command line: NAME:KEY=NUMBER,KEY=NUMBER."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["choice_of"]

_WHOLE = {"classes", "class_floor", "decimals", "refreshes"}


def choice_of(text: str, *, kind: str) -> dict[str, Any]:
    """Read NAME:KEY=NUMBER,... into the document that a metric or a policy is made from."""
    from tacit.privacy.errors import InvalidInput

    name, _, rest = text.partition(":")
    document: dict[str, Any] = {kind: name}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        try:
            number = int(value) if key.strip() in _WHOLE else json.loads(value)
            if not equals or type(number) not in (int, float) or key.strip() in document:
                raise ValueError
        except ValueError:
            raise InvalidInput(f"{kind} must have the form NAME:KEY=NUMBER,KEY=NUMBER, got {text!r}") from None
        document[key.strip()] = number
    return document
