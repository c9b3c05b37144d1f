"""Policies by name, and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.scores.choices import choice_from_json
from tacit.scores.policies.base import Policy
from tacit.scores.policies.ladder import Ladder
from tacit.scores.policies.laplace import Laplace
from tacit.scores.policies.plain import Bounded, Exact, Rounded
from tacit.scores.policies.thresholdout import Thresholdout

__all__ = ["POLICIES", "policy_from_json"]

POLICIES: Mapping[str, type[Policy]] = {
    kind.name: kind for kind in (Exact, Rounded, Bounded, Ladder, Laplace, Thresholdout)
}
"""The policies a host may choose, by name."""


def policy_from_json(document: Mapping[str, Any]) -> Policy:
    """Read what :meth:`Policy.to_document` wrote; an unknown key is an error.

    Examples
    --------
    >>> policy_from_json({"policy": "laplace", "epsilon": 0.5})
    Laplace(epsilon=0.5)
    """
    return choice_from_json(document, POLICIES, kind="policy")
