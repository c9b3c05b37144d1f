"""The same mechanisms on a local Spark: each partition its own entropy, one valid release."""

import math
import os
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare
from tacit.labels.releases.labels import MissingLabels
from tacit.labels.releases.payment import Payment
from tacit.labels.releases.stream import protect_table

from tacit.labels.mechanisms.estimate import EstimatedPrior
from tacit.labels.mechanisms.one_hot import LaplaceOneHot
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.privacy import Guarantee, InvalidInput, Unit, read_release
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import system_rng

pytest.importorskip("pyspark", reason="needs PySpark: install the extra spark")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("needs Java, which Spark runs on", allow_module_level=True)

from tacit.data.spark import start_spark
from tacit.labels.releases.spark import SparkSource, _explained, open_spark_table

RR = RandomizedResponse(epsilon=1.0)
ROWS = 30_000


@pytest.fixture(scope="module")
def session():
    settings = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    session = start_spark({**settings, "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()


@pytest.fixture(scope="module")
def source(session, tmp_path_factory):
    """Two partitions; the labels repeat 0, 1, 2 down the rows."""
    path = tmp_path_factory.mktemp("spark") / "visits.parquet"
    pq.write_table(
        pa.table({"id": np.arange(ROWS), "age.years": np.arange(ROWS) % 90, "ill": np.arange(ROWS) % 3}), path
    )
    return SparkSource(session.read.parquet(str(path)).repartition(2, "id"))


@pytest.fixture
def protect(source, tmp_path):
    def protect(**options):
        out = tmp_path / "out.parquet"
        defaults = {"label": "ill", "mechanism": RR, "classes": [0, 1, 2], "keep": ["id"], "rng": system_rng()}
        given = options.pop("table", source)
        return protect_table(given, out, **{**defaults, **options}), read_release(out)

    return protect


@pytest.fixture(scope="module")
def released(source, tmp_path_factory):
    """One release by randomized response that several tests look at."""
    out = tmp_path_factory.mktemp("released") / "out.parquet"
    made = protect_table(source, out, label="ill", mechanism=RR, keep=["id", "age.years"], rng=system_rng())
    return made, read_release(out)


def test_it_is_a_release_of_the_same_guarantee(released):
    made, release = released
    assert release.guarantee == made.guarantee
    assert str(release.guarantee) == "epsilon 1 for one label"
    assert "which classes occur in the labels is public" in release.guarantee.assumptions
    assert release.mechanism == {
        "name": "randomized_response",
        "epsilon": 1.0,
        "classes": [0, 1, 2],
        "column": "ill",
    }
    assert not release.seeded
    assert release.value.column_names == ["id", "age.years", "label"]
    assert sorted(release.value["id"].to_pylist()) == list(range(ROWS))


@pytest.mark.parametrize(("claimed", "fits"), [(1.0, True), (1.2, False)])
def test_labels_follow_the_mechanism(released, claimed, fits):
    value = released[1].value
    truth, given = np.asarray(value["id"]) % 3, np.asarray(value["label"])
    counts = np.array([np.bincount(given[truth == y], minlength=3) for y in range(3)])
    expected = RandomizedResponse(epsilon=claimed, classes=3).transition() * ROWS / 3
    # system entropy: a test in a million fails by chance
    assert bool(chisquare(counts.ravel(), expected.ravel(), ddof=2).pvalue > 1e-6) is fits


def test_labels_stay_with_their_rows(protect):
    _, release = protect(mechanism=RandomizedResponse(epsilon=60.0))
    assert (np.asarray(release.value["label"]) == np.asarray(release.value["id"]) % 3).all()


def test_no_two_partitions_share_their_noise(session, protect):
    from pyspark.sql.functions import spark_partition_id

    def part(number):
        rows = [(number, position, "no") for position in range(500)]
        return session.createDataFrame(rows, ["part", "place", "ill"]).coalesce(1)

    frame = part(0).union(part(1)).union(part(2))  # a range partitioner would sample, and now and then merge two
    assert frame.select(spark_partition_id()).distinct().count() == 3, "control: each part is a partition"
    _, release = protect(table=SparkSource(frame), classes=["no", "yes"], keep=["part", "place"])
    frame = release.value.to_pandas().sort_values(["part", "place"])
    parts = {tuple(group["label"]) for _, group in frame.groupby("part")}
    assert len(parts) == 3, "equal with probability below 2^-400 if each draws its own"


def test_an_estimated_prior_and_noised_one_hot_labels(protect):
    made, release = protect(mechanism=EstimatedPrior(epsilon=1.0))
    assert release.mechanism["prior"] == pytest.approx([1 / 3] * 3, abs=0.02)
    assert made.guarantee.epsilon == 1.0
    _, release = protect(mechanism=LaplaceOneHot(epsilon=1.0), force=True)
    assert {len(row) for row in release.value["label"].to_pylist()} == {3}


def test_missing_labels(session, protect):
    frame = session.createDataFrame([(1, "a"), (2, None), (3, "b")], ["id", "ill"])
    with pytest.raises(InvalidInput, match="got 1 without a label"):
        protect(table=SparkSource(frame), classes=["a", "b"])
    made, release = protect(table=SparkSource(frame), classes=["a", "b"], missing=MissingLabels.PUBLIC)
    assert made.missing == release.value["label"].null_count == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": [0, 1]}, r"labels must be among the declared classes \[0, 1\], got 2"),
        ({"keep": []}, "this table has no order of rows"),
        ({"rng": np.random.default_rng(0)}, "each draws its own entropy"),
        ({"label": "sick"}, "label names no column 'sick'"),
    ],
)
def test_what_is_refused(protect, options, message, tmp_path):
    with pytest.raises(InvalidInput, match=message):
        protect(**options)
    assert list(tmp_path.iterdir()) == []


def test_a_charge_needs_the_data_sets_name(protect, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(np.arange(ROWS) % 3, name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    with pytest.raises(InvalidInput, match="dataset must name what to charge"):
        protect(payment=Payment(ledger=ledger))
    made, _ = protect(payment=Payment(ledger=ledger, dataset="visits"))
    assert made.receipt.left == 0


def test_what_spark_cannot_read_is_one_sentence(session, tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    for name in (str(tmp_path / "table.csv"), "no_such_table"):
        with pytest.raises(InvalidInput, match="must be a Parquet file or folder, or a table of Spark's catalog"):
            open_spark_table(name, session=session)
    session.createDataFrame([(1, "a")], ["id", "ill"]).createOrReplaceTempView("visits")
    assert open_spark_table("visits", session=session).columns == ("id", "ill")


def test_workers_without_tacit_are_explained():
    report = Exception("PythonException: ...\nModuleNotFoundError: No module named 'tacit'\n\tat org.apache.spark")
    assert "tacit must be installed where Spark's workers run" in str(_explained(report))
    other = Exception("out of memory")
    assert _explained(other) is other


@pytest.mark.slow
def test_from_the_command_line(tmp_path):
    pq.write_table(pa.table({"id": np.arange(3000), "ill": ["a", "b", "c"] * 1000}), tmp_path / "in.parquet")
    command = "labels protect in.parquet --label ill --epsilon 1 --engine spark --keep id --out out.parquet --json"
    done = subprocess.run(
        [sys.executable, "-c", f"from tacit.cli import main; main({command.split()})"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    release = read_release(tmp_path / "out.parquet")
    assert release.value.num_rows == 3000
    kept = (
        np.array(release.value["label"].to_pylist()) == np.array(["a", "b", "c"])[np.asarray(release.value["id"]) % 3]
    )
    assert abs(kept.mean() - math.e / (math.e + 2)) < 0.05
