"""AUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics.ratios import RatioMetric
from tacit.scores.metrics.reveals import RankSums

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tacit.scores.metrics.base import Numbers

__all__ = ["Auc"]


@dataclass(frozen=True, kw_only=True)
class Auc(RatioMetric):
    """The area under the ROC curve; for more than two classes the mean of each class against the rest.

    1/2 + (U - P N/2) / max(P N, m (n - m)), U the number of pairs in order (ties count half), P and N the positives
    and negatives of n rows, m the ``class_floor``. Where both classes have m rows or more this is the AUC. One label
    moves it by at most max(n - m - 1, (n - 1)/2) / (m (n - m)), about 1/m, for all labels and predictions: a wrong
    floor costs accuracy, never privacy. Proof: docs/proofs/scores_protect.md.

    Parameters
    ----------
    class_floor
        A public number of rows that every class surely has, at most rows/2; None: no guarantee can be given.
    """

    name: ClassVar[str] = "auc"
    title = "AUC"
    per_class = True

    @property
    def reveals(self) -> RankSums | None:
        """The ranks of the positives; None for more than two classes."""
        return RankSums() if self.classes == 2 else None

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return finite scores: (rows,), or (rows, classes) for more than two classes."""
        from tacit.scores.metrics.checking import finite

        return finite(predictions, rows=rows, columns=None if self.classes == 2 else self.classes)

    def _one_class(self, rows: int, floor: int) -> float:
        if not 2 * floor <= rows:
            raise InvalidInput(f"class_floor must be at most rows/2 for auc, got {floor} of {rows} rows")
        return max(rows - floor - 1, (rows - 1) / 2) / (floor * (rows - floor))

    def _column(self, predictions: Numbers, label: int) -> Numbers:
        return predictions if self.classes == 2 else predictions[:, label]

    def _value(self, positives: Numbers, scores: Numbers) -> float:
        from scipy.stats import rankdata

        rows = len(scores)
        ranks = rankdata(scores)  # depends on the predictions alone
        P = float(positives.sum())
        pairs = P * (rows - P)
        in_order = float(ranks @ positives) - P * (P + 1) / 2
        m = min(self.class_floor or 1, max(1, rows // 2))
        return 0.5 + (in_order - pairs / 2) / max(pairs, float(m * (rows - m)), 1.0)
