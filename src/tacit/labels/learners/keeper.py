"""A keeper of validation labels: it answers how accurate a model is, with noise, and charges for each answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.labels.learners.validate import AccuracyEstimate
from tacit.privacy.composition import compose
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.payment import Payment, recognise

__all__ = ["ValidationKeeper"]

Column = Sequence[Any] | NDArray[Any]


class ValidationKeeper:
    """Hold true validation labels, and answer questions about accuracy so that each answer costs ``epsilon``.

    An answer is (right + noise)/n: the number of right predictions, which one label moves by at most 1, with discrete
    Laplace noise of scale 1/epsilon. The answers may choose the next question; their epsilons add.

    Unit: one validation label. Not protected: the number of labels, which questions were asked, and the predictions,
    which the asker knows. The labels must be of rows that no other release is made of, or the ledger must know them as
    the same data set.

    Parameters
    ----------
    labels
        The true labels, in the order of the rows.
    epsilon
        What each answer costs.
    payment
        Charged before each answer; its ledger refuses what would overspend.
    rng
        ``system_rng()``, unless the answers are made up for a test.

    References
    ----------
    Das et al. (2024), footnote 4; Ghosh, Roughgarden and Sundararajan (2012).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tacit.privacy import Ledger
    >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
    >>> labels = ["yes", "no"] * 500
    >>> _ = ledger.register(labels, name="validation", budget=Guarantee(unit=Unit.LABEL, epsilon=0.2))
    >>> keeper = ValidationKeeper(labels, epsilon=0.1, payment=Payment(ledger=ledger), rng=np.random.default_rng(0))
    >>> print(keeper.accuracy(["yes"] * 1000))
    0.492 +- 0.014
    >>> print(keeper.guarantee)
    epsilon 0.1 for one label
    """

    def __init__(
        self,
        labels: Column,
        *,
        epsilon: float,
        payment: Payment,
        rng: np.random.Generator,
    ) -> None:
        self._truth = np.asarray(labels, dtype=object)
        if self._truth.ndim != 1 or not len(self._truth):
            raise InvalidInput(f"must be a column of at least one label, got shape {self._truth.shape}", field="labels")
        self._noise = DiscreteLaplace.for_epsilon(epsilon)
        recognise(payment.ledger, labels, dataset=payment.dataset)  # unknown labels are refused here
        self._labels, self._payment = labels, payment
        self._rng = rng
        self._answers = 0

    @property
    def per_answer(self) -> Guarantee:
        """What one answer costs."""
        return self._noise.guarantee(sensitivity=1, unit=Unit.LABEL)

    @property
    def guarantee(self) -> Guarantee:
        """What all answers of this keeper cost together; before the first, nothing."""
        if not self._answers:
            return Guarantee(unit=Unit.LABEL, epsilon=0.0)
        return compose([self.per_answer] * self._answers)

    def accuracy(self, predictions: Column) -> AccuracyEstimate:
        """Return the share of right predictions, noised; its standard error is that of the noise.

        The value is unbiased and may lie outside [0, 1]. Questions that cannot be answered are not charged.

        Raises
        ------
        BudgetExceeded
            The ledger refuses; nothing was charged or answered.
        """
        guesses = np.asarray(predictions, dtype=object)
        if guesses.shape != self._truth.shape:
            raise InvalidInput(
                f"must be one for each of the {len(self._truth)} labels, got shape {guesses.shape}", field="predictions"
            )
        purpose = "accuracy on validation labels"
        self._payment.charge(self.per_answer, self._labels, purpose=purpose)
        self._answers += 1
        n = len(self._truth)
        # as objects: a prediction of another type is wrong, and raises nothing that the labels decide
        right = sum(bool(guess == truth) for guess, truth in zip(guesses.tolist(), self._truth.tolist(), strict=True))
        noised = right + int(self._noise.draw(1, rng=self._rng)[0])
        return AccuracyEstimate(value=noised / n, standard_error=math.sqrt(self._noise.variance) / n)
