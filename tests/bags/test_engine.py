"""The same bags on DuckDB, Spark and any other backend; memory bounded by a setting."""

import subprocess
import sys
import textwrap

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from papers.label_bags.bags import curate
from tacit.bags import Plan, protect
from tacit.bags.losses import CategoricalLoss, LogisticLoss, SquaredLoss
from tacit.privacy import InvalidInput
from tacit.privacy.noise import NoiseGrid

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


def test_zeros_and_missing_numbers_are_one_key_each(path):
    part = curate(path, by=["f"], label="click", loss=LogisticLoss()).partitions[0]
    assert [str(key) for key in part.keys["f"].to_pylist()] == ["0.0", "1.5", "None"]


def test_another_backend_of_ibis_makes_the_same_bags(path):
    rows = pq.read_table(path, columns=["word", "n", "click"])
    other = ibis.sqlite.connect()
    table = other.create_table("visits", rows)
    given = {"by": [("word",), ("n", "word")], "edges": {"n": (3.0,)}, **CASES["log"]}
    same(curate(table, **given), curate(path, **given))


def test_postgresql_makes_the_same_bags(path, new_postgresql_location):
    rows = pq.read_table(path)
    backend = ibis.connect(new_postgresql_location().replace("postgresql+psycopg", "postgresql"))
    table = backend.create_table("visits", rows)
    for given in CASES.values():
        given = {"by": SETS, "edges": EDGES, **given}
        same(curate(table, **given), curate(path, **given))
    plan = Plan(label="name", epsilon=None, by=["n"], min_size=1)
    named = rows.append_column("name", pa.array(np.where(rows["flag"].fill_null(False), "it's", "no")))
    table = backend.create_table("named", named)
    same(protect(table, plan).totals, protect(named, plan).totals)


def test_a_damaged_file_is_one_sentence(path, tmp_path):
    bad = tmp_path / "bad.parquet"
    data = bytearray(path.read_bytes())
    data[100:20_000] = bytes(19_900)
    bad.write_bytes(data)
    with pytest.raises(InvalidInput) as caught:
        curate(bad, by=["word"], label="click", loss=LogisticLoss())
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_rows_beyond_the_memory_limit_are_grouped(tmp_path):
    """12 M rows, about 290 MB of columns, through DuckDB with 200 MB: grouped, and the process stays small."""
    script = textwrap.dedent(
        """
        import resource, sys
        from tacit.bags import Plan, protect
        from tacit.data import open_table
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        plan = Plan(label="y", epsilon=None, by=[("a",), ("b",)], min_size=1)
        made = protect(open_table(sys.argv[1], memory="200MB"), plan).totals
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(made.rows, int(made.partitions[0].totals.sum()), grown)
        """
    )
    file = tmp_path / "large.parquet"
    rng = np.random.default_rng(0)
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("y", pa.int64())])
    y = rng.integers(2, size=1_000_000)
    part = pa.table({"a": rng.integers(1000, size=len(y)), "b": rng.integers(9, size=len(y)), "y": y})
    with pq.ParquetWriter(file, schema) as out:
        for _ in range(12):
            out.write(part)
    done = subprocess.run([sys.executable, "-c", script, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows, sums, grown = map(int, done.stdout.split())
    assert (rows, sums) == (12_000_000, 12 * int(y.sum()))
    scale = 1 if sys.platform == "darwin" else 1024
    assert grown * scale < 400e6
