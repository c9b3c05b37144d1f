"""Tables: the user's own from anywhere, and the bundled sets."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.data.bundled_sets import digits, iris, satellite, titanic
    from tacit.data.dataset import Dataset
    from tacit.data.encoder import Encoder
    from tacit.data.matrix import numeric_matrix
    from tacit.data.rows import label_column, read_rows
    from tacit.data.table import open_table
    from tacit.data.view import as_ibis

__all__ = [
    "Dataset",
    "Encoder",
    "as_ibis",
    "digits",
    "iris",
    "label_column",
    "numeric_matrix",
    "open_table",
    "read_rows",
    "satellite",
    "titanic",
]

__getattr__ = lazy_names(  # a path is checked without a database, a label encoded without Ibis
    __name__,
    **dict.fromkeys(("digits", "iris", "satellite", "titanic"), "bundled_sets"),
    **dict.fromkeys(("label_column", "read_rows"), "rows"),
    Dataset="dataset",
    Encoder="encoder",
    as_ibis="view",
    numeric_matrix="matrix",
    open_table="table",
)
