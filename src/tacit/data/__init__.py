"""Tables: the bundled sets, the larger ones in the folder named by ``TACIT_DATA``, and the user's own files."""

from tacit.data.table import load_table

__all__ = ["load_table"]
