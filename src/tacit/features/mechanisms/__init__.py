"""What a release of features can be; importing this loads neither NumPy nor Arrow."""

from tacit.features.mechanisms.rows import Rows
from tacit.features.mechanisms.totals import Totals

__all__ = ["Rows", "Totals"]
