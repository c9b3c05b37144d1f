"""The same mechanisms on a local Spark: each partition its own entropy, one valid release."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

from tacit.labels import Plan, protect
from tacit.labels.mechanisms import RandomizedResponse
from tacit.labels.releases.spark import _explained
from tacit.privacy import Guarantee, InvalidInput, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.payment import Payment

ROWS = 30_000


@pytest.fixture(scope="module")
def frame(spark, tmp_path_factory):
    """Two partitions; the labels repeat 0, 1, 2 down the rows."""
    path = tmp_path_factory.mktemp("spark") / "visits.parquet"
    pq.write_table(
        pa.table({"id": np.arange(ROWS), "age.years": np.arange(ROWS) % 90, "ill": np.arange(ROWS) % 3}), path
    )
    return spark.read.parquet(str(path)).repartition(2, "id")


def release_of(frame, *, payment=None, rng=None, **asked):
    plan = {"label": "ill", "epsilon": 1, "classes": ("0", "1", "2"), "features": ("id",), **asked}
    return protect(frame, Plan(**plan), payment=payment, rng=rng)


@pytest.fixture(scope="module")
def released(frame):
    """One release by randomized response that several tests look at."""
    return release_of(frame, classes=None, features=("id", "age.years"))


def test_it_is_a_release_of_the_same_guarantee(released):
    assert str(released.guarantee) == "epsilon 1 for one label"
    assert "which classes occur in the labels is public" in released.guarantee.assumptions
    assert released.settled == {"classes": [0, 1, 2]}
    assert (released.seeded, released.header.ordered) == (False, False)
    assert released.table.column_names == ["id", "age.years", "label"]
    assert sorted(released.table["id"].to_pylist()) == list(range(ROWS))


def test_an_ibis_table_of_spark_is_randomized_by_its_workers(spark, frame):
    ibis = pytest.importorskip("ibis")
    frame.createOrReplaceTempView("visits")
    release = release_of(ibis.pyspark.connect(spark).table("visits"), epsilon=60)
    assert (np.asarray(release.labels) == np.asarray(release.table["id"]) % 3).all()


@pytest.mark.parametrize(("claimed", "fits"), [(1.0, True), (1.2, False)])
def test_labels_follow_the_mechanism(released, claimed, fits):
    value = released.table
    truth, given = np.asarray(value["id"]) % 3, np.asarray(value["label"])
    counts = np.array([np.bincount(given[truth == y], minlength=3) for y in range(3)])
    expected = RandomizedResponse(epsilon=claimed, classes=3).transition() * ROWS / 3
    # system entropy: a test in a million fails by chance
    assert bool(chisquare(counts.ravel(), expected.ravel(), ddof=2).pvalue > 1e-6) is fits


def test_labels_stay_with_their_rows(frame):
    release = release_of(frame, epsilon=60)
    assert (np.asarray(release.table["label"]) == np.asarray(release.table["id"]) % 3).all()


def test_no_two_partitions_share_their_noise(spark):
    from pyspark.sql.functions import spark_partition_id

    def part(number):
        rows = [(number, position, "no") for position in range(500)]
        return spark.createDataFrame(rows, ["part", "place", "ill"]).coalesce(1)

    frame = part(0).union(part(1)).union(part(2))  # a range partitioner would sample, and now and then merge two
    assert frame.select(spark_partition_id()).distinct().count() == 3, "control: each part is a partition"
    release = release_of(frame, classes=("no", "yes"), features=("part", "place"))
    frame = release.table.to_pandas().sort_values(["part", "place"])
    parts = {tuple(group["label"]) for _, group in frame.groupby("part")}
    assert len(parts) == 3, "equal with probability below 2^-400 if each draws its own"


def test_an_estimated_prior_and_noisy_one_hot_labels(frame):
    release = release_of(frame, mechanism="prior")
    assert release.settled["prior"] == pytest.approx([1 / 3] * 3, abs=0.02)
    assert release.guarantee.epsilon == 1.0
    assert {len(row) for row in release_of(frame, mechanism="laplace").labels.to_pylist()} == {3}


def test_missing_labels(spark):
    frame = spark.createDataFrame([(1, "a"), (2, None), (3, "b")], ["id", "ill"])
    with pytest.raises(InvalidInput, match="has 1 missing label of"):
        release_of(frame, classes=("a", "b"))
    assert release_of(frame, classes=("a", "b"), missing="public").labels.null_count == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": ("0", "1")}, r"labels must be among the declared classes \[0, 1\], got 2"),
        ({"features": ()}, "the rows of this table have no order"),
        ({"rng": np.random.default_rng(0)}, "each worker of Spark draws its own entropy"),
        ({"shuffle": True}, "shuffle needs all rows at once"),
        ({"label": "sick"}, "label names no column 'sick'"),
    ],
)
def test_what_is_refused(frame, options, message):
    with pytest.raises(InvalidInput, match=message):
        release_of(frame, **options)


def test_a_charge_needs_the_data_sets_name(frame, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(np.arange(ROWS) % 3, name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    with pytest.raises(InvalidInput, match="dataset must name"):
        release_of(frame, payment=Payment(ledger=ledger))
    assert release_of(frame, payment=Payment(ledger=ledger, dataset="visits")).receipt.left == 0


def test_workers_without_tacit_are_explained():
    report = Exception("PythonException: ...\nModuleNotFoundError: No module named 'tacit'\n\tat org.apache.spark")
    assert "tacit must be installed where Spark's workers run" in str(_explained(report))
    other = Exception("out of memory")
    assert _explained(other) is other
