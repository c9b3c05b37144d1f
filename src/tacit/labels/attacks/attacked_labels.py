"""What every attack on labels is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.data import Encoder
from tacit.data.names import check_present
from tacit.labels.attacks.alignment import check_order
from tacit.labels.releases.matching import feature_names, rows_of
from tacit.labels.releases.release import Release
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput

__all__ = ["AttackedLabels"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackedLabels:
    """A release, and what an attacker has besides."""

    release: Release
    data: object
    truth: object
    before: ArrayLike | None
    level: float
    rng: np.random.Generator
    progress: Progress

    def true_rows(self) -> pa.Table:
        """Return the protected rows, in the order of the release."""
        if self.truth is None:
            raise InvalidInput("must be given: canaries are hidden in its labels", field="truth")
        rows = rows_of(self.release, self.truth, field="truth")
        check_present(self.release.asked.label, rows.column_names, argument="truth's label")
        return rows

    def compared(self) -> tuple[str, ...]:
        """Return the columns that show that truth is in the order of the release; raise if one shows that it is not."""
        if self.truth is None or not self.release.header.ordered:
            return ()
        truth = self.true_rows()
        own = truth.select([name for name in truth.column_names if name != self.release.asked.label])
        found = check_order(own, self.release.table.select(self.release.feature_names), against="the release")
        if self.data is not None and self.data is not self.truth:
            found += check_order(own, rows_of(self.release, self.data, field="data"), against="data")
        return found

    def true_labels(self) -> pa.ChunkedArray | None:
        """Return the protected labels; None where they are not known."""
        return None if self.truth is None else self.true_rows()[self.release.asked.label]

    def rows(self) -> pa.Table | None:
        """Return what the attacker knows of the rows beside their labels; None if that is nothing."""
        release = self.release
        if self.data is None and not set(release.feature_names) - {release.asked.person}:
            return None
        rows = release.table if self.data is None else rows_of(release, self.data, field="data")
        return rows.select(feature_names(release, rows, (), own=self.data is None))

    def features(self) -> tuple[NDArray[np.float64] | None, list[str]]:
        """Return the features of the rows, if there are any, and notes on the encoding of the columns."""
        rows = self.rows()
        if rows is None:
            return None, []
        encoder = Encoder.fitted(rows, rows.column_names)
        return (encoder.scaled(rows) if encoder.rules else None), encoder.notes()
