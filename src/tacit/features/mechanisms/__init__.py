"""What a release of features can be; importing this loads neither NumPy nor Arrow."""

from tacit.features.mechanisms.rows import RowMechanism
from tacit.features.mechanisms.totals import TotalsMechanism

__all__ = ["RowMechanism", "TotalsMechanism"]
