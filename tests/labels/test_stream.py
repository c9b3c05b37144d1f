"""Tables of any size become releases: what is in the file, what is not, and in how much memory."""

import json
import subprocess
import sys
import textwrap

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare
from tacit.labels.releases.labels import MissingLabels
from tacit.labels.releases.stream import protect_table

from tacit.data import load_table
from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
from tacit.labels.mechanisms.column import Values
from tacit.labels.mechanisms.one_hot import LaplaceOneHot
from tacit.labels.mechanisms.optimal import OptimalUnbiased
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.labels.releases.source import TableSource
from tacit.privacy import InvalidInput, read_release
from tacit.privacy.noise import system_rng

RR = RandomizedResponse(epsilon=1.0)
KEEPS_ALL = RandomizedResponse(epsilon=40.0)
CONSTANT = PriorRandomizedResponse(epsilon=1.0, prior=np.array([1.0, 0.0]))


def visits(rows=1000, *, seed=0, label="illness_secret"):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 90, rows),
            "city": rng.choice(["Oslo", "Rome", "Bonn"], rows),
            label: rng.choice(["no", "yes"], rows),
        }
    )


def source_of(table, *, batch_rows=100):
    return TableSource(table=load_table(table), batch_rows=batch_rows)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.parquet"


def protect(table, out, **options):
    defaults = {"label": "illness_secret", "mechanism": RR, "classes": ["no", "yes"], "rng": np.random.default_rng(0)}
    return protect_table(table, out, **{**defaults, **options})


@pytest.mark.parametrize(
    ("mechanism", "equal"), [(CONSTANT, True), (RR, False)], ids=["constant output", "control: real output"]
)
def test_the_file_depends_on_the_labels_through_the_mechanism_alone(tmp_path, mechanism, equal):
    first = visits(seed=0)
    others = first.set_column(2, "illness_secret", [["yes"] * 1000])
    for i, table in enumerate([first, others]):
        protect(table, tmp_path / f"{i}.parquet", mechanism=mechanism, keep=["age", "city"])
    files = [(tmp_path / f"{i}.parquet").read_bytes() for i in (0, 1)]
    assert (files[0] == files[1]) is equal


def test_nothing_of_the_private_column_is_in_the_file(out):
    frame = visits().to_pandas().set_index(pd.Index([f"person {i}" for i in range(1000)]))
    protect(frame, out, keep=["age"])
    file = pq.ParquetFile(out)
    assert file.schema_arrow.names == ["age", "label"]
    assert set(file.metadata.metadata) == {b"tacit_release"}
    for trace in (b"city", b"person", b"pandas"):
        assert trace not in out.read_bytes()
    assert out.read_bytes().count(b"illness_secret") == 1, "its name, which is public, in the header"
    assert read_release(out).mechanism["column"] == "illness_secret"
    assert b"age" in out.read_bytes(), "control: names stand in clear"
    statistics = [file.metadata.row_group(i).column(1).statistics for i in range(file.num_row_groups)]
    assert {s.min for s in statistics} | {s.max for s in statistics} <= {"no", "yes"}
    assert not any(s.has_distinct_count for s in statistics)


def test_numbers_that_were_rounded_leave_no_trace(out):
    table = pa.table({"illness_secret": np.array([0.1234567, 0.7654321] * 500)})
    bins = RandomizedResponseOnBins(epsilon=1.0, values=np.array([0.0, 1.0]), prior=[0.5, 0.5])
    made = protect(table, out, mechanism=bins, classes=None)
    released = np.asarray(read_release(out).value["label"])
    assert set(released) == set(bins.outputs)
    assert made.mechanism["outputs"] == bins.outputs.tolist()


def test_rows_keep_their_order_and_are_all_there(out):
    table = visits(1003)
    steps = []
    made = protect(
        source_of(table), out, mechanism=KEEPS_ALL, keep=["city", "age"], progress=lambda *step: steps.append(step)
    )
    release = read_release(out)
    assert release.value.column_names == ["city", "age", "label"]
    for name, column in (("city", "city"), ("age", "age"), ("label", "illness_secret")):
        assert release.value[name].to_pylist() == table[column].to_pylist()
    assert steps[-1] == (1003, 1003)
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert (made.rows, made.missing, made.repeated, made.receipt) == (1003, 0, False, None)


def test_batches_are_small(monkeypatch, out):
    seen = []
    real = TableSource.read

    def watched(self, columns):
        for batch in real(self, columns):
            seen.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(TableSource, "read", watched)
    protect(source_of(visits(1000), batch_rows=64), out)
    assert max(seen) == 64
    assert sum(seen) == 2000, "counted once, randomized once"


