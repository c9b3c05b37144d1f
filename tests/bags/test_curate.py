"""Curated bags: Algorithms 1 and 2 against plain loops, what is paid, and what is refused before it is paid."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from papers.label_bags.bags import curate
from tacit.bags.losses import CategoricalLoss, LogisticLoss, PoissonLoss, SquaredLoss
from tacit.bags.mechanisms.noise import GaussianTotalsNoise, LaplaceTotalsNoise
from tacit.bags.mechanisms.sizes import SizeRule
from tacit.bags.partition import KeyColumn
from tacit.privacy import InvalidInput, Unit
from tacit.privacy.noise import NoiseGrid, system_rng

ROWS = 500
EDGES = {"x": (-1.0, 0.0, 0.5)}
LOSSES = [
    LogisticLoss(),
    CategoricalLoss(classes=3),
    SquaredLoss(lower=-1.0, upper=2.0),
    PoissonLoss(most=3),
    SquaredLoss(),
]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    words = np.array(["p", "q", "r", None], dtype=object)
    return pd.DataFrame(
        {
            "a": words[rng.integers(4, size=ROWS)],
            "b": rng.integers(5, size=ROWS),
            "x": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS)),
            "click": rng.integers(2, size=ROWS),
            "kind": rng.integers(3, size=ROWS),
            "real": rng.normal(size=ROWS),
            "count": rng.poisson(2.0, size=ROWS),
        }
    )


def column_for(loss):
    return {"log": "click", "cross_entropy": "kind", "squared": "real", "poisson": "count"}[loss.describe()["name"]]


def by_loops(frame, names, loss):
    """Algorithm 1 as it reads: for every combination of values, its rows and the sum of T(y)."""
    bags = {}
    statistic = loss.statistic(frame[column_for(loss)].to_numpy())
    for row, value in zip(frame.to_dict("records"), statistic, strict=True):
        key = tuple(
            None if pd.isna(row[n]) else sum(e <= row[n] for e in EDGES[n]) if n in EDGES else row[n] for n in names
        )
        count, total = bags.get(key, (0, 0.0))
        bags[key] = (count + 1, total + value)
    return bags


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.describe()}")
def test_bags_are_those_of_the_algorithm(frame, loss):
    sets = [("a",), ("a", "x"), ("b", "a", "x")]
    made = curate(frame, by=sets, edges=EDGES, label=column_for(loss), loss=loss)
    assert made.rows == ROWS
    assert str(made.guarantee).startswith("no guarantee: exact totals of bags")
    for names, part in zip(sets, made.partitions, strict=True):
        expected = by_loops(frame, names, loss)
        keys = [tuple(row.values()) for row in part.keys.to_pylist()]
        assert sorted(keys, key=str) == sorted(expected, key=str)
        assert part.counts.tolist() == [expected[key][0] for key in keys]
        np.testing.assert_allclose(part.totals, [expected[key][1] for key in keys], atol=1e-9)


def test_keys_are_sorted_with_missing_ones_last(frame):
    part = curate(frame, by=[("a", "b")], label="click", loss=LogisticLoss()).partitions[0]
    keys = [tuple(row.values()) for row in part.keys.to_pylist()]
    assert keys == sorted(keys, key=lambda key: (key[0] is None, key[0] or "", key[1]))


def test_every_row_finds_its_bag(frame):
    made = curate(frame, by=["a", ("b", "x")], edges=EDGES, label="click", loss=LogisticLoss())
    for part in made.partitions:
        bag = part.assign(frame)
        np.testing.assert_array_equal(np.bincount(bag), part.counts)
        np.testing.assert_array_equal(np.bincount(bag, weights=frame["click"]), part.totals[:, 0])


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "pandas"])
def test_any_table_gives_the_same_bags(frame, tmp_path, kind):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    given = {"arrow": table, "pandas": frame, "parquet": tmp_path / "t.parquet", "csv": tmp_path / "t.csv"}[kind]
    if kind == "parquet":
        pq.write_table(table, given)
    if kind == "csv":
        frame.to_csv(given, index=False)
    reference = curate(frame, by=[("a", "x")], edges=EDGES, label="click", loss=LogisticLoss()).partitions[0]
    part = curate(given, by=[("a", "x")], edges=EDGES, label="click", loss=LogisticLoss()).partitions[0]
    assert part.keys.equals(reference.keys)
    np.testing.assert_array_equal(part.totals, reference.totals)


def test_real_labels_on_a_grid_have_exact_sums(frame):
    grid = NoiseGrid(step=2**-8)
    made = curate(frame, by=["b"], label="real", loss=SquaredLoss(), grid=grid).partitions[0]
    steps = np.floor(frame["real"] * 256 + 0.5)
    np.testing.assert_array_equal(made.totals[:, 0], np.bincount(frame["b"], weights=steps) / 256)


def test_a_merged_bag_has_all_rows_of_small_ones(frame):
    whole = curate(frame, by=[("a", "b", "x")], edges=EDGES, label="click", loss=LogisticLoss()).partitions[0]
    made = curate(
        frame,
        by=[("a", "b", "x")],
        edges=EDGES,
        label="click",
        loss=LogisticLoss(),
        sizes=SizeRule(least=6, small="merge"),
    )
    part = made.partitions[0]
    assert part.counts.min() >= 6
    assert part.counts.sum() == ROWS
    assert (part.counts[part.other], part.dropped) == (whole.counts[whole.counts < 6].sum(), False)
    np.testing.assert_array_equal(np.bincount(part.assign(frame), weights=frame["click"]), part.totals[:, 0])


def test_a_dropped_bag_is_gone(frame):
    made = curate(frame, by=[("a", "b", "x")], edges=EDGES, label="click", loss=LogisticLoss(), sizes=SizeRule(least=6))
    part = made.partitions[0]
    assert part.counts.min() >= 6
    assert part.dropped
    bag = part.assign(frame)
    assert (bag == -1).sum() == ROWS - part.counts.sum()
    np.testing.assert_array_equal(np.bincount(bag[bag >= 0], weights=frame["click"][bag >= 0]), part.totals[:, 0])


def test_noise_is_near_the_truth_and_says_its_variance(frame):
    given = {"by": ["a", "b"], "label": "kind", "loss": CategoricalLoss(classes=3)}
    true = curate(frame, **given)
    made = curate(frame, **given, noise=LaplaceTotalsNoise(epsilon=50.0), rng=np.random.default_rng(1))
    for one, two in zip(made.partitions, true.partitions, strict=True):
        assert one.keys.equals(two.keys)
        assert np.abs(one.totals - two.totals).max() <= 3
        assert one.variance > 0 == two.variance
    assert made.guarantee.epsilon == 50.0
    assert made.guarantee.assumptions == (
        "the features of all rows are public, and so are the keys and counts of bags",
    )
    assert made.mechanism["scales"] == ["2/25", "2/25"]
    assert made.seeded
    assert not curate(frame, **given, noise=LaplaceTotalsNoise(epsilon=50.0), rng=system_rng()).seeded


def test_a_seed_gives_the_same_release_again(frame):
    given = {"by": ["a"], "label": "click", "loss": LogisticLoss(), "noise": LaplaceTotalsNoise(epsilon=1.0)}
    one, two, other = (curate(frame, **given, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.partitions[0].totals, two.partitions[0].totals)
    assert (one.partitions[0].totals != other.partitions[0].totals).any()


def test_records_get_noised_counts_and_every_declared_bag(frame):
    features = (KeyColumn("a", values=("p", "q")), KeyColumn("x", edges=(0.0,)))
    made = curate(
        frame,
        by=[features],
        label="click",
        loss=LogisticLoss(),
        unit=Unit.RECORD,
        noise=GaussianTotalsNoise(epsilon=5.0, delta=1e-6),
        rng=np.random.default_rng(0),
    )
    part = made.partitions[0]
    assert len(part) == 3 * 3 + 1, "values and NULL, and one bag of the rest"
    assert part.other == 9
    assert part.counts.dtype == np.float64
    assert part.count_variance > 0
    bag = part.assign(frame)
    np.testing.assert_allclose(part.counts, np.bincount(bag, minlength=10), atol=12)
    np.testing.assert_allclose(part.totals[:, 0], np.bincount(bag, weights=frame["click"], minlength=10), atol=12)
    assert str(made.guarantee) == "epsilon 5, delta 1e-6 for one record"


@pytest.mark.parametrize("last", [3, 2.5, None, 2.0**60], ids=["whole", "fraction", "missing", "large"])
def test_one_record_does_not_change_the_types_of_keys(last):
    """A frame holds whole numbers as floats as soon as one record has a fraction or a gap."""
    table = pd.DataFrame({"a": [1, 2, 1, last], "click": [0, 1, 0, 1]})
    made = curate(
        table,
        by=[KeyColumn("a", values=(1, 2))],
        label="click",
        loss=LogisticLoss(),
        unit=Unit.RECORD,
        noise=LaplaceTotalsNoise(epsilon=1000.0),
        rng=np.random.default_rng(0),
    ).partitions[0]
    assert made.keys.schema.types == [pa.int64()]
    assert made.counts.tolist() == ([1, 2, 1, 0] if last is None else [0, 2, 1, 1])


def test_a_column_without_values_fits_every_declared_type():
    """What is refused when one record more is missing would tell of that record."""
    for values in (("x",), (1,), (1.5,), (True,)):
        made = curate(
            pa.table({"a": pa.nulls(2), "click": [0, 1]}),
            by=[KeyColumn("a", values=values)],
            label="click",
            loss=LogisticLoss(),
            unit=Unit.RECORD,
            noise=LaplaceTotalsNoise(epsilon=1000.0),
            rng=np.random.default_rng(0),
        ).partitions[0]
        assert made.keys.schema.types == [pa.array(values).type]
        assert made.counts.tolist() == [2, 0, 0]


def test_whole_numbers_are_found_among_declared_floats():
    table = pa.table({"a": [1, 2, 3], "click": [0, 1, 0]})
    made = curate(
        table,
        by=[KeyColumn("a", values=(1.0, 2.5))],
        label="click",
        loss=LogisticLoss(),
        unit=Unit.RECORD,
        noise=LaplaceTotalsNoise(epsilon=1000.0),
        rng=np.random.default_rng(0),
    ).partitions[0]
    assert made.keys.schema.types == [pa.float64()]
    assert made.counts.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("value", [datetime.date(2020, 1, 1), None, float("nan")], ids=["date", "none", "nan"])
def test_declared_values_that_no_manifest_holds_are_refused_before_a_charge(value):
    with pytest.raises(InvalidInput, match="must be text, finite numbers or truth values"):
        KeyColumn("a", values=(value,))


def test_many_rows_of_one_person_are_stated(frame):
    made = curate(
        frame,
        by=["a"],
        label="click",
        loss=LogisticLoss(),
        noise=LaplaceTotalsNoise(epsilon=0.5),
        rows_per_person=3,
        rng=np.random.default_rng(0),
    )
    assert str(made.guarantee) == "epsilon 1.5 for 3 labels of one person"


def bad_inputs():
    good = {"by": ["a"], "label": "click", "loss": LogisticLoss()}
    noise = {"noise": LaplaceTotalsNoise(epsilon=0.5), "rng": np.random.default_rng(0)}
    return {
        "missing_key": ({**good, "by": ["aa"]}, "by names no column 'aa'; did you mean 'a'"),
        "missing_label": ({**good, "label": "clik"}, "label names no column 'clik'; did you mean 'click'"),
        "null_labels": ({**good, "label": "x", "loss": SquaredLoss()}, "label column 'x' has"),
        "out_of_range": ({**good, "label": "kind"}, "out of range for the loss log"),
        "text_label": ({**good, "label": "a", "by": ["b"]}, "label column 'a' must have numbers or truth values"),
        "label_as_key": ({**good, "by": ["click"]}, "by must not name the private column 'click'"),
        "no_sets": ({**good, "by": []}, "by must name the columns of at least one partition"),
        "empty_set": ({**good, "by": [()]}, "at least one column in each feature set"),
        "same_set_twice": ({**good, "by": [("a", "b"), ("b", "a")]}, "by must name different partitions"),
        "edges_of_nothing": ({**good, "edges": {"x": [0]}}, "edges must be for columns in by, got x"),
        "edges_of_text": ({**good, "edges": {"a": [0]}}, "column 'a' must have numbers to be cut at edges"),
        "no_rng": ({**good, "noise": LaplaceTotalsNoise(epsilon=0.5)}, "rng must be given with noise"),
        "unit": ({**good, **noise, "unit": Unit.BAG}, "unit must be label or record, got bag"),
        "undeclared": ({**good, **noise, "unit": Unit.RECORD}, "must declare the categories or the edges of 'a'"),
        "no_range": ({**good, **noise, "label": "real", "loss": SquaredLoss()}, "needs declared labels"),
        "too_large": ({**good, **noise, "sizes": SizeRule(least=1000)}, "no bag would have 1000 rows or more"),
        "person": ({**good, **noise, "rows_per_person": 0}, "rows_per_person must be an integer >= 1"),
        "person_exact": ({**good, "rows_per_person": 0}, "rows_per_person must be an integer >= 1"),
        "delta": ({**good, **noise, "noise": GaussianTotalsNoise(epsilon=0.5, delta=0.01)}, "delta must be below 1/"),
    }


@pytest.mark.parametrize("case", bad_inputs())
def test_bad_input_is_one_sentence(frame, case):
    given, message = bad_inputs()[case]
    with pytest.raises(InvalidInput) as caught:
        curate(frame, **given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_label_that_is_missing_is_counted():
    with pytest.raises(InvalidInput, match="label column 'y' has 1 missing label of 3; leave those rows out"):
        curate(pa.table({"a": [1, 1, 1], "y": [None, 5, 1]}), by=["a"], label="y", loss=LogisticLoss())
    with pytest.raises(InvalidInput, match="has 1 label of 3 out of range for the loss"):
        curate(pa.table({"a": [1, 1, 1], "y": [0, 5, 1]}), by=["a"], label="y", loss=LogisticLoss())


def test_progress_is_told(frame):
    seen = []
    curate(
        frame, by=["a", "b"], label="click", loss=LogisticLoss(), progress=lambda done, rows: seen.append((done, rows))
    )
    assert seen == [(1, 2), (2, 2)]
