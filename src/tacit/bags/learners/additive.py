"""An additive model trained from bag totals alone, as well as from the labels of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit.bags.learners.cells import cells_of
from tacit.bags.learners.core import CoreModel
from tacit.bags.learners.crosses import CrossSolver, Lbfgs
from tacit.bags.learners.evaluation import BagPredictor, Calibration
from tacit.bags.learners.parts import FeatureCross, ModelPart, check_parts
from tacit.bags.learners.penalty import NoiseRidge, Penalty
from tacit.bags.learners.training import AdditiveFit, BatchTraining
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import BagTotals
from tacit.bags.partition.bags import read_columns
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.bags.learners.network import AdditiveNetwork

__all__ = ["AdditiveModel"]

Floats = NDArray[np.float64]


class AdditiveModel(BagPredictor, BaseEstimator):  # type: ignore[misc]
    """f(x) = w_0 + sum_j f_j(x), each part on some columns, trained from bag totals of T(y).

    For a semilinear loss b(f) - T(y)'f the sum of row gradients needs, for each part, only the totals of T(y) over
    bags on which the part's columns are constant: the gradient is exactly that of the individual labels. Where the
    totals are exact the model is the one that the labels give; where they are noisy, the noise enters the gradient
    as it is and ``penalty`` keeps it from being learned.

    A row whose bag was dropped as too small gets nothing from the parts that learn from that partition; the bag of
    merged small bags is a value of its own.

    Parameters
    ----------
    loss
        The loss; None takes the release's, and another is rejected: its T(y) was not added up.
    parts
        :class:`FeatureCross`, :class:`BoostedTrees`, :class:`MLP` or :class:`TorchModule` objects; None makes one cross
        per partition.
    penalty
        Default ``NoiseRidge()``, which learns from the release how far to trust it; ``Ridge(l2=0.0)`` for the plain
        maximum likelihood fit.
    solver
        ``Lbfgs()`` for crosses and trees (default); ``BatchTraining()`` for networks (default
        where a part needs torch).
    recalibrate
        Move the intercept after training so that predictions add up to the released total. Crosses and trees do
        so anyway.
    random_state
        Seed of networks' first weights and of the order of batches.

    Attributes
    ----------
    loss_, parts_, cells_
        The loss, the parts, and what each part learned from.
    intercept_
        w_0, one number per target.
    n_iter_
        Steps that the solver made.
    classes_
        Class codes, for the log loss and the cross-entropy.

    References
    ----------
    Chen et al. (2023), Equation (4), Theorem 1; formula sheet f1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.bags import Plan, protect
    >>> from tacit.bags.learners.penalty import Ridge
    >>> rows = pa.table({"city": ["bonn"] * 4 + ["oslo"] * 4, "ill": [0, 0, 0, 1, 0, 1, 1, 1]})
    >>> release = protect(rows, Plan(label="ill", epsilon=None, by=["city"], min_size=1))
    >>> model = AdditiveModel(penalty=Ridge(l2=1e-9)).fit(release.totals, rows)
    >>> model.predict_proba(pa.table({"city": ["oslo", "rome"]})).round(3)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """

    def __init__(
        self,
        loss: SemilinearLoss | None = None,
        parts: Sequence[ModelPart] | None = None,
        *,
        penalty: Penalty | None = None,
        solver: CrossSolver | BatchTraining | None = None,
        recalibrate: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.loss = loss
        self.parts = parts
        self.penalty = penalty
        self.solver = solver
        self.recalibrate = recalibrate
        self.random_state = random_state

    def fit(
        self,
        release: BagTotals,
        features: Any,  # noqa: ANN401
        *,
        progress: Progress | None = None,
    ) -> AdditiveModel:
        """Train from a release and the features of the rows that it was made from; labels are not read.

        Parameters
        ----------
        release
            Partitions with totals, exact or noisy.
        features
            The rows: an Arrow table, a frame, an Ibis table or a path. Only the partitions' columns are read.
        progress
            Called with (steps done, steps in all) while trees grow or a network trains.
        """
        loss = self._loss_of(release)
        parts = check_parts(self.parts or [FeatureCross(partition.columns) for partition in release.partitions])
        cells = cells_of(parts, release.partitions)
        solver = self.solver or (BatchTraining() if any(part.needs_torch for part in parts) else Lbfgs())
        self.loss_, self.parts_, self.cells_ = loss, parts, tuple(cells)
        self.model_: CoreModel | AdditiveNetwork = solver.fit(
            AdditiveFit(
                cells=cells,
                partitions=release.partitions,
                features=features,
                loss=loss,
                penalty=self.penalty or NoiseRidge(),
                recalibrate=self.recalibrate,
                seed=self.random_state,
                progress=progress,
            )
        )
        self.intercept_ = self.model_.intercept
        self.n_iter_ = self.model_.steps
        if loss.class_codes is not None:
            self.classes_ = loss.class_codes
        return self

    def calibration(self, release: BagTotals, features: Any) -> list[Calibration]:  # noqa: ANN401
        """Compare the bag totals of the predictions with the released ones; no label is read."""
        rows = read_columns(features, _columns(release))
        f = self._f(rows)
        return [Calibration.of(one, one.assign(rows), self.loss_, f) for one in release.partitions]

    def _f(self, features: Any) -> Floats:  # noqa: ANN401
        check_is_fitted(self, "model_")
        names = sorted({name for one in self.cells_ for name in one.domain.columns})
        return self.model_.predict(read_columns(features, names))

    def _loss_of(self, release: BagTotals) -> SemilinearLoss:
        if not release.partitions:
            raise InvalidInput("must have partitions, got random bags; use RandomBagModel", field="release")
        if self.loss is not None and self.loss != release.loss:
            raise InvalidInput(
                f"must be the release's, {release.loss}, got {self.loss}: its totals are sums of that T(y)",
                field="loss",
            )
        return release.loss


def _columns(release: BagTotals) -> list[str]:
    return sorted({name for partition in release.partitions for name in partition.columns})
