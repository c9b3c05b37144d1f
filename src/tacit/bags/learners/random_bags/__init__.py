"""Learn from the mean labels of random bags: risks without bias, objectives, and a model of rows."""

from tacit.bags.learners.random_bags.model import RandomBagModel
from tacit.bags.learners.random_bags.noise import center_labels, choose_penalty, is_drowned
from tacit.bags.learners.random_bags.objectives import (
    BagObjective,
    EasyLabels,
    RandomBagObjective,
    UnbiasedObjective,
    easy_labels,
)
from tacit.bags.learners.random_bags.risk import (
    BagMoments,
    bag_residuals,
    label_variance,
    unbiased_risk,
)

__all__ = [
    "BagMoments",
    "BagObjective",
    "EasyLabels",
    "RandomBagModel",
    "RandomBagObjective",
    "UnbiasedObjective",
    "bag_residuals",
    "center_labels",
    "choose_penalty",
    "easy_labels",
    "is_drowned",
    "label_variance",
    "unbiased_risk",
]
