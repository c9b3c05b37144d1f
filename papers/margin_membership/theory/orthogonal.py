"""Theorem 4.2 with its constants corrected, and the margin that a training loss proves (Corollary 4.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.models.attacks.margin import check_outputs
from tacit.models.margin.labels import check_points
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["BoundedMargin", "Orthogonality", "least_margin", "measure_orthogonality"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Orthogonality:
    """How orthogonal n points are, and what that implies at any KKT point of margin m.

    With A_l = sum over neurons with v_j > 0 (or those with v_j < 0) of v_j^2 lambda_l s_lj:

    - gap g = Delta + 1 - 2 (delta + 1)(n - 1), and A_l <= m/g where g > 0 (Lemma B.1, printed with delta for
      delta + 1);
    - A_l >= m (1 - (delta + 1)(n - 1)/g)/(|x_l|^2 + 1) over the neurons of the label's sign (Lemma B.2, printed with
      Delta for |x_l|^2);
    - a fresh x has |Phi(x)| <= n (delta_x + 1) m/g (Theorem 4.2, printed without the 1).

    The lower bound is positive, so all points lie on the margin, exactly where 3 (delta + 1)(n - 1) < Delta + 1.

    Parameters
    ----------
    squares
        |x_l|^2 of each point; Delta is the least of them.
    delta
        max |x_i . x_j| over i != j; 0 for a single point.

    References
    ----------
    Paper 004, Lemmas B.1 and B.2, Theorem 4.2; counterexamples to the printed constants are tests.
    """

    squares: Floats
    delta: float

    def __post_init__(self) -> None:
        squares = np.array(self.squares, dtype=np.float64)
        squares.setflags(write=False)
        object.__setattr__(self, "squares", squares)

    @property
    def rows(self) -> int:
        """n, the number of points."""
        return len(self.squares)

    @property
    def least_square(self) -> float:
        """Delta, the least squared norm."""
        return float(self.squares.min())

    @property
    def gap(self) -> float:
        """The gap Delta + 1 - 2 (delta + 1)(n - 1); the bounds say nothing where it is not positive."""
        return self.least_square + 1 - 2 * (self.delta + 1) * (self.rows - 1)

    @property
    def holds(self) -> bool:
        """Whether every point is proved to lie on the margin, whatever the labels."""
        return 3 * (self.delta + 1) * (self.rows - 1) < self.least_square + 1

    def upper(self, *, margin: float) -> float:
        """Return m/g, above every A_l; infinite if the gap is not positive."""
        return margin / self.gap if self.gap > 0 else math.inf

    def lower(self, *, margin: float) -> Floats:
        """Return a number below each A_l of the label's sign; not positive where it proves nothing."""
        taken = (self.delta + 1) * (self.rows - 1) * self.upper(margin=margin) if self.rows > 1 else 0.0
        return np.asarray((margin - taken) / (self.squares + 1))

    def fresh(self, overlaps: ArrayLike, *, margin: float) -> Floats:
        """Return n (delta_x + 1) m/g for points x with ``overlaps`` delta_x = max |x_i . x|: |Phi(x)| is at most this.

        The two signs of v_j oppose each other in Phi, so the printed proof's factor 2 is not needed.
        """
        return np.asarray(self.rows * (np.asarray(overlaps, dtype=np.float64) + 1) * self.upper(margin=margin))


def measure_orthogonality(X: ArrayLike) -> Orthogonality:
    """Return delta and Delta of the rows."""
    rows = check_points(X)
    products = rows @ rows.T
    squares = np.diag(products).copy()
    np.fill_diagonal(products, 0.0)
    return Orthogonality(squares=squares, delta=float(np.abs(products).max()))


def least_margin(mean_loss: float, *, on_margin: float = 0.5) -> float:
    """Return -ln(e^(L/s) - 1): the margin that a mean logistic loss below L proves when a share s of points ties there.

    Remark B.5 is L = 1/(2e), s = 1/2: the printed conclusion m > 1/e is weaker than what its steps give.
    """
    if not mean_loss > 0:
        raise InvalidInput(f"must be > 0, got {mean_loss}", field="mean_loss")
    if not 0 < on_margin <= 1:
        raise InvalidInput(f"must be a share above 0 and at most 1, got {on_margin}", field="on_margin")
    return -math.log(math.expm1(mean_loss / on_margin))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMargin:
    """Call x a training point where |Phi(x)| is at or above a lower bound C on the margin.

    ``least_margin`` gives such a bound from the training loss.

    References
    ----------
    Paper 004, Corollary 4.5 and Remark B.5.
    """

    least: float

    def __post_init__(self) -> None:
        if not 0 < self.least < np.inf:
            raise InvalidInput(f"must be > 0 and finite, got {self.least}", field="least")

    @property
    def threshold(self) -> float:
        """C itself."""
        return self.least

    def score(self, outputs: ArrayLike) -> Floats:
        """Return |Phi|."""
        return np.abs(check_outputs(outputs, name="outputs"))
