"""Release few, well-chosen features under noise: selection, rows or class totals, one promise for a record."""

from tacit.features.protect.box import Box
from tacit.features.protect.choose import OneShot, Peeling
from tacit.features.protect.plan import FeaturePlan, NoisedClassRows, PublicClassRows
from tacit.features.protect.rows import ClassTotals, NoisedRows
from tacit.features.protect.scores import Distance, TStatistic
from tacit.features.protect.selection import PrivateSelection
from tacit.features.protect.stream import ProtectedFeatures, protect_features

__all__ = [
    "Box",
    "ClassTotals",
    "Distance",
    "FeaturePlan",
    "NoisedClassRows",
    "NoisedRows",
    "OneShot",
    "Peeling",
    "PrivateSelection",
    "ProtectedFeatures",
    "PublicClassRows",
    "TStatistic",
    "protect_features",
]
