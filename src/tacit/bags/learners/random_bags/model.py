"""A linear model or a network, fitted to the mean labels of random bags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit.bags.learners.evaluation import BagPredictor
from tacit.bags.learners.random_bags.noise import L2, center_labels, choose_penalty, is_drowned, membership
from tacit.bags.learners.random_bags.objectives import EasyLabels, RandomBagObjective, UnbiasedObjective
from tacit.bags.learners.random_bags.risk import BagMoments, bag_residuals, label_variance, unbiased_risk
from tacit.bags.learners.training import BatchTraining
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import BagTotals, RandomBags
from tacit.bags.partition.bags import read_columns
from tacit.data import Encoder, open_table
from tacit.privacy.errors import InvalidInput

__all__ = ["RandomBagModel"]

Floats = NDArray[np.float64]


class RandomBagModel(BagPredictor, BaseEstimator):  # type: ignore[misc]
    """Learn a model of rows from the mean labels of random bags.

    Parameters
    ----------
    objective
        :class:`UnbiasedObjective` or :class:`EasyLabels`. None takes :class:`UnbiasedObjective`; in a linear model of
        labels with noise :class:`EasyLabels` where the noise drowns the signal of the bags
        (:func:`~tacit.bags.learners.random_bags.is_drowned`), unless ``l2`` is given.
    columns
        What the model sees; None takes all columns but the private one, and leaves out ids, names and constants.
    hidden
        Widths of hidden layers; none makes the model linear, in the core, without torch.
    l2
        Penalty, half of it times the squared weights (not the intercept); for networks the weight decay. None takes
        0.001, and in linear models adds what the noise asks for
        (:func:`~tacit.bags.learners.random_bags.choose_penalty`); a number is taken unchanged.
    steps
        Quasi-Newton steps at most, for linear models.
    training
        How a network is trained; ``batch_rows`` counts rows, so a batch has batch_rows/m bags, and at least 2.
    most_values
        Values of a text column that get weights of their own; a column with more of them is hashed.
    random_state
        Seed of a network's weights and batches.

    Attributes
    ----------
    encoder_
        How columns became numbers; rows that come later are encoded alike.
    objective_, l2_
        What was fitted, and under which penalty.
    risk_
        The unbiased estimate of the mean of |h - y|^2 over rows, on the bags that were fitted. Bernoulli labels with
        noise have chances clipped to [0, 1]: their estimate is biased.

    References
    ----------
    Chen et al. (2023), Section 4, Theorem 2.

    Examples
    --------
    >>> from tacit.bags import Plan, protect
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=2000)
    >>> y = (x + 0.3 * rng.normal(size=2000) > 0).astype(int)
    >>> plan = Plan(label="y", epsilon=None, mechanism="random:size=4,bags=500")
    >>> model = RandomBagModel().fit(protect(pa.table({"y": y}), plan, rng=rng).totals, pa.table({"x": x}))
    >>> model.score(pa.table({"x": x}), y) > 0.85
    True
    """

    def __init__(
        self,
        objective: RandomBagObjective | None = None,
        *,
        columns: Sequence[str] | None = None,
        hidden: Sequence[int] = (),
        l2: float | None = None,
        steps: int = 500,
        training: BatchTraining | None = None,
        most_values: int = 1000,
        random_state: int | None = None,
    ) -> None:
        self.objective = objective
        self.columns = columns
        self.hidden = hidden
        self.l2 = l2
        self.steps = steps
        self.training = training
        self.most_values = most_values
        self.random_state = random_state

    def fit(self, release: BagTotals, features: Any) -> RandomBagModel:  # noqa: ANN401
        """Train from a release of random bags and the features of the table's rows, in its order."""
        if release.random is None:
            raise InvalidInput("must have random bags, got partitions; use AdditiveModel", field="release")
        if self.l2 is not None and not (np.isfinite(self.l2) and self.l2 >= 0):
            raise InvalidInput(f"must be a finite number >= 0, or None, got {self.l2!r}", field="l2")
        rows = self._read(features, release.label)
        if release.rows is not None and release.rows != rows.num_rows:
            raise InvalidInput(
                f"must be the {release.rows} rows that bags were drawn from, got {rows.num_rows}", field="data"
            )
        self.encoder_ = Encoder.fitted(rows, chosen=self.columns is not None, most_words=self.most_values)
        self.loss_: SemilinearLoss = release.loss
        if self.loss_.class_codes is not None:
            self.classes_ = self.loss_.class_codes
        return self._fit_matrix(self.encoder_.sparse(rows), release.random)

    def _fit_matrix(self, X: sparse.csr_matrix, bags: RandomBags) -> RandomBagModel:
        moments = BagMoments(size=bags.size, rows=X.shape[0])
        centered = center_labels(bags, self.loss_)
        self._choose(X, centered, moments)
        self.model_: Callable[[sparse.csr_matrix], Floats]
        if self.hidden:
            from tacit.bags.learners.random_bags.network import fit_bag_network  # torch is an extra

            training = self.training or BatchTraining()
            self.model_ = fit_bag_network(
                X,
                centered,
                self.objective_,
                moments,
                loss=self.loss_,
                hidden=self.hidden,
                l2=self.l2_,
                training=training,
                seed=self.random_state,
            )
        else:
            self.model_ = _fit_linear(
                X, centered, self.objective_, moments, loss=self.loss_, l2=self.l2_, steps=self.steps
            )
        # a draw of 0 or 1 varies by its own chance alone, whatever noise went into that chance
        excess = label_variance(bags, moments) if bags.bernoulli else bags.targets * bags.variance
        residuals = bag_residuals(bags, self.loss_.mean(self.model_(X)))
        self.risk_ = unbiased_risk(residuals, moments, excess=excess) if len(bags) > 1 else float("nan")
        return self

    def _choose(self, X: sparse.csr_matrix, bags: RandomBags, moments: BagMoments) -> None:
        """Set the objective and the penalty: as given, else as the noise asks for."""
        self.objective_: RandomBagObjective = self.objective or UnbiasedObjective()
        self.l2_ = L2 if self.l2 is None else self.l2
        if self.hidden or self.l2 is not None:
            return
        # with the identity as link the unbiased risk is convex too
        if self.objective is None and not self.loss_.identity_link and is_drowned(X, bags, moments, self.loss_):
            self.objective_ = EasyLabels()
        self.l2_ = choose_penalty(bags, self.objective_, moments, self.loss_)

    def _f(self, features: Any) -> Floats:  # noqa: ANN401
        check_is_fitted(self, "model_")
        return np.asarray(self.model_(self.encoder_.sparse(read_columns(features, self.encoder_.columns()))))

    def _read(self, features: Any, label: str) -> pa.Table:  # noqa: ANN401
        if self.columns is not None:
            return read_columns(features, list(self.columns))
        names = features.column_names if isinstance(features, pa.Table) else open_table(features).columns
        return read_columns(features, [name for name in names if name != label])


