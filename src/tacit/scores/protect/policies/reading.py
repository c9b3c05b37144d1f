"""Policies from JSON, strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tacit.privacy.errors import InvalidInput
from tacit.scores.protect.policies.base import Policy
from tacit.scores.protect.policies.ladder import Ladder
from tacit.scores.protect.policies.laplace import Laplace
from tacit.scores.protect.policies.plain import Exact, Rounded
from tacit.scores.protect.policies.thresholdout import Thresholdout

__all__ = ["POLICIES", "policy_from_json"]

POLICIES: Mapping[str, type[Policy]] = {kind.kind: kind for kind in (Exact, Rounded, Ladder, Laplace, Thresholdout)}
"""The policies a server offers, by name."""


def policy_from_json(document: Mapping[str, Any]) -> Policy:
    """Read a policy back; an unknown key is an error.

    Examples
    --------
    >>> policy_from_json({"policy": "laplace", "epsilon": 0.5})
    Laplace(epsilon=0.5)
    """
    name = document.get("policy")
    if not isinstance(name, str) or name not in POLICIES:
        raise InvalidInput(f"policy must be one of {', '.join(POLICIES)}, got {name!r}")
    kind = POLICIES[name]
    allowed = {spec.name for spec in fields(kind)}  # type: ignore[arg-type]
    given = {key: value for key, value in document.items() if key != "policy"}
    if unknown := set(given) - allowed:
        names = ", ".join(sorted(allowed)) or "nothing"
        raise InvalidInput(f"{name} takes {names}, got {', '.join(sorted(map(str, unknown)))}")
    return kind(**given)
