"""The error of the independence rule under noise, selection and the division of epsilon, against simulation."""

import numpy as np
import pytest
from scipy.stats import norm

from tacit.features.mechanisms.budget import reference_error, split_budget
from tacit.features.theory import ReleasedMeans, independence_rule_error, mean_gap_tail, share_found
from tacit.privacy import InvalidInput


@pytest.mark.parametrize("noise", [0.0, 1.5])
@pytest.mark.parametrize("noisy_test", [False, True])
def test_error_of_the_independence_rule_by_simulation(noise, noisy_test):
    """The rule that knows the variances, over many training sets; a fresh row's error has the closed form."""
    rng = np.random.default_rng(7)
    gaps, n, p = np.array([1.0, 0.8, 0.5] + [0.0] * 9), 40, 12
    means = ReleasedMeans.of_rows(sigma=1.0, noise=noise, rows=(n, n), features=p, noisy_test=noisy_test)
    spread = np.sqrt(1 + noise**2)
    first = gaps + rng.normal(size=(20_000, p)) * spread / np.sqrt(n)
    second = rng.normal(size=(20_000, p)) * spread / np.sqrt(n)
    direction, middle = first - second, (first + second) / 2
    test_spread = np.sqrt(means.test_variance[0])
    # given the training set a fresh row of class 1 is on the wrong side with this chance
    distance = ((gaps - middle) * direction).sum(axis=1) / (test_spread * np.linalg.norm(direction, axis=1))
    simulated = norm.sf(distance).mean()
    predicted = independence_rule_error(gaps, means)
    assert simulated == pytest.approx(predicted, abs=0.012)
    without = independence_rule_error(gaps, ReleasedMeans.of_rows(sigma=1.0, noise=0.0, rows=(n, n), features=p))
    if noise:
        assert abs(simulated - without) > 0.02  # a theory that forgets the noise is caught


def test_gap_tail_by_simulation():
    rng = np.random.default_rng(9)
    drawn = rng.normal(scale=0.7, size=400_000) + rng.laplace(scale=1.3, size=400_000)
    for x in (0.0, 0.5, 2.0, 4.0):
        assert (drawn > x).mean() == pytest.approx(float(mean_gap_tail(x, deviation=0.7, noise=1.3)), abs=0.004)


@pytest.mark.parametrize(("gap", "noise"), [(0.6, 0.0), (0.5, 0.1), (0.5, 0.6)])
def test_share_found_by_simulation(gap, noise):
    rng = np.random.default_rng(12)
    chosen, others, s = 20, 180, 0.2
    scores = np.abs(np.append(np.full(chosen, gap), np.zeros(others)) + rng.normal(scale=s, size=(2000, 200)))
    scores += rng.laplace(scale=noise, size=scores.shape) if noise else 0.0
    top = np.argpartition(-scores, chosen, axis=1)[:, :chosen]
    found = (top < chosen).mean()
    assert share_found(gap, chosen=chosen, others=others, deviation=s, noise=noise) == pytest.approx(found, abs=0.06)
    assert share_found(gap, chosen=chosen, others=others, deviation=s, noise=3 * noise + 0.2) < found - 0.03


def test_wrong_shapes_are_refused():
    with pytest.raises(InvalidInput, match="gaps must be one finite number for each of 3 features"):
        independence_rule_error([1.0], ReleasedMeans.of_rows(sigma=1.0, noise=0.0, rows=(5, 5), features=3))


SIZES = {"features": 60, "keep": 4, "rows": 3000}


@pytest.mark.parametrize("releases_labels", [True, False])
def test_a_division_adds_up_and_more_epsilon_errs_less(releases_labels):
    given = {"delta": 1e-6, **SIZES}
    splits = [split_budget(epsilon, **given, releases_labels=releases_labels) for epsilon in (1.0, 4.0, 16.0)]
    assert [split.whole for split in splits] == [1.0, 4.0, 16.0]
    errors = [reference_error(split, **given) for split in splits]
    assert errors == sorted(errors, reverse=True)
    assert all((split.labels > 0) == releases_labels for split in splits)


@pytest.mark.parametrize(("part", "name"), [("label_epsilon", "labels"), ("selection_epsilon", "selection")])
def test_a_division_is_the_best_of_its_grid(part, name):
    given = {"delta": 1e-6, **SIZES}
    best = split_budget(4.0, **given, releases_labels=True)
    for epsilon in (0.2, 1.0, 2.4):
        fixed = split_budget(4.0, **given, releases_labels=True, **{part: epsilon})
        assert getattr(fixed, name) == epsilon
        assert reference_error(fixed, **given) >= reference_error(best, **given) - 1e-12


def test_nothing_is_spent_on_choosing_where_all_are_kept():
    split = split_budget(1.0, delta=1e-6, features=4, keep=4, rows=3000, releases_labels=False)
    assert (split.class_rows, split.selection, split.release) == (0.0, 0.0, 1.0)
