"""Tables: the bundled sets, the larger ones in the folder named by ``TACIT_DATA``, and the user's own files."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.data.bundled_sets import digits, iris, satellite, titanic
    from tacit.data.dataset import Dataset
    from tacit.data.encoder import Encoder
    from tacit.data.image_sets import HumanLabels, Images, cifar10, cifar100, cifar100n_labels, mnist
    from tacit.data.matrix import numeric_matrix
    from tacit.data.rows import label_column, read_rows
    from tacit.data.table import open_table
    from tacit.data.table_sets import adult, ag_news, criteo, talkingdata
    from tacit.data.view import as_ibis

__all__ = [
    "Dataset",
    "Encoder",
    "HumanLabels",
    "Images",
    "adult",
    "ag_news",
    "as_ibis",
    "cifar10",
    "cifar100",
    "cifar100n_labels",
    "criteo",
    "digits",
    "iris",
    "label_column",
    "mnist",
    "numeric_matrix",
    "open_table",
    "read_rows",
    "satellite",
    "talkingdata",
    "titanic",
]

__getattr__ = lazy_names(  # a path is checked without a database, a label encoded without Ibis
    __name__,
    **dict.fromkeys(("digits", "iris", "satellite", "titanic"), "bundled_sets"),
    **dict.fromkeys(("HumanLabels", "Images", "cifar10", "cifar100", "cifar100n_labels", "mnist"), "image_sets"),
    **dict.fromkeys(("label_column", "read_rows"), "rows"),
    **dict.fromkeys(("adult", "ag_news", "criteo", "talkingdata"), "table_sets"),
    Dataset="dataset",
    Encoder="encoder",
    as_ibis="view",
    numeric_matrix="matrix",
    open_table="table",
)
