"""How a measured score is answered: each policy with its guarantee, and what others may conclude from its answers."""

from tacit.scores.policies.base import Answer, Policy, PolicyState, TermInterval
from tacit.scores.policies.ladder import Ladder
from tacit.scores.policies.laplace import Laplace
from tacit.scores.policies.plain import Bounded, Exact, Rounded
from tacit.scores.policies.thresholdout import Thresholdout

__all__ = [
    "Answer",
    "Bounded",
    "Exact",
    "Ladder",
    "Laplace",
    "Policy",
    "PolicyState",
    "Rounded",
    "TermInterval",
    "Thresholdout",
]
