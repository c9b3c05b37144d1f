import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy.noise.digits import below, uniform_digits, uniform_words


class Script:
    """Stands for a generator whose 64-bit words are known beforehand."""

    def __init__(self, words):
        self.words = list(words)

    def integers(self, low, high, *, size, dtype, endpoint):
        assert (low, high, dtype, endpoint) == (0, 2**64 - 1, np.uint64, True)
        taken, self.words = self.words[:size], self.words[size:]
        return np.array(taken, dtype=np.uint64)


@given(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=5), st.data())
def test_one_number_is_below_exactly_when_it_is(threshold, data):
    # neighbors of the threshold's digits, so that ties are deep
    near = [st.sampled_from([d, max(d - 1, 0), min(d + 1, 2**16 - 1)]) for d in threshold]
    number = [data.draw(digit) for digit in near]
    result = below(1, digit=lambda level, _: threshold[level], levels=len(threshold), rng=Script(number))
    assert result.tolist() == [number < threshold]


@pytest.mark.parametrize("first", [0, 1, 0x1234, 0xFFFF])
def test_the_first_digit_is_decided_by_counting(first):
    words = np.arange(2**16, dtype=np.uint16).view(np.uint64)
    for second, drawn in [(5, 4), (5, 5), (5, 6)]:
        script = Script([*words, drawn])
        result = below(2**16, digit=lambda level, _, s=second: (first, s)[level], levels=2, rng=script)
        assert result.sum() == first + (drawn < second)


def test_each_row_has_its_own_threshold():
    digits = np.array([[7, 7, 7], [9, 0, 3]], dtype=np.uint16)
    script = Script([7 | 7 << 16 | 7 << 32, 5 | 0 << 16 | 3 << 32])
    result = below(3, digit=lambda level, rows: digits[level][rows], levels=2, rng=script)
    assert result.tolist() == [True, False, False]


def test_digits_are_the_words_in_order():
    script = Script([0x0003_0002_0001_0000, 0x0007_0006_0005_0004])
    assert uniform_digits(6, rng=script).tolist() == [0, 1, 2, 3, 4, 5]


def test_the_same_seed_gives_the_same_bits():
    one, two = (uniform_words(5, rng=np.random.default_rng(3)) for _ in range(2))
    assert (one == two).all()
    assert (one != uniform_words(5, rng=np.random.default_rng(4))).all()
