"""How an audit tries a release: the rows it withholds, what the outsider has, and the attacks it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

__all__ = ["AuditTrial", "Part", "Told", "Withheld"]

Withheld = Literal["half", "pairs", "none"]
"""Half of the rows of each label; of each pair of rows with one label the one that a
coin chose, as bounds on epsilon assume; or none."""

Part = Literal["protected", "known", "withheld"]
"""The rows that are protected, what an outsider knows of them, and the rows that are withheld."""

Told = Literal["label", "row", "member"]
"""What the attack names: the label of a row, the row of a person, or whether a row was trained on."""

_LEARNED: Mapping[str, Part] = MappingProxyType({"data": "known", "test": "withheld"})
_ATTACKED: Mapping[str, Part] = MappingProxyType({"data": "known", "truth": "protected"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTrial:
    """What an audit does with a release; the plan of each surface has its own.

    Parameters
    ----------
    tells
        What the attack names.
    apart
        Why the attack cannot go on from beliefs about labels of the same rows, or have others go on from its own; empty
        if it can.
    withheld
        The rows that are not protected.
    learn, attack
        The rows that each argument of the surface's ``learn`` and ``attack`` gets; ``learn`` is None where nothing is
        learned from what the plan releases.
    method
        The attack that is measured. Default: the surface's own choice.
    bound
        A second attack, which bounds epsilon from below and is no attack on the rows.
    """

    tells: Told = "label"
    apart: str = ""
    withheld: Withheld = "half"
    learn: Mapping[str, Part] | None = field(default_factory=lambda: _LEARNED)
    attack: Mapping[str, Part] = field(default_factory=lambda: _ATTACKED)
    method: str | None = None
    bound: str | None = None
