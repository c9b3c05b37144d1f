"""A choice with parameters, a metric or a policy, from JSON or from words of a command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from tacit.privacy.errors import InvalidInput

__all__ = ["choice_from_json", "choice_from_words"]

_INTEGERS = {"classes", "class_floor", "decimals", "refreshes"}

Choice = TypeVar("Choice")


def choice_from_json(
    document: Mapping[str, Any], kinds: Mapping[str, type[Choice]], *, kind: str, also: Sequence[str] = ()
) -> Choice:
    """Return the object whose name is ``document[kind]`` and whose parameters are the other keys.

    Examples
    --------
    >>> from tacit.scores.metrics import METRICS
    >>> choice_from_json({"metric": "log_loss", "floor": 0.1}, METRICS, kind="metric")
    LogLoss(classes=2, floor=0.1)
    """
    name = document.get(kind)
    if not isinstance(name, str) or name not in kinds:
        raise InvalidInput(f"{kind} must be one of {', '.join([*kinds, *also])}, got {name!r}")
    allowed = {spec.name for spec in fields(kinds[name]) if spec.init}  # type: ignore[arg-type]
    given = {key: value for key, value in document.items() if key != kind}
    if unknown := set(given) - allowed:
        names = ", ".join(sorted(allowed)) or "nothing"
        raise InvalidInput(f"{name} takes {names}, got {', '.join(sorted(map(str, unknown)))}")
    return kinds[name](**given)


def choice_from_words(text: str, *, kind: str) -> dict[str, Any]:
    """Return the document that NAME:KEY=NUMBER,KEY=NUMBER stands for.

    Examples
    --------
    >>> choice_from_words("auc:class_floor=500", kind="metric")
    {'metric': 'auc', 'class_floor': 500}
    """
    name, _, rest = text.partition(":")
    document: dict[str, Any] = {kind: name}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        try:
            number = int(value) if key.strip() in _INTEGERS else json.loads(value)
            if not equals or type(number) not in (int, float) or key.strip() in document:
                raise ValueError
        except ValueError:
            raise InvalidInput(f"{kind} must have the form NAME:KEY=NUMBER,KEY=NUMBER, got {text!r}") from None
        document[key.strip()] = number
    return document
