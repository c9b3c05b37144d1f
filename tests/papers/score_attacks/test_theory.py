"""The negative results corrected, predictions from primes, and the hardness reductions."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from papers.score_attacks.losses import ArbitraryPrecision, ZeroOne
from papers.score_attacks.separation import codomain_gap
from papers.score_attacks.theory import (
    Formula,
    bounded_limit,
    discrete_limit,
    first_primes,
    is_almost_tautology,
    labels_of_product,
    monotone_limit,
    prime_matrix,
    separable_unless_models,
    separates,
    separation_function,
)
from tacit.privacy.errors import InvalidInput
from tacit.scores.losses import ClippedCrossEntropy

# Appendix I.


def test_theorem_11_holds_from_two_rows_on():
    assert codomain_gap(ZeroOne(), [0]) == discrete_limit(1) == 1  # one row: the printed theorem denies it
    for rows in (2, 3):
        assert discrete_limit(rows) == 0
        for prediction in product((0, 1), repeat=rows):
            assert codomain_gap(ZeroOne(), prediction) == 0


def test_theorem_11_for_other_norms():
    for power in (0.5, 1, 2, 3):
        scores = {}
        for labels in product((0, 1), repeat=3):
            scores.setdefault(round(sum(labels) ** (1 / power), 9), []).append(labels)
        assert max(len(group) for group in scores.values()) > 1


def test_theorem_12_has_no_half():
    # One row, f = 0 without it and 1 with it: the gap is 1, which the printed bound 1/2 denies.
    gap = 1.0
    limit = monotone_limit(lambda ones: float(len(ones)), 1)
    assert limit / 2 < gap <= limit


def test_theorem_12_corrected_bounds_every_monotone_function():
    rng = np.random.default_rng(7)
    for _ in range(50):
        weights = rng.uniform(0.1, 3.0, 4)

        def value(ones, weights=weights):
            return float(sum(weights[i] for i in ones)) ** 1.3

        subsets = [frozenset(s) for size in range(5) for s in combinations(range(4), size)]
        values = sorted(value(s) for s in subsets)
        gap = min(high - low for low, high in pairwise(values))
        assert gap <= monotone_limit(value, 4)
    with pytest.raises(InvalidInput, match="must be monotone"):
        monotone_limit(lambda ones: -float(len(ones)), 2)


def test_theorem_13_is_weaker_than_counting():
    for rows in (2, 3, 6):
        assert bounded_limit(1.0, rows) < 1.0 / rows
        # Reached: digits over the whole interval.
        weights = [Fraction(2**i, 2**rows - 1) for i in range(rows)]
        sums = sorted(
            sum(w for w, y in zip(weights, labels, strict=True) if y) for labels in product((0, 1), repeat=rows)
        )
        gap = min(high - low for low, high in pairwise(sums))
        assert sums[-1] == 1
        assert float(gap) == pytest.approx(bounded_limit(1.0, rows))
    assert bounded_limit(1.0, 1) == 1.0
    assert bounded_limit(2.0, 5000) == 0.0  # no overflow


# Appendix E.


def test_prime_matrix_of_appendix_e():
    assert prime_matrix(2, 3) == [
        [Fraction(2, 10), Fraction(3, 10), Fraction(5, 10)],
        [Fraction(7, 31), Fraction(11, 31), Fraction(13, 31)],
    ]


@pytest.mark.parametrize(("rows", "classes"), [(2, 3), (4, 2), (3, 4)])
def test_prime_matrix_scores_are_distinct_and_decode(rows, classes):
    matrix, loss = prime_matrix(rows, classes), ClippedCrossEntropy(classes=classes)
    precision = ArbitraryPrecision(bits=300)
    predictions = precision.array(np.array(matrix, dtype=object))
    assert codomain_gap(loss, predictions, precision=precision) > 0
    primes = first_primes(rows * classes)
    sums = [sum(primes[i * classes : (i + 1) * classes]) for i in range(rows)]
    for labels in product(range(classes), repeat=rows):
        score = loss.score(labels, predictions, precision=precision)
        with precision.active():
            value = precision.exp(precision.array([-rows * score]))[0] * math.prod(sums)
        assert labels_of_product(round(value), rows, classes) == list(labels)


def test_labels_of_a_wrong_product_are_refused():
    with pytest.raises(InvalidInput, match="one prime of each row, got 2 for row 0"):
        labels_of_product(2 * 3 * 7, 2, 3)


def test_primes():
    naive = [n for n in range(2, 8000) if all(n % d for d in range(2, math.isqrt(n) + 1))]
    for count in (0, 1, 5, 6, 7, 100, 1000):
        assert first_primes(count) == naive[:count]


# Appendix H.


def random_formula(rng, variables, *, clauses=None):
    literals = [v for v in range(-variables, variables + 1) if v]
    count = clauses or variables
    return Formula(tuple(tuple(int(v) for v in rng.choice(literals, 3)) for _ in range(count)), variables)


def falsifying(formula):
    return [s for s in product((0, 1), repeat=formula.variables) if not formula.satisfied(s)]


def test_worked_example_of_the_reduction():
    formula = Formula(((-1, 2, 3), (1, 2, -3), (1, 2, -3)), 3)
    f = separation_function(formula)
    for s1, s2, s3 in product((0, 1), repeat=3):
        expected = 5**s1 * 7**s2 * 11**s3 * (1 - s1 + s2 + s3) ** 2 * (1 + s1 + s2 - s3) ** (3 + 4)
        assert f((s1, s2, s3), (2, 3, 4)) == expected


def test_lemma_2():
    rng = np.random.default_rng(8)
    for _ in range(30):
        formula = random_formula(rng, int(rng.integers(3, 6)))
        f, theta = separation_function(formula), tuple(int(t) for t in rng.integers(1, 4, len(formula.clauses)))
        for first, second in combinations(product((0, 1), repeat=formula.variables), 2):
            either = formula.satisfied(first) or formula.satisfied(second)
            assert (f(first, theta) != f(second, theta)) == either


def test_theorem_10_reduction_as_printed_is_right_about_separability():
    rng = np.random.default_rng(9)
    seen = set()
    formulas = [random_formula(rng, 3) for _ in range(60)]
    formulas += [Formula(((1, 2, 3), (1, -1, 2), (3, -3, 1)), 3), Formula(((1, -1, 2),) * 3, 3)]
    for formula in formulas:
        almost = len(falsifying(formula)) <= 1
        seen.add(almost)
        theta = (1,) * len(formula.clauses)
        assert separates(separation_function(formula), formula.variables, theta=theta) == almost
    assert seen == {True, False}


def test_lemma_1_is_false_almost_tautologies_in_cnf_are_decided_in_polynomial_time():
    rng = np.random.default_rng(10)
    verdicts = []
    for _ in range(400):
        variables = int(rng.integers(1, 6))
        formula = random_formula(rng, variables, clauses=int(rng.integers(1, 4)))
        verdicts.append(is_almost_tautology(formula))
        assert verdicts[-1] == (len(falsifying(formula)) <= 1)
    assert any(verdicts)
    assert not all(verdicts)


def test_theorem_10_corrected_separable_if_and_only_if_at_most_one_model():
    rng = np.random.default_rng(11)
    counts = set()
    for _ in range(80):
        variables = int(rng.integers(2, 6))
        formula = random_formula(rng, variables, clauses=int(rng.integers(2, 25)))
        models = sum(formula.satisfied(s) for s in product((0, 1), repeat=variables))
        counts.add(min(models, 2))
        for theta in ((1,), (3,)):
            assert separates(separable_unless_models(formula), variables, theta=theta) == (models <= 1)
        # One unused variable more: separable if and only if the formula has no model at all.
        padded = Formula(formula.clauses, variables + 1)
        assert separates(separable_unless_models(padded), variables + 1, theta=(1,)) == (models == 0)
    assert counts == {0, 1, 2}


def test_bad_formulas_are_refused():
    for make in (lambda: Formula((), 2), lambda: Formula(((3,),), 2), lambda: Formula(((0,),), 2)):
        with pytest.raises(InvalidInput, match="clauses must have literals"):
            make()
    with pytest.raises(InvalidInput, match="at most 3 literals"):
        separation_function(Formula(((1, 2, 3, 4),), 4))
    with pytest.raises(InvalidInput, match="theta must have 1 whole numbers >= 1"):
        separation_function(Formula(((1, 2, 3),), 3))((0, 0, 0), (0,))
