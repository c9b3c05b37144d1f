"""Did it act: valid p-values, and controls on both sides."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from tacit.labels.attacks.randomization import test_independence, test_randomization
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy import InvalidInput

SURE = 1e-6
ROWS = 20_000


def respond(labels, *, epsilon, classes, rng):
    return RandomizedResponse(epsilon=epsilon, classes=classes).randomize(labels, rng=rng)


def skewed(classes, rng, rows=ROWS):
    return rng.choice(classes, rows, p=np.arange(1, classes + 1) / (classes * (classes + 1) / 2))


@pytest.mark.parametrize(("classes", "rows"), [(2, 30), (2, 1000), (5, 200), (10, 1000)])
def test_p_values_are_valid(classes, rows):
    runs, rng = 400, np.random.default_rng(0)
    small = {"p_value": 0, "p_too_little_noise": 0, "p_too_much_noise": 0, "p_switches": 0, "p_repeated_draws": 0}
    for _ in range(runs):
        labels = skewed(classes, rng, rows)
        given = respond(labels, epsilon=1.0, classes=classes, rng=rng)
        test = test_randomization(labels, given, epsilon=1.0, classes=range(classes))
        for name in small:
            small[name] += getattr(test, name) <= 0.05
    for count in small.values():
        assert count / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert small["p_too_little_noise"] > 0


@pytest.mark.parametrize("classes", [2, 4])
def test_randomized_response_is_recognized(classes):
    rng = np.random.default_rng(1)
    labels = skewed(classes, rng)
    test = test_randomization(labels, respond(labels, epsilon=1.0, classes=classes, rng=rng), epsilon=1.0)
    assert test.acted(significance=SURE)
    assert test.epsilon.low < 1.0 < test.epsilon.high
    assert test.epsilon.high - test.epsilon.low < 0.1
    assert "consistent with randomized response" in str(test)


@pytest.mark.parametrize("classes", [2, 4])
def test_control_a_copy_is_caught(classes):
    labels = skewed(classes, np.random.default_rng(2))
    test = test_randomization(labels, labels, epsilon=1.0)
    assert test.p_value < SURE
    assert test.p_too_little_noise < SURE < test.p_too_much_noise
    assert test.epsilon.high == math.inf
    assert test.epsilon.low > 5
    assert "too little noise" in str(test)


@pytest.mark.parametrize("classes", [2, 4])
def test_control_too_little_and_too_much_noise_are_caught(classes):
    rng = np.random.default_rng(3)
    labels = skewed(classes, rng)
    for real, name, other in (
        (1.3, "p_too_little_noise", "p_too_much_noise"),
        (0.7, "p_too_much_noise", "p_too_little_noise"),
    ):
        test = test_randomization(labels, respond(labels, epsilon=real, classes=classes, rng=rng), epsilon=1.0)
        assert getattr(test, name) < SURE < getattr(test, other)
        assert test.epsilon.low < real < test.epsilon.high
        assert not test.acted(significance=SURE)
        assert name[2:].replace("_", " ") in str(test)


@pytest.mark.parametrize("classes", [2, 4])
def test_control_other_labels_are_caught(classes):
    rng = np.random.default_rng(4)
    labels, others = skewed(classes, rng), skewed(classes, rng)
    assert test_randomization(labels, others, epsilon=1.0).p_too_much_noise < SURE
    # randomized response of another column
    test = test_randomization(labels, respond(others, epsilon=1.0, classes=classes, rng=rng), epsilon=1.0)
    assert test.p_value < SURE
    assert test.epsilon.low < 0.2


def test_control_switching_to_the_next_class_is_caught():
    rng = np.random.default_rng(5)
    labels = skewed(4, rng)
    keep = RandomizedResponse(epsilon=1.0, classes=4).transition()[0, 0]
    given = np.where(rng.random(ROWS) < keep, labels, (labels + 1) % 4)
    test = test_randomization(labels, given, epsilon=1.0)
    assert min(test.p_too_little_noise, test.p_too_much_noise) > SURE
    assert test.p_switches < SURE
    assert "another pattern" in str(test)


def test_control_keeping_one_class_more_is_caught():
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 2, ROWS)
    keep = RandomizedResponse(epsilon=1.0, classes=2).transition()[0, 0]
    rates = np.array([keep + 0.05, keep - 0.05])
    given = np.where(rng.random(ROWS) < rates[labels], labels, 1 - labels)
    test = test_randomization(labels, given, epsilon=1.0)
    assert min(test.p_too_little_noise, test.p_too_much_noise) > SURE
    assert test.p_switches < SURE


def test_the_p_values_are_the_binomial_tails():
    before, after = [0] * 10, [0] * 9 + [1]
    keep = RandomizedResponse(epsilon=0.5, classes=2).transition()[0, 0]
    test = test_randomization(before, after, epsilon=0.5, classes=[0, 1])
    assert (test.rows, test.kept) == (10, 9)
    assert test.p_too_little_noise == pytest.approx(binom.pmf([9, 10], 10, keep).sum())
    assert test.p_too_much_noise == pytest.approx(1 - binom.pmf(10, 10, keep))
    assert test.p_switches == pytest.approx(min(1.0, 2 * 2 * binom.pmf([9, 10], 10, keep).sum()))


def test_strings_and_missing_labels():
    before = ["no", None, "yes", "yes"] * 300
    after = ["no", None, "yes", "no"] * 300
    test = test_randomization(before, after, epsilon=math.log(2))
    assert (test.rows, test.kept, test.expected) == (900, 600, pytest.approx(2 / 3))
    assert test.p_switches < SURE, "one class is always kept"


def test_a_class_that_no_longer_occurs():
    assert test_randomization(["a", "b"], ["a", "a"], epsilon=1.0).rows == 2
    assert test_randomization(["a", "b"], ["c", "c"], epsilon=1.0).kept == 0


def test_bad_input_is_refused():
    nothing = pa.nulls(3, pa.int64())
    cases = {
        "one label for each of the 2": lambda: test_randomization([0, 1], [0, 1, 1], epsilon=1.0),
        "must be missing where before is": lambda: test_randomization([0, 1, 1], [0, 1, None], epsilon=1.0),
        "at least one label": lambda: test_randomization(nothing, nothing, epsilon=1.0, classes=[0, 1]),
        "labels must be among": lambda: test_randomization([0, 1], [0, 2], epsilon=1.0, classes=[0, 1]),
        "epsilon must be": lambda: test_randomization([0, 1], [0, 1], epsilon=0.0),
        "classes must be at least two": lambda: test_randomization([0, 0], [0, 0], epsilon=1.0),
        "significance must be": lambda: test_randomization([0, 1], [0, 1], epsilon=1.0).acted(significance=0.0),
    }
    for message, call in cases.items():
        with pytest.raises(InvalidInput, match=message):
            call()


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_draws_that_are_used_again_are_caught(epsilon):
    """The same hundred draws for every block of 100 rows, with the right share of switches: counts are in order."""
    rng, rate = np.random.default_rng(7), 1 / (1 + math.exp(epsilon))
    labels, block = rng.integers(0, 2, 10_000), rng.permutation(np.arange(100) < round(100 * rate))
    reused = np.where(np.resize(block, len(labels)), 1 - labels, labels)
    test = test_randomization(labels, reused, epsilon=epsilon)
    assert test.p_repeated_draws < SURE < min(test.p_too_little_noise, test.p_too_much_noise)
    assert not test.acted()
    assert "the same draws used for several rows" in str(test)


def test_two_releases_with_one_seed_are_caught():
    labels = np.random.default_rng(8).integers(0, 2, 10_000)
    first, again, other = (
        respond(labels, epsilon=1.0, classes=2, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert test_independence(labels, first, again, epsilon=1.0) < SURE
    assert test_independence(labels, first, other, epsilon=1.0) > 0.01


def test_a_class_that_only_the_second_release_has_counts():
    assert test_independence(["a", "b"] * 20, ["a", "b"] * 20, ["b", "c"] * 20, epsilon=1.0) == 1.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 6.0])
def test_independent_draws_pass(epsilon):
    """Of 200 honest runs at most a few have a small p-value, also where switches are rare."""
    rng, low = np.random.default_rng(9), 0
    for _ in range(200):
        labels = rng.integers(0, 2, 1000)
        test = test_randomization(labels, respond(labels, epsilon=epsilon, classes=2, rng=rng), epsilon=epsilon)
        low += test.p_repeated_draws <= 0.05
    assert low <= 20
