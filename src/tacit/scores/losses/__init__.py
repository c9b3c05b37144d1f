"""The losses a host may return, each with its clipping, its reduction and its inverse, at any precision."""

from tacit.scores.losses.base import InvertibleLoss, LossReduction, check_labels
from tacit.scores.losses.clip import MachineEpsilon, NoClip, ProbabilityClip, ProbabilityFloor
from tacit.scores.losses.cross_entropy import ClampedCrossEntropy, ClippedCrossEntropy
from tacit.scores.losses.errors import AbsoluteError, SquaredError
from tacit.scores.losses.logits import SigmoidCrossEntropy, SoftmaxCrossEntropy
from tacit.scores.losses.precision import FLOAT64, Float32, Float64, NumberSystem

__all__ = [
    "FLOAT64",
    "AbsoluteError",
    "ClampedCrossEntropy",
    "ClippedCrossEntropy",
    "Float32",
    "Float64",
    "InvertibleLoss",
    "LossReduction",
    "MachineEpsilon",
    "NoClip",
    "NumberSystem",
    "ProbabilityClip",
    "ProbabilityFloor",
    "SigmoidCrossEntropy",
    "SoftmaxCrossEntropy",
    "SquaredError",
    "check_labels",
]
