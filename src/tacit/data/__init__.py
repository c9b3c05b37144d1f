"""Tables: the bundled sets, the larger ones in the folder named by ``TACIT_DATA``, and the user's own files."""

from tacit.data.rows import label_column, read_rows
from tacit.data.table import load_table

__all__ = ["label_column", "load_table", "read_rows"]
