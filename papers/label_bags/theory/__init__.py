"""What the paper proves about bags, corrected: bounds, complexities, its objective, and what a total reveals."""

from papers.label_bags.theory.bound import RiskBound, linear_risk_bound, risk_bound, size_trade_off
from papers.label_bags.theory.deviations import (
    bag_label_excess,
    bag_risk_deviation,
    mean_residual_deviation,
    row_risk_deviation,
)
from papers.label_bags.theory.gradient_descent import GradientDescent
from papers.label_bags.theory.printed_objective import PrintedObjective, printed_objective
from papers.label_bags.theory.published_objectives import BagMeanObjective, ProportionLoss
from papers.label_bags.theory.rademacher import (
    class_rademacher,
    linear_patterns,
    linear_rademacher,
    threshold_rademacher,
)
from papers.label_bags.theory.reconstruction import (
    OddsChange,
    additive_advantage,
    bag_count_channel,
    bayes_accuracy,
    multiplicative_advantage,
    published_advantage_limits,
    randomized_response_channel,
)

__all__ = [
    "BagMeanObjective",
    "GradientDescent",
    "OddsChange",
    "PrintedObjective",
    "ProportionLoss",
    "RiskBound",
    "additive_advantage",
    "bag_count_channel",
    "bag_label_excess",
    "bag_risk_deviation",
    "bayes_accuracy",
    "class_rademacher",
    "linear_patterns",
    "linear_rademacher",
    "linear_risk_bound",
    "mean_residual_deviation",
    "multiplicative_advantage",
    "printed_objective",
    "published_advantage_limits",
    "randomized_response_channel",
    "risk_bound",
    "row_risk_deviation",
    "size_trade_off",
    "threshold_rademacher",
]
