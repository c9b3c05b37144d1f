"""Noised feature rows: release few and well-chosen ones, learn from them, link them back."""

from tacit.features.learn import FisherClassifier, Full, Independence, Rule, learn_release
from tacit.features.protect import (
    Box,
    ClassTotals,
    Distance,
    FeaturePlan,
    NoisedClassRows,
    NoisedRows,
    OneShot,
    Peeling,
    PrivateSelection,
    ProtectedFeatures,
    PublicClassRows,
    TStatistic,
    protect_features,
)

__all__ = [
    "Box",
    "ClassTotals",
    "Distance",
    "FeaturePlan",
    "FisherClassifier",
    "Full",
    "Independence",
    "NoisedClassRows",
    "NoisedRows",
    "OneShot",
    "Peeling",
    "PrivateSelection",
    "ProtectedFeatures",
    "PublicClassRows",
    "Rule",
    "TStatistic",
    "learn_release",
    "protect_features",
]
