"""Tables: the bundled sets, the larger ones in the folder named by ``TACIT_DATA``, and the user's own files."""

from tacit.data.bundled import digits, iris, satellite, titanic
from tacit.data.dataset import Dataset
from tacit.data.matrix import FeatureMatrix, numeric_matrix, one_hot_matrix
from tacit.data.rows import label_column, read_rows
from tacit.data.table import load_table

__all__ = [
    "Dataset",
    "FeatureMatrix",
    "digits",
    "iris",
    "label_column",
    "load_table",
    "numeric_matrix",
    "one_hot_matrix",
    "read_rows",
    "satellite",
    "titanic",
]
