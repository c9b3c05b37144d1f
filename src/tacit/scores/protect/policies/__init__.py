"""What of a score leaves: as computed, rounded, the Ladder, with noise, or only when it changed."""

from tacit.scores.protect.policies.base import Answer, Policy, State
from tacit.scores.protect.policies.ladder import Ladder
from tacit.scores.protect.policies.laplace import Laplace
from tacit.scores.protect.policies.plain import Exact, Rounded
from tacit.scores.protect.policies.reading import POLICIES, policy_from_json
from tacit.scores.protect.policies.thresholdout import Thresholdout

__all__ = [
    "POLICIES",
    "Answer",
    "Exact",
    "Ladder",
    "Laplace",
    "Policy",
    "Rounded",
    "State",
    "Thresholdout",
    "policy_from_json",
]
