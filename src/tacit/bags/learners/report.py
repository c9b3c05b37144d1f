"""The evaluation of a model that was learned from bags."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tacit.bags.learners.evaluation import Calibration, Evaluation

__all__ = ["BagReport"]

_LOSSES = {"log": "log loss", "classes": "log loss", "squared": "half the squared error", "poisson": "Poisson loss"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BagReport:
    """How good a model is on rows with true labels, and how well its totals fit the released ones."""

    totals: str  # what was added up, as the plan names it
    rows: int | None  # the rows that were learned from
    tested: Evaluation | None  # the measurement on test rows; None without any
    # for each partition, the totals of the predictions beside the released ones; no label is read for them
    fit: tuple[Calibration, ...] = ()
    risk: float | None = None  # for random bags, the unbiased estimate of the mean squared error per row

    @property
    def over_classes(self) -> bool:
        """Whether the labels are classes, so that the score is accuracy."""
        return self.totals in ("log", "classes")

    @property
    def baseline(self) -> float | None:
        """The score of always predicting the majority class, or the mean of the test labels."""
        if self.tested is None:
            return None
        shares = self.tested.observed
        if not self.over_classes:
            return 0.0
        return max(*shares, 1 - shares[0]) if len(shares) == 1 else max(shares)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON."""
        tested = self.tested
        return {
            "rows": self.rows,
            "log_loss": tested.loss if tested and self.over_classes else None,
            "mean_loss": tested and tested.loss,
            "auc": tested and tested.auc,
            "score": tested and tested.score,
            "baseline_score": self.baseline,
            "calibration_error": tested and tested.calibration_error,
            "test_rows": tested and tested.rows,
            "risk": self.risk,
            "fit": [{**asdict(one), "p_value": one.p_value} for one in self.fit],
        }

    def __str__(self) -> str:
        lines = [self._measured() if self.tested else "No test rows: the model was not compared with true labels."]
        if self.risk is not None:
            lines.append(f"Mean squared error per row, as the bags estimate it: {self.risk:.3f}.")
        last = "of the last class " if self.totals == "classes" else ""
        lines += [
            f"  by {', '.join(one.columns)}: predictions {last}add up to {one.predicted[-1]:,.1f}, released "
            f"{one.released[-1]:,.1f}"
            for one in self.fit
        ]
        return "\n".join(lines)

    def _measured(self) -> str:
        tested, baseline = self.tested, self.baseline
        assert tested is not None
        assert baseline is not None
        auc = "" if tested.auc is None else f", AUC {tested.auc:.3f}"
        score, naive = ("accuracy", "the majority class") if self.over_classes else ("explained share", "the mean")
        against = f" ({baseline:.1%} for always predicting {naive})" if self.over_classes else ""
        worse = "" if tested.score > baseline else f" The model is no better than always predicting {naive}."
        return (
            f"On {tested.rows:,} test rows: {_LOSSES[self.totals]} {tested.loss:.4f}{auc}, {score} "
            f"{tested.score:.1%}{against}; no guarantee covers these numbers.{worse}"
        )
