"""What a noisy selection finds, against simulation, and the division of epsilon."""

import numpy as np
import pytest

from papers.private_fisher.theory import ReleasedMeans, independence_rule_error
from tacit.features.mechanisms.budget import BudgetSplit, reference_error, split_budget
from tacit.features.mechanisms.selected_share import mean_gap_tail, share_found
from tacit.privacy.noise import gaussian_scale


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


def test_the_reference_error_is_that_of_the_independence_rule():
    split = BudgetSplit(class_rows=0.0, selection=0.0, release=1.0, labels=0.0)
    noise = 2 * 4**0.5 * gaussian_scale(1.0, delta=1e-6) / 1500
    means = ReleasedMeans.of_sums(sigma=1 / 3, noise=(noise, noise), rows=(1500, 1500), features=4)
    direct = independence_rule_error(np.full(4, 0.5), means)
    assert reference_error(split, delta=1e-6, features=4, keep=4, rows=3000) == pytest.approx(direct)
