"""When training on noisy labels works, and when retraining on one's own predictions helps."""

from papers.label_retraining.theory.bounds import (
    AccuracyBounds,
    bound_accuracy,
    bound_point_accuracy,
    hoeffding_constant,
    rows_needed,
)
from papers.label_retraining.theory.estimators import leading_direction, predict, retrain, train
from papers.label_retraining.theory.margin import DiscreteMargin, Margin, UniformMargin, expect, subgaussian_norm
from papers.label_retraining.theory.mixture import MarginMixture, MixtureSample
from papers.label_retraining.theory.published import (
    in_published_window,
    published_disagreement,
    published_retraining_bound,
)
from papers.label_retraining.theory.recursion import (
    first_signal,
    next_signal,
    predict_accuracies,
    predict_first_round,
    retraining_gain,
    retraining_helps,
)
from papers.label_retraining.theory.simulate import simulate_accuracies

__all__ = [
    "AccuracyBounds",
    "DiscreteMargin",
    "Margin",
    "MarginMixture",
    "MixtureSample",
    "UniformMargin",
    "bound_accuracy",
    "bound_point_accuracy",
    "expect",
    "first_signal",
    "hoeffding_constant",
    "in_published_window",
    "leading_direction",
    "next_signal",
    "predict",
    "predict_accuracies",
    "predict_first_round",
    "published_disagreement",
    "published_retraining_bound",
    "retrain",
    "retraining_gain",
    "retraining_helps",
    "rows_needed",
    "simulate_accuracies",
    "subgaussian_norm",
    "train",
]
