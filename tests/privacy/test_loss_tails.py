import threading
from fractions import Fraction

import mpmath
import pytest

from tacit.privacy.loss import tails


def brute_force(m, s):
    with mpmath.workprec(400):
        rate = mpmath.mpf(s.denominator) ** 2 / (2 * mpmath.mpf(s.numerator) ** 2)
        reach = int(30 * s) + abs(m) + 5
        return mpmath.fsum(mpmath.exp(-rate * k * k) for k in range(m, reach))


@pytest.mark.parametrize("s", [Fraction(1, 4), Fraction(1), Fraction(31, 2), Fraction(16), Fraction(70, 3)])
@pytest.mark.parametrize("m", [-40, 0, 1, 9, 60])
def test_tails_are_within_their_error(m, s):
    tail, error = tails.bell_tail(m, s)
    with mpmath.workprec(400):
        gap = abs(tail - brute_force(m, s))
        assert gap <= error
        assert error <= 1e-40 * max(tail, mpmath.mpf(10) ** -60)


@pytest.mark.parametrize("s", [Fraction(1, 4), Fraction(1), Fraction(16), Fraction(50)])
def test_totals_are_within_their_error(s):
    total, error = tails.bell_total(s)
    with mpmath.workprec(400):
        assert abs(total - brute_force(-int(30 * s) - 5, s)) <= error


@pytest.mark.parametrize("m", [1, 40, 200])
def test_terms_and_integral_agree(m):
    direct, direct_error = tails._by_terms(m, Fraction(20))
    smooth, smooth_error = tails._by_integral(m, Fraction(20))
    assert abs(direct - smooth) <= direct_error + smooth_error


def test_control_the_bare_integral_is_outside_the_error():
    smooth, error = tails._by_integral(40, Fraction(20))
    mp = tails.context()
    bare = 20 * mp.sqrt(mp.pi / 2) * mp.erfc(2 / mp.sqrt(2))
    assert abs(bare - smooth) > error


def test_each_thread_has_its_own_precision():
    seen = []
    worker = threading.Thread(target=lambda: seen.append(tails.context()))
    worker.start()
    worker.join()
    assert seen[0] is not tails.context()
    assert seen[0].prec == tails.context().prec == 240
