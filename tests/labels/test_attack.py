"""The attack on a release: with and without truth, features and an earlier release."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.labels import Plan, attack, protect
from tacit.labels.attacks.order import with_order
from tacit.privacy import InvalidInput

RNG = np.random.default_rng


def visits(rows=4000):
    rng = RNG(0)
    age = rng.normal(50, 15, rows)
    ill = np.where(rng.random(rows) < 1 / (1 + np.exp(-(age - 50) / 4)), "yes", "no")
    return pa.table({"id": np.arange(rows), "age": age, "ill": ill})


def released(*, seed=0, epsilon=1, **asked):
    return protect(visits(), Plan(label="ill", epsilon=epsilon, **asked), rng=RNG(seed))


def test_without_truth_nothing_is_counted_and_the_notes_say_what_is_expected():
    blind, counted = attack(released()), attack(released(), truth=visits())
    assert blind.trials == 0
    assert "73.1% of its guesses to be correct" in blind.notes[1]
    assert blind.facts["alone"]["expected_rate"] == pytest.approx(counted.rate, abs=0.02)
    assert blind.after.shape == (4000, 2)


def test_features_help_and_the_guesses_are_a_row_each():
    alone, both = (attack(released(), data=data, truth=visits(), rng=RNG(0)) for data in (None, visits().drop(["id"])))
    assert both.rate > alone.rate + 0.1
    assert both.guesses.num_rows == 4000
    assert both.guesses.column_names == ["guess", "confidence"]
    right = np.mean(both.guesses["guess"].to_numpy() == visits()["ill"].to_numpy())
    assert right == both.rate


def test_two_releases_are_attacked_together():
    first, second = released(seed=1), released(seed=2, epsilon=2)
    one = attack(first, truth=visits())
    two = attack(second, before=one.after, truth=visits())
    assert two.rate > one.rate + 0.02
    assert two.baseline == one.rate, "the rival knows the first release"
    with pytest.raises(InvalidInput, match="one row, or one for each of 4000"):
        attack(second, before=one.after[:10])


def test_rows_without_an_order_are_matched_by_a_column():
    shuffled = released(features=("id",), shuffle=True)
    leak = attack(shuffled, data=visits(), truth=visits(), rng=RNG(0))
    assert leak.rate > 0.85
    assert leak.facts["randomized_as_claimed"]


def test_what_is_known_of_the_randomization():
    assert attack(released(), truth=visits()).facts["randomized_as_claimed"]
    wrong = pa.table({"ill": visits()["ill"].to_pylist()[::-1]})
    assert not attack(released(), truth=wrong).facts["randomized_as_claimed"]
    assert "randomized_as_claimed" not in attack(released(mechanism="laplace"), truth=visits()).facts


def follows_order(kind, rng, rows=4000):
    """Labels that are sorted, come in blocks, or change slowly."""
    if kind == "sorted":
        return np.sort(rng.random(rows) < 0.3)
    if kind == "blocks":
        return np.repeat(rng.random(rows // 100) < 0.5, 100)
    return rng.random(rows) < 0.5 + 0.45 * np.sin(np.arange(rows) / 200)


def moving_average(released, truth):
    """The best of several windows, chosen with the truth."""
    said = np.asarray(released == "yes", dtype=float)
    return max(np.mean((_mean_nearby(said, width) > 0.5) == truth) for width in (21, 101, 301, 601))


def _mean_nearby(values, width):
    window = np.ones(width)
    return np.convolve(values, window, "same") / np.convolve(np.ones(len(values)), window, "same")


@pytest.mark.parametrize("kind", ["sorted", "blocks", "drift"])
def test_labels_that_follow_the_order_are_found(kind):
    rng = np.random.default_rng(0)
    truth = follows_order(kind, rng)
    table = pa.table({"ill": np.where(truth, "yes", "no")})
    release = protect(table, Plan(label="ill", epsilon=0.5), rng=rng)
    leak = attack(release, truth=table, rng=rng)
    assert leak.rate > moving_average(np.asarray(release.labels), truth) - 0.01
    assert leak.rate > leak.baseline + 0.1
    assert any("--shuffle" in note for note in leak.notes)
    hidden = attack(protect(table, Plan(label="ill", epsilon=0.5, shuffle=True, features="all"), rng=rng), rng=rng)
    assert "with_order" not in hidden.facts


def test_labels_in_random_order_are_not_said_to_follow_it():
    rng, found = np.random.default_rng(1), 0
    for _ in range(20):
        table = pa.table({"ill": np.where(rng.random(500) < 0.3, "yes", "no")})
        release = protect(table, Plan(label="ill", epsilon=1), rng=rng)
        found += "with_order" in attack(release, rng=rng).facts
    assert found <= 1


def test_a_prior_from_features_that_is_not_sure_enough_is_not_taken_for_order():
    """Calibrating what the features say gains likelihood too: none of that is the order's."""
    rng, found = np.random.default_rng(2), 0
    for _ in range(12):
        x = rng.normal(size=1000)
        table = pa.table({"x": x, "ill": np.where(rng.random(1000) < 1 / (1 + np.exp(-3 * x)), "yes", "no")})
        release = protect(table, Plan(label="ill", epsilon=1, features="all"), rng=rng)
        found += "with_order" in attack(release, rng=rng).facts
    assert found == 0


def test_a_prior_that_suspects_too_many_rows_is_not_taken_for_order():
    """Few rows have a neighbor of a rare class, so what is near them lowers every suspicion: in any order of rows."""
    found = 0
    for seed in range(20):
        rng = RNG(seed)
        ill = rng.permutation(3000) < 20
        table = pa.table({"ill": np.where(ill, "yes", "no")})
        release = protect(table, Plan(label="ill", epsilon=8), rng=rng)
        suspicion = np.where(ill, 1 - 1e-6, np.where(rng.random(3000) < 0.01, 0.9, 1e-6))
        found += with_order(release.evidence, np.column_stack([1 - suspicion, suspicion])) is not None
    assert found <= 1
