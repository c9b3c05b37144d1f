"""What every attack on features is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.features.methods import AttackMethod, CornerCanaries, Linkage, RowMembership
from tacit.features.releases.outside_table import read_features
from tacit.features.releases.release import Release
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput

__all__ = ["AttackedFeatures"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackedFeatures:
    """A release, and what an attacker has besides."""

    release: Release
    data: object
    truth: object
    level: float
    rng: np.random.Generator
    progress: Progress | None

    def default_method(self) -> AttackMethod:
        """Return the method for what is given; totals, and rows out of order, have canaries alone."""
        if self.release.rows is None or (self.data is None and self.truth is None):
            return CornerCanaries()
        if self.data is not None:
            return RowMembership()
        return Linkage() if self.release.plan.person is None else CornerCanaries()

    def read(self, name: str) -> NDArray[np.float64]:
        """Return the released features of the rows of ``data`` or ``truth``."""
        table = getattr(self, name)
        if table is None:
            raise InvalidInput("must be given for this attack", field=name)
        return read_features(self.release, table, field=name)
