"""What one team of a competition is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics import F1, Accuracy, Auc, Brier, CustomMetric, LogLoss, Mae, Rmse
from tacit.scores.plan import Plan

__all__ = ["CompetitionPlan"]


def _reworded(name: str, help: str) -> Mapping[str, Any]:
    """Return the metadata of the plan's field with another sentence of help."""
    return {**Plan.__dataclass_fields__[name].metadata, "help": help}


@dataclass(frozen=True, kw_only=True)
class CompetitionPlan(Plan):
    """The scores of one team; the defaults are those that docs/scores_results.md measures.

    Unit: one row's label. A metric may also be one that the server's operator wrote.
    """

    label: str = field(default="label", metadata=_reworded("label", "The private column of the truth."))
    epsilon: float | None = field(
        default=20.0,
        metadata=_reworded("epsilon", "The epsilon of all live scores of one team together; none: no guarantee."),
    )
    metric: LogLoss | Brier | Accuracy | Auc | F1 | Rmse | Mae | CustomMetric = field(  # type: ignore[assignment]
        default=LogLoss(), metadata=_reworded("metric", "What a submission is scored by.")
    )
    submissions: int = field(default=100, metadata=_reworded("submissions", "Submissions of a team, in all."))

    def check(self) -> None:
        """Raise if two fields do not fit each other, or one asks for what a competition does not do."""
        super().check()
        if self.person is not None or self.rows_per_person != 1:
            raise InvalidInput("has no use in a competition: every row is scored", field="person")