class _LinearModel:
    """f = X w + w_0."""

    def __init__(self, weights: Floats, intercept: Floats) -> None:
        self.weights, self.intercept = weights, intercept

    def __call__(self, X: sparse.csr_matrix) -> Floats:
        return np.asarray(X @ self.weights + self.intercept)


def _fit_linear(
    X: sparse.csr_matrix,
    bags: RandomBags,
    objective: RandomBagObjective,
    moments: BagMoments,
    *,
    loss: SemilinearLoss,
    l2: float,
    steps: int,
) -> _LinearModel:
    labels = objective.labels(bags, moments)
    members = membership(bags.rows, X.shape[0])
    K = bags.targets
    start = np.zeros((X.shape[1] + 1, K))
    start[-1] = loss.link(np.clip(bags.labels.mean(axis=0), *_inside(loss))[None, :])[0]

    def value_and_gradient(parameters: Floats) -> tuple[float, Floats]:
        W = parameters.reshape(-1, K)
        f = X @ W[:-1] + W[-1]
        value, slope = objective.at_rows(f, labels, members, loss=loss, moments=moments)
        value += l2 * np.sum(W[:-1] ** 2) / 2
        gradient = np.vstack([X.T @ slope + l2 * W[:-1], slope.sum(axis=0)[None, :]])
        return float(value), gradient.ravel()

    found = minimize(value_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    W = found.x.reshape(-1, K)
    return _LinearModel(W[:-1], W[-1])


def _inside(loss: SemilinearLoss) -> tuple[Floats, Floats]:
    lower, upper = loss.bounds
    return (lower + 1e-3, upper - 1e-3) if np.isfinite(upper).all() else (lower, upper)
