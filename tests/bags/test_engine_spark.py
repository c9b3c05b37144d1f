"""Curated bags on a local Spark: the same as on DuckDB, to the last bit."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from papers.label_bags.bags import curate
from tacit.bags import Plan, protect
from tacit.bags.losses import CategoricalLoss, LogisticLoss, SquaredLoss
from tacit.bags.mechanisms.noise import LaplaceTotalsNoise
from tacit.data import open_table
from tacit.privacy import Guarantee, InvalidInput, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import NoiseGrid
from tacit.privacy.payment import Payment

ROWS = 4000
EDGES = {"x": (-1.0, 0.0, 0.5), "n": (3.0,)}
SETS = [("word",), ("x", "word"), ("n", "flag"), ("f",)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Text beyond ASCII, missing keys of every type, NaN beside NULL, both zeros, and values on the edges."""
    rng = np.random.default_rng(0)
    words = np.array(["b", "a", "ä", "Z", "z", "", " ", "😀", "ﬀ", None], dtype=object)
    x = rng.choice([-1.0, 0.0, -0.0, 0.5, 0.25, np.nan, np.inf, -np.inf, 7.0], size=ROWS)
    missing = rng.random(ROWS) < 0.1
    table = pa.table(
        {
            "word": words[rng.integers(len(words), size=ROWS)],
            "x": pa.array(x, mask=missing),
            "n": pa.array(rng.integers(6, size=ROWS), mask=rng.random(ROWS) < 0.1),
            "flag": pa.array(rng.random(ROWS) < 0.5, mask=rng.random(ROWS) < 0.1),
            "f": pa.array(rng.choice([0.0, -0.0, 1.5, np.nan], size=ROWS), mask=missing),
            "click": rng.integers(2, size=ROWS),
            "kind": rng.integers(3, size=ROWS),
            "real": rng.normal(size=ROWS),
        }
    )
    file = tmp_path_factory.mktemp("engine") / "rows.parquet"
    pq.write_table(table, file)
    return file


def same(one, two):
    for first, second in zip(one.partitions, two.partitions, strict=True):
        assert first.keys.schema == second.keys.schema
        assert [str(row) for row in first.keys.to_pylist()] == [str(row) for row in second.keys.to_pylist()]
        np.testing.assert_array_equal(first.counts, second.counts)
        np.testing.assert_array_equal(first.totals, second.totals)


CASES = {
    "log": {"label": "click", "loss": LogisticLoss()},
    "cross_entropy": {"label": "kind", "loss": CategoricalLoss(classes=3)},
    "squared": {"label": "real", "loss": SquaredLoss(lower=-2.0, upper=2.0), "grid": NoiseGrid(step=2**-10)},
}


@pytest.mark.parametrize(
    "case",
    ["log", pytest.param("cross_entropy", marks=pytest.mark.slow), pytest.param("squared", marks=pytest.mark.slow)],
)
def test_spark_makes_the_same_bags(spark, path, case):
    given = {"by": SETS, "edges": EDGES, **CASES[case]}
    same(curate(open_table(str(path), engine="spark"), **given), curate(path, **given))


@pytest.mark.slow
def test_spark_takes_its_own_tables(spark, path):
    frame = spark.read.parquet(str(path)).repartition(3)
    given = {"by": SETS, "edges": EDGES, **CASES["log"]}
    same(curate(frame, **given), curate(path, **given))
    frame.createOrReplaceTempView("rows_of_spark")
    same(curate(open_table("rows_of_spark", engine="spark"), **given), curate(path, **given))


@pytest.mark.slow
def test_spark_draws_the_same_noise_from_the_same_seed(spark, path):
    given = {"by": SETS, "edges": EDGES, **CASES["log"], "noise": LaplaceTotalsNoise(epsilon=1.0)}
    one = curate(open_table(str(path), engine="spark"), **given, rng=np.random.default_rng(0))
    same(one, curate(path, **given, rng=np.random.default_rng(0)))


def test_spark_says_what_is_wrong_in_one_sentence(spark, path, tmp_path):
    for source in (str(tmp_path / "no.parquet"), "no_such_table"):
        with pytest.raises(InvalidInput, match="must be a Parquet file or folder") as caught:
            open_table(source, engine="spark")
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidInput, match="out of range for the loss"):
        curate(open_table(str(path), engine="spark"), by=["word"], label="kind", loss=LogisticLoss())


def test_a_table_without_an_order_is_charged_by_name(spark, path, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register([0, 1], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    plan = Plan(label="click", epsilon=0.5, by=["word"], min_size=1)
    table = spark.read.parquet(str(path))
    with pytest.raises(InvalidInput, match="dataset must name what to charge"):
        protect(table, plan, payment=Payment(ledger=ledger))
    protect(table, plan, payment=Payment(ledger=ledger, dataset="clicks"))
    assert ledger.statement("clicks").spent == 0.5
