"""Tables: the bundled sets, the larger ones in the folder named by ``TACIT_DATA``, and the user's own files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.data.bundled_sets import digits, iris, satellite, titanic
    from tacit.data.dataset import Dataset
    from tacit.data.encoder import Encoder
    from tacit.data.image_sets import HumanLabels, Images, cifar10, cifar100, cifar100n_labels, mnist
    from tacit.data.matrix import FeatureMatrix, numeric_matrix, one_hot_matrix
    from tacit.data.rows import label_column, read_rows
    from tacit.data.table import load_table
    from tacit.data.table_sets import adult, ag_news, criteo, talkingdata

__all__ = [
    "Dataset",
    "Encoder",
    "FeatureMatrix",
    "HumanLabels",
    "Images",
    "adult",
    "ag_news",
    "cifar10",
    "cifar100",
    "cifar100n_labels",
    "criteo",
    "digits",
    "iris",
    "label_column",
    "load_table",
    "mnist",
    "numeric_matrix",
    "one_hot_matrix",
    "read_rows",
    "satellite",
    "talkingdata",
    "titanic",
]

_MODULES = {
    "bundled_sets": ("digits", "iris", "satellite", "titanic"),
    "dataset": ("Dataset",),
    "encoder": ("Encoder",),
    "image_sets": ("HumanLabels", "Images", "cifar10", "cifar100", "cifar100n_labels", "mnist"),
    "matrix": ("FeatureMatrix", "numeric_matrix", "one_hot_matrix"),
    "rows": ("label_column", "read_rows"),
    "table": ("load_table",),
    "table_sets": ("adult", "ag_news", "criteo", "talkingdata"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a name when it is first used: a path is checked without a database, a label encoded without Ibis."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
