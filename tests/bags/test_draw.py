"""Random bags: how rows are drawn, what their labels are, and what is refused."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from papers.label_bags.bags import draw
from tacit.bags.losses import CategoricalLoss, LogisticLoss, SquaredLoss
from tacit.bags.mechanisms.assignment import assign_rows
from tacit.bags.mechanisms.noise import GaussianTotalsNoise, LaplaceTotalsNoise
from tacit.privacy import InvalidInput


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.normal(size=60),
            "y": rng.integers(2, size=60),
            "kind": rng.integers(3, size=60),
            "r": rng.normal(size=60),
        }
    )


def test_labels_are_the_means_of_the_rows(frame):
    made = draw(frame, size=7, bags=20, label="kind", loss=CategoricalLoss(classes=3), rng=np.random.default_rng(0))
    expected = np.eye(3)[frame["kind"]][made.random.rows].mean(axis=1)
    np.testing.assert_allclose(made.random.labels, expected, atol=1e-12)
    assert made.rows == 60
    assert made.random.variance == 0.0
    assert str(made.guarantee).startswith("no guarantee: exact labels of random bags")


def test_rows_differ_within_a_bag_and_repeat_between_bags(frame):
    rows = draw(frame, size=40, bags=30, label="y", loss=LogisticLoss(), rng=np.random.default_rng(0)).random.rows
    assert all(len(set(bag)) == 40 for bag in rows.tolist())
    assert np.bincount(rows.ravel()).max() > 15


@pytest.mark.parametrize("joins", [None, 2, 3], ids=["free", "two", "three"])
def test_every_bag_is_a_uniform_draw(joins):
    """The first of two bags of 2 out of 4 rows: all six sets are as likely; control: a biased one is found out."""
    rng = np.random.default_rng(1)
    sets = list(itertools.combinations(range(4), 2))
    drawn = [sets.index(tuple(sorted(assign_rows(4, size=2, bags=2, joins=joins, rng=rng)[0]))) for _ in range(6000)]
    observed = np.bincount(drawn, minlength=6)
    assert chisquare(observed).pvalue > 1e-6
    observed[0] += 300
    assert chisquare(observed).pvalue < 1e-6


def test_free_bags_are_independent():
    """Two bags of 1 out of 3 rows: all nine pairs are as likely."""
    rng = np.random.default_rng(2)
    pairs = [assign_rows(3, size=1, bags=2, rng=rng).ravel() @ [3, 1] for _ in range(9000)]
    assert chisquare(np.bincount(pairs, minlength=9)).pvalue > 1e-6
    capped = [assign_rows(3, size=1, bags=2, joins=1, rng=rng).ravel() @ [3, 1] for _ in range(9000)]
    assert np.bincount(capped, minlength=9)[[0, 4, 8]].sum() == 0, "control: with joins 1 no row is drawn twice"


def test_bernoulli_labels_are_zeros_and_ones(frame):
    given = {"size": 5, "bags": 4000, "label": "kind", "loss": CategoricalLoss(classes=3)}
    made = draw(frame, **given, bernoulli=True, rng=np.random.default_rng(0)).random
    assert made.bernoulli
    assert set(np.unique(made.labels)) == {0.0, 1.0}
    chances = np.eye(3)[frame["kind"]][made.rows].mean(axis=1)
    for share in np.unique(chances):
        drawn = made.labels[chances == share]
        assert abs(drawn.mean() - share) < 6 * np.sqrt(share * (1 - share) / drawn.size) + 1e-12


def test_noise_is_scaled_to_the_joins(frame):
    given = {"size": 10, "bags": 12, "label": "y", "loss": LogisticLoss(), "noise": LaplaceTotalsNoise(epsilon=2.0)}
    made = draw(frame, **given, joins=4, rng=np.random.default_rng(0))
    assert made.mechanism["scales"] == ["2"]
    assert made.random.most_joins <= 4 == made.random.joins
    assert made.random.variance == pytest.approx((2 / (np.exp(0.25) - np.exp(-0.25)) ** 2 / 1) * 2 / 2 / 100, rel=1e-6)
    assert made.guarantee.epsilon == 2.0
    twice = draw(frame, **{**given, "loss": CategoricalLoss(classes=2)}, joins=4, rng=np.random.default_rng(0))
    assert twice.mechanism["scales"] == ["4"], "a one-hot label moves two entries"


def test_gaussian_noise_for_many_joins_costs_less_than_laplace(frame):
    given = {"size": 10, "bags": 150, "label": "y", "loss": LogisticLoss(), "joins": 25}
    pure = draw(frame, **given, noise=LaplaceTotalsNoise(epsilon=1.0), rng=np.random.default_rng(0))
    made = draw(frame, **given, noise=GaussianTotalsNoise(epsilon=1.0, delta=1e-6), rng=np.random.default_rng(0))
    assert made.random.variance < pure.random.variance


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 61}, "size must be at most 60, the number of rows, got 61"),
        ({"size": 0}, "size must be an integer >= 1"),
        ({"bags": 0}, "bags must be an integer >= 1"),
        ({"joins": 1, "bags": 13}, "joins must be at least 2 for 13 bags of 5 rows out of 60, got 1"),
        ({"joins": 0}, "joins must be an integer >= 1"),
        ({"noise": LaplaceTotalsNoise(epsilon=1.0), "joins": None}, "joins must be given with noise"),
        ({"noise": GaussianTotalsNoise(epsilon=1.0, delta=0.02)}, "delta must be below 1/60, for 60 rows"),
        ({"rows_per_person": 0}, "rows_per_person must be an integer >= 1"),
        ({"label": "kind"}, "out of range for the loss"),
        ({"label": "z"}, "label names no column 'z'"),
        ({"label": "r", "loss": SquaredLoss(), "bernoulli": True}, "a Bernoulli draw needs T"),
    ],
    ids=["size", "no_size", "bags", "joins", "no_joins", "uncapped", "delta", "person", "range", "column", "bernoulli"],
)
def test_bad_input_is_one_sentence(frame, change, message):
    given = {"size": 5, "bags": 6, "joins": 1, "label": "y", "loss": LogisticLoss(), **change}
    with pytest.raises(InvalidInput) as caught:
        draw(frame, **given, rng=np.random.default_rng(0))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_truth_values_are_labels():
    made = draw(
        pa.table({"y": [True, False, True]}),
        size=3,
        bags=1,
        label="y",
        loss=LogisticLoss(),
        rng=np.random.default_rng(0),
    )
    assert made.random.labels.ravel() == pytest.approx([2 / 3])