MEASURE = """
    import resource, sys
    from pathlib import Path
    import numpy as np
    from tacit.data import load_table
    from tacit.labels.mechanisms.response import RandomizedResponse
    from tacit.labels.releases.stream import protect_table

    def peak():
        status = Path("/proc/self/status")
        if status.exists():  # on Linux ru_maxrss begins with the parent's
            return next(int(line.split()[1]) * 1024 for line in status.open() if line.startswith("VmHWM"))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    way, path, out = sys.argv[1:]
    table = load_table(path)
    options = {"label": "y", "mechanism": RandomizedResponse(epsilon=1.0), "classes": [0, 1], "force": True}
    protect_table(table.limit(1000), out, keep=["x0"], rng=np.random.default_rng(0), **options)
    before = peak()
    if way == "stream":
        protect_table(table, out, keep=list(table.columns[:-1]), rng=np.random.default_rng(0), **options)
    else:
        table.to_pyarrow()
    print(peak() - before)
"""


def grown_by(way, path, out):
    pytest.importorskip("resource", reason="needs a POSIX system to measure memory")
    code = textwrap.dedent(MEASURE)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, way, path, out], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.slow
def test_a_table_larger_than_its_memory_streams_through(tmp_path, out):
    path, rows = tmp_path / "large.parquet", 250_000
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(25)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int64())])
    with pq.ParquetWriter(path, schema) as file:
        for _ in range(8):
            columns = {name: rng.normal(size=rows) for name in names}
            file.write_table(pa.table({**columns, "y": rng.integers(0, 2, rows)}, schema=schema))
    size = 8 * rows * 26 * 8
    assert grown_by("stream", path, out) < size * 0.6
    assert grown_by("whole", path, out) > size * 0.9, "control: the same measure sees a table that is read whole"


@pytest.mark.parametrize(("claimed", "fits"), [(1.0, True), (1.2, False), (0.8, False)])
def test_released_labels_follow_the_mechanism_in_every_batch(out, claimed, fits):
    labels = np.tile([0, 1, 2], 50_000)
    protect(
        source_of(pa.table({"illness_secret": labels}), batch_rows=4096),
        out,
        classes=[0, 1, 2],
        rng=np.random.default_rng(7),
    )
    released = np.asarray(read_release(out).value["label"])
    counts = np.array([np.bincount(released[labels == y], minlength=3) for y in range(3)])
    expected = RandomizedResponse(epsilon=claimed, classes=3).transition() * 50_000
    p = chisquare(counts.ravel(), expected.ravel(), ddof=2).pvalue
    assert bool(p > 1e-6) is fits


def test_no_two_batches_share_their_noise(out):
    protect(source_of(pa.table({"illness_secret": ["no"] * 4000}), batch_rows=1000), out, rng=system_rng())
    parts = np.array(read_release(out).value["label"].to_pylist()).reshape(4, 1000)
    assert len({tuple(part) for part in parts}) == 4


def test_missing_labels_stay_missing_and_are_counted(out):
    table = pa.table({"illness_secret": ["no", None, "yes", None]})
    with pytest.raises(InvalidInput, match="got 2 without a label"):
        protect(table, out)
    assert not out.exists()
    made = protect(table, out, missing=MissingLabels.PUBLIC)
    assert made.missing == 2
    assert "which 2 rows have no label is public" in made.guarantee.assumptions
    assert [v is None for v in read_release(out).value["label"].to_pylist()] == [False, True, False, True]


def test_classes_that_occur_are_an_assumption_and_declared_ones_are_not(out):
    found = protect(visits(), out, classes=None)
    assert "which classes occur in the labels is public" in found.guarantee.assumptions
    declared = protect(visits(), out, force=True)
    assert not any("occur" in sentence for sentence in declared.guarantee.assumptions)


def test_noised_one_hot_rows_are_a_list_column(out):
    protect(visits(500), out, mechanism=LaplaceOneHot(epsilon=1.0))
    column = read_release(out).value["label"]
    assert {len(row) for row in column.to_pylist()} == {2}
    assert column.type == pa.list_(pa.float64())


def test_numbers_are_taken_to_the_nearest_declared_value(out):
    unbiased = OptimalUnbiased(epsilon=2.0, values=np.array([0.0, 1.0, 2.0]), prior=[0.5, 0.3, 0.2])
    table = pa.table({"illness_secret": [0.2, 0.9, 1.8] * 2000})
    protect(table, out, mechanism=unbiased, classes=None)
    released = np.asarray(read_release(out).value["label"])
    assert released.mean() == pytest.approx(1.0, abs=0.3)
    with pytest.raises(InvalidInput, match=r"labels must lie within the declared values 0\.\.2, got 2\.5"):
        protect(pa.table({"illness_secret": [0.0, 2.5]}), out, mechanism=unbiased, classes=None, force=True)


