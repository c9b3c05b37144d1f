"""Rows joined to bags once: in memory, streamed, shared between processes, and cleaned up after."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest

from tacit.bags.learners.batches import EncodedRows, batches, encode, vocabulary
from tacit.bags.learners.cells import cells_of
from tacit.bags.learners.parts import FeatureCross
from tacit.bags.losses import LogisticLoss
from tacit.privacy.errors import InvalidInput


@pytest.fixture
def joined(naive, tmp_path):
    frame, loss = naive.rows(500), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a", "b"), ("c",)], loss)
    cells = cells_of([FeatureCross(("a", "b")), FeatureCross(("c",))], release.partitions)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path, row_group_size=100)
    return frame, path, vocabulary(cells), list(release.partitions)


def test_a_stream_has_the_rows_of_memory_and_leaves_nothing(joined):
    frame, path, columns, partitions = joined
    with (
        encode(frame, columns, partitions, block_rows=64) as whole,
        encode(path, columns, partitions, block_rows=64) as s,
    ):
        assert s.folder.is_dir()
        np.testing.assert_array_equal(s.codes, whole.codes)
        np.testing.assert_array_equal(s.bags, whole.bags)
        assert (whole.codes > 0).all()
        for i, partition in enumerate(partitions):
            np.testing.assert_array_equal(whole.bags[:, i], partition.assign(pa.Table.from_pandas(frame)))
    assert not s.folder.exists()


def test_a_refused_stream_leaves_nothing(joined, monkeypatch, tmp_path):
    frame, path, columns, partitions = joined
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    frame.iloc[:-1].to_parquet(path)
    with pytest.raises(InvalidInput, match="must be the rows"), encode(path, columns, partitions, block_rows=64):
        pass
    frame.drop(columns="c").to_parquet(path)
    with pytest.raises(InvalidInput, match="no column 'c'"), encode(path, columns, partitions, block_rows=64):
        pass
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("batch_rows", [1, 7, 64, 1000, None])
@pytest.mark.parametrize("streamed", [False, True], ids=["memory", "stream"])
def test_each_row_is_seen_once_an_epoch(batch_rows, streamed, tmp_path):
    numbers = np.arange(130, dtype=np.int32)[:, None]
    rows = EncodedRows(codes=numbers, bags=numbers, folder=tmp_path / "gone" if streamed else None)
    rng = np.random.default_rng(0)
    made = list(batches(rows, batch_rows=batch_rows, block_rows=50, rng=rng))
    assert sorted(np.concatenate([codes for _, codes, _ in made]).ravel()) == list(range(130))
    assert all(len(codes) == size <= (batch_rows or 130) for size, codes, _ in made)
    if batch_rows is not None:
        assert not np.array_equal(np.concatenate([codes for _, codes, _ in made]), numbers), "shuffled"


def test_processes_share_every_batch():
    numbers = np.arange(103, dtype=np.int32)[:, None]
    rows = EncodedRows(codes=numbers, bags=numbers)
    shares = [
        list(batches(rows, batch_rows=10, block_rows=50, rng=np.random.default_rng(4), share=(rank, 3)))
        for rank in range(3)
    ]
    whole = list(batches(rows, batch_rows=10, block_rows=50, rng=np.random.default_rng(4)))
    for step, (size, codes, _) in enumerate(whole):
        parts = np.concatenate([share[step][1] for share in shares]).ravel()
        assert sorted(parts) == sorted(codes.ravel())
        assert all(share[step][0] == size for share in shares)


MEMORY = """
import resource, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from tacit.bags.learners.batches import batches, encode, vocabulary
from tacit.bags.learners.cells import cells_of
from tacit.bags.learners.parts import FeatureCross
from tacit.bags.partition import KeyColumn, Partition

path, rows = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
schema = pa.schema({"a": pa.int64(), "pad": pa.float64()})
a = rng.integers(50, size=50_000)
counts = np.bincount(a, minlength=50) * (rows // 50_000)
part = pa.table({"a": a, "pad": rng.random(50_000)}, schema=schema)
with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
    for _ in range(rows // 50_000):
        file.write_table(part)
keys = pa.table({"a": np.arange(50)})
bags = Partition(features=(KeyColumn("a"),), keys=keys, counts=counts, totals=np.zeros((50, 1)))
cells = cells_of([FeatureCross(("a",))], [bags])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with encode(path, vocabulary(cells), [bags], block_rows=50_000) as joined:
    seen = sum(len(codes) for _, codes, _ in batches(joined, batch_rows=5000, block_rows=50_000, rng=rng))
assert seen == rows
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no resource module on Windows")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Mapped files count as resident while they are read: 8 bytes a row, against 16 of the table itself."""
    (tmp_path / "m.py").write_text(textwrap.dedent(MEMORY))
    grown = [
        int(
            subprocess.run(
                [sys.executable, str(tmp_path / "m.py"), str(tmp_path / "t.parquet"), str(rows)],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            ).stdout
        )
        for rows in (1_000_000, 8_000_000)
    ]
    assert grown[1] - grown[0] < 100, f"MiB more than before: {grown}"
