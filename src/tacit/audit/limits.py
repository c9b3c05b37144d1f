"""The limits of a run."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_epsilon

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a run; a run that is not shown to be below them fails.

    A release passes ``odds`` and ``advantage`` if the upper ends of all classes are below the limit. If there are too
    few rows to tell, it passes if its guarantee is below the limit.

    Parameters
    ----------
    odds
        The largest change of anyone's odds, for any class of any planned release.
    advantage
        The largest balanced advantage: the share of rows of a class that an attacker flags, minus the share of others.
    epsilon
        The largest total guarantee for one label, over all planned releases of one table.
    """

    odds: float | None = None
    advantage: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.odds is not None and not self.odds > 1:
            raise InvalidInput(f"must be above 1, such as 10, got {self.odds}", field="odds")
        if self.advantage is not None and not 0 < self.advantage <= 1:
            raise InvalidInput(f"must be a share above 0 and at most 1, got {self.advantage}", field="advantage")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
