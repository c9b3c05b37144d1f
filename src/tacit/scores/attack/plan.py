"""How many queries until the labels are public: worked out beforehand, with what no attack can beat beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attack.answers import Answers, Exact, RandomNoise
from tacit.scores.attack.channel import Channel
from tacit.scores.attack.design import Design
from tacit.scores.attack.digits import DigitDesign
from tacit.scores.attack.joint import JointDesign
from tacit.scores.attack.metrics import Metric, RootMeanSquaredError
from tacit.scores.attack.repeated import repeated_designs
from tacit.scores.attack.steps import Labels, Steps
from tacit.scores.losses import Loss
from tacit.scores.theory import queries_for

__all__ = ["Ceilings", "Plan", "plan"]