def test_the_guarantee_is_stated_for_the_person_as_well(out):
    made = protect(visits(), out, rows_per_person=3)
    assert str(made.per_label) == "epsilon 1 for one label"
    assert str(made.guarantee) == str(read_release(out).guarantee) == "epsilon 3 for 3 labels of one person"
    assert read_release(out).mechanism["epsilon"] == 1.0, "what a learner needs is the mechanism's own"
    assert json.dumps(made.to_json())


def test_a_seeded_release_says_so(out):
    assert protect(visits(), out).seeded
    assert not protect(visits(), out, rng=system_rng(), force=True).seeded
    assert not read_release(out).seeded


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "illness"}, "label names no column 'illness'; did you mean 'illness_secret'"),
        ({"keep": ["aged"]}, "keep names no column 'aged'"),
        ({"keep": ["illness_secret"]}, "keep must not name the private column"),
        ({"keep": ["age", "age"]}, "keep must name different columns"),
        ({"classes": ["no", "maybe"]}, "labels must be among the declared classes"),
        ({"classes": ["no"]}, "classes must be at least two"),
        ({"mechanism": LaplaceOneHot(epsilon=1.0, classes=3)}, "classes must be 3, as the mechanism was made for"),
        (
            {"mechanism": PriorRandomizedResponse(epsilon=1.0, prior=np.full((5, 2), 0.5))},
            "one for all rows of a table",
        ),
        ({"classes": Values(values=[0, 1])}, "classes must be a list of classes for randomized_response"),
        ({"rows_per_person": 0}, "rows_per_person must be a whole number >= 1"),
    ],
)
def test_bad_input_writes_nothing(out, options, message):
    with pytest.raises(InvalidInput, match=message):
        protect(visits(), out, **options)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["no"] * 5, "has one value, 'no', in all rows"),
        ([None, None], "classes must be at least two"),
        (pa.array([1, 2], pa.date32()), "labels must be numbers, text or truth values, got date32"),
        ([float(i) for i in range(1001)], "has more than 1000 different values"),
    ],
)
def test_columns_that_have_no_classes(out, column, message):
    with pytest.raises(InvalidInput, match=message):
        protect(pa.table({"illness_secret": column}), out, classes=None)
    assert not out.exists()


def test_a_column_called_label_is_not_shadowed(out):
    table = visits().rename_columns(["age", "label", "illness_secret"])
    with pytest.raises(InvalidInput, match="keep must not name a column 'label'"):
        protect(table, out, keep=["label"])
    protect(visits(label="label"), out, label="label", keep=["age"])
    assert read_release(out).value.column_names == ["age", "label"]


def test_a_database_without_an_order_of_rows_must_keep_a_key(tmp_path, out):
    database = ibis.sqlite.connect(tmp_path / "visits.db")
    table = database.create_table("visits", visits())
    with pytest.raises(InvalidInput, match="this table has no order of rows"):
        protect(table, out)
    protect(table, out, keep=["age"], mechanism=KEEPS_ALL)
    released = read_release(out).value
    expected = sorted(zip(*(visits()[name].to_pylist() for name in ("age", "illness_secret")), strict=True))
    assert sorted(zip(released["age"].to_pylist(), released["label"].to_pylist(), strict=True)) == expected


def test_the_table_itself_is_not_written_over(tmp_path):
    pq.write_table(visits(), tmp_path / "visits.parquet")
    before = (tmp_path / "visits.parquet").read_bytes()
    with pytest.raises(InvalidInput, match="is the table that is read, which would be lost"):
        protect(tmp_path / "visits.parquet", tmp_path / "visits.parquet", force=True)
    assert (tmp_path / "visits.parquet").read_bytes() == before


def test_an_existing_file_stays(out):
    out.write_text("mine")
    with pytest.raises(InvalidInput, match="exists already"):
        protect(visits(), out)
    assert out.read_text() == "mine"
    protect(visits(), out, force=True)
    assert read_release(out).value.num_rows == 1000


def test_a_table_that_changes_while_it_is_read_is_refused(monkeypatch, out):
    real = TableSource.read

    def shrinking(self, columns, calls=[]):  # noqa: B006
        calls.append(columns)
        batches = list(real(self, columns))
        return iter(batches if len(calls) == 1 else batches[:-1])

    monkeypatch.setattr(TableSource, "read", shrinking)
    with pytest.raises(InvalidInput, match="had 1000 rows and then 900"):
        protect(source_of(visits()), out)
    assert list(out.parent.iterdir()) == []
