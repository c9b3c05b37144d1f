"""Noised feature rows: release few and well-chosen ones, learn from them, link them back."""

from tacit.features.attack import canary_leak, link_rows, linkage_leak, membership_leak, selection_leak
from tacit.features.learn import FisherClassifier, Full, Independence, learn_release
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
    PublicClassRows,
    TStatistic,
    by_distance,
    by_t_statistic,
    protect_features,
    published_release,
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
    "PublicClassRows",
    "TStatistic",
    "by_distance",
    "by_t_statistic",
    "canary_leak",
    "learn_release",
    "link_rows",
    "linkage_leak",
    "membership_leak",
    "protect_features",
    "published_release",
    "selection_leak",
]
