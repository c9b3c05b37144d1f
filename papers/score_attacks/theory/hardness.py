"""Deciding codomain separability is co-NP-hard: Appendix H's reduction, why it does not prove it, and one that does.

The paper reduces from ALMOST-TAUTOLOGY of 3-CNF formulas, which is easy: a clause of three literals is falsified
by 2^(N-3) assignments, so for N > 3 such a formula is an almost tautology only if every clause holds a literal and
its negation. :func:`separable_unless_models` reduces from "a CNF formula has at most one model" instead, which is
co-NP-complete: a formula with one unused variable more has at most one model if and only if it has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from papers.score_attacks.theory.primes import first_primes
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["Formula", "is_almost_tautology", "separable_unless_models", "separates", "separation_function"]

Assignment = tuple[int, ...]
ScoreFunction = Callable[[Assignment, Sequence[int]], int]


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in conjunctive normal form; the literal 3 is x_3, and -3 its negation.

    Parameters
    ----------
    clauses
        Each a tuple of literals.
    variables
        N; at least the largest variable of a clause.

    Examples
    --------
    >>> Formula(((-1, 2, 3), (1, 2, -3)), 3).satisfied((1, 0, 0))
    False
    """

    clauses: tuple[tuple[int, ...], ...]
    variables: int

    def __post_init__(self) -> None:
        check_count(self.variables, name="variables")
        used = [abs(literal) for clause in self.clauses for literal in clause]
        if not self.clauses or 0 in used or max(used, default=0) > self.variables:
            raise InvalidInput(f"clauses must have literals of x_1..x_{self.variables}, got {self.clauses!r}")

    def true_literals(self, assignment: Assignment) -> tuple[int, ...]:
        """Return, for each clause, how many of its literals are true: the additive form of Appendix H.

        Examples
        --------
        >>> Formula(((-1, 2, 3), (1, 2, -3)), 3).true_literals((1, 1, 0))
        (1, 3)
        """
        return tuple(sum(_holds(literal, assignment) for literal in clause) for clause in self.clauses)

    def satisfied(self, assignment: Assignment) -> bool:
        """Return whether every clause has a true literal.

        Examples
        --------
        >>> Formula(((1,), (2,)), 2).satisfied((1, 1))
        True
        """
        return all(self.true_literals(assignment))


def separation_function(formula: Formula) -> ScoreFunction:
    """Return Appendix H's f(sigma, theta) = prod_i C_i(sigma)^theta_i prod_j p_j^sigma_j, primes from 5 on.

    theta holds one whole number >= 1 for each clause. By Lemma 2, f(sigma, theta) differs from f(sigma', theta) if
    and only if sigma or sigma' satisfies the formula.

    References
    ----------
    Aggarwal et al. (2021), equation (13) and Lemma 2. A clause has at most 3 literals, so that no C_i has a prime
    factor above 3.

    Examples
    --------
    >>> f = separation_function(Formula(((-1, 2, 3), (1, 2, -3), (1, 2, -3)), 3))
    >>> f((1, 1, 0), (1, 1, 1)) == 5 * 7 * 1 * 3 * 3
    True
    """
    if max(len(clause) for clause in formula.clauses) > 3:
        raise InvalidInput("formula must have clauses of at most 3 literals, got a longer one")
    primes = first_primes(formula.variables + 2)[2:]

    def value(assignment: Assignment, theta: Sequence[int]) -> int:
        _check_exponents(theta, count=len(formula.clauses))
        clauses = zip(formula.true_literals(assignment), theta, strict=True)
        return math.prod(int(true**power) for true, power in clauses) * _prime_product(primes, assignment)

    return value


def separable_unless_models(formula: Formula) -> ScoreFunction:
    """Return f(sigma, theta) = U(sigma)^theta_1 prod_j p_j^sigma_j, U the number of clauses that sigma falsifies.

    The primes exceed the number of clauses, so values other than 0 are distinct, and f is 0 at the models of the
    formula: f separates, for every theta, if and only if the formula has at most one model. f is computed in
    polynomial time, and "at most one model" is co-NP-complete: this proves Theorem 10.

    Examples
    --------
    >>> contradiction = Formula(((1,), (-1,)), 2)
    >>> separates(separable_unless_models(contradiction), contradiction.variables, theta=(1,))
    True
    """
    bound = len(formula.clauses)
    many = first_primes(formula.variables + bound)
    primes = [p for p in many if p > bound][: formula.variables]

    def value(assignment: Assignment, theta: Sequence[int]) -> int:
        _check_exponents(theta, count=1)
        falsified = formula.true_literals(assignment).count(0)
        return int(falsified ** theta[0]) * _prime_product(primes, assignment)

    return value


def separates(value: ScoreFunction, rows: int, *, theta: Sequence[int]) -> bool:
    """Return whether f(., theta) is distinct on all 2^N labelings.

    Examples
    --------
    >>> separates(lambda sigma, theta: sum(sigma), 2, theta=())
    False
    """
    values = {value(sigma, theta) for sigma in product((0, 1), repeat=rows)}
    return len(values) == int(2**rows)


def is_almost_tautology(formula: Formula) -> bool:
    """Decide in polynomial time whether at most one assignment falsifies a formula in conjunctive normal form.

    A clause of k distinct variables, none with its negation, is falsified by 2^(N-k) assignments, so it must
    hold all N variables, and all such clauses must falsify the same assignment. Lemma 1 calls this co-NP-complete.

    Examples
    --------
    >>> is_almost_tautology(Formula(((1, 2, 3), (1, -1, 2)), 3))
    True
    >>> is_almost_tautology(Formula(((1, 2, 3),), 4))
    False
    """
    literals: Iterable[frozenset[int]] = {frozenset(clause) for clause in formula.clauses}
    falsifiable = {clause for clause in literals if not any(-literal in clause for literal in clause)}
    return not falsifiable or (len(falsifiable) == 1 and len(next(iter(falsifiable))) == formula.variables)


def _holds(literal: int, assignment: Assignment) -> int:
    value = assignment[abs(literal) - 1]
    return value if literal > 0 else 1 - value


def _prime_product(primes: Sequence[int], assignment: Assignment) -> int:
    return math.prod(p for p, bit in zip(primes, assignment, strict=True) if bit)


def _check_exponents(theta: Sequence[int], *, count: int) -> None:
    if len(theta) != count or min(theta) < 1:
        raise InvalidInput(f"theta must have {count} whole numbers >= 1, got {tuple(theta)!r}")
