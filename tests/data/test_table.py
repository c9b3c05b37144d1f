"""Every kind of source gives the same lazy table, in the same order, or one sentence."""

import datetime
import errno
import gzip
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from tacit.data import as_ibis, open_table, read_rows
from tacit.data.connection import connection
from tacit.privacy.errors import InvalidInput

ROWS = pa.table({"x": [3, 1, 2], "s": ["b", None, "a"], "y": [0.5, 1.5, 2.5]})


def ipc_stream(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, ROWS.schema) as writer:
        writer.write_table(ROWS)


def other_connection():
    backend = ibis.duckdb.connect()
    backend.con.register("t", ROWS)
    return backend.table("t")


FILES = {
    "t.csv": lambda path: path.write_text("x,s,y\n3,b,0.5\n1,,1.5\n2,a,2.5\n"),
    "t.parquet": lambda path: pyarrow.parquet.write_table(ROWS, path),
    "t.pq": lambda path: pyarrow.parquet.write_table(ROWS, path),
    "parquet without suffix": lambda path: pyarrow.parquet.write_table(ROWS, path),
    "t.feather": lambda path: pyarrow.feather.write_feather(ROWS, path),
    "t.arrow": lambda path: pyarrow.feather.write_feather(ROWS, path, compression="uncompressed"),
    "t.arrows": ipc_stream,
    "stream.arrow": ipc_stream,
}
IN_MEMORY = {
    "pandas": lambda: ROWS.to_pandas(),
    "pandas with an index": lambda: ROWS.to_pandas().set_index(pd.Index([7, 8, 9])),
    "polars": lambda: pl.from_arrow(ROWS),
    "lazy polars": lambda: pl.from_arrow(ROWS).lazy(),
    "pyarrow table": lambda: ROWS,
    "pyarrow batch": lambda: ROWS.to_batches()[0],
    "pyarrow reader": lambda: ROWS.to_reader(max_chunksize=1),
    "pyarrow dataset": lambda: pyarrow.dataset.dataset(ROWS),
    "Ibis memtable": lambda: ibis.memtable(ROWS),
    "Ibis table of another connection": other_connection,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_files(tmp_path, name, kind):
    path = tmp_path / name
    FILES[name](path)
    table = as_ibis(open_table(kind(path)))
    assert isinstance(table, ibis.Table)
    assert table.to_pyarrow().to_pydict() == ROWS.to_pydict()


@pytest.mark.parametrize("name", IN_MEMORY)
def test_sources_in_memory_can_be_read_twice(name):
    table = as_ibis(open_table(IN_MEMORY[name]()))
    assert isinstance(table, ibis.Table)
    for _ in range(2):
        assert table.to_pyarrow().to_pydict() == ROWS.to_pydict()


def test_dataset_of_arrow_files(tmp_path):
    for number in range(3):
        pyarrow.feather.write_feather(ROWS, tmp_path / f"{number}.arrow")
    table = open_table(pyarrow.dataset.dataset(tmp_path, format="ipc"))
    assert pa.concat_tables([table.to_arrow(table.columns) for _ in range(2)]).equals(pa.concat_tables([ROWS] * 6))


def test_file_without_permission(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    (tmp_path / "t.csv").touch()
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InvalidInput, match=r"t\.csv cannot be read: Permission denied$"):
        open_table(tmp_path / "t.csv")


def test_ibis_table_is_returned_as_it_is():
    table = ibis.memtable(ROWS)
    assert as_ibis(open_table(table)) is table


def test_numbered_columns_of_pandas_get_their_numbers_as_names():
    assert open_table(pd.DataFrame(np.eye(2))).columns == ("0", "1")


def test_two_files_can_be_joined(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n1,5\n2,6\n")
    pyarrow.parquet.write_table(pa.table({"id": [2, 1], "y": ["b", "a"]}), tmp_path / "b.parquet")
    joined = (
        as_ibis(open_table(tmp_path / "a.csv")).join(as_ibis(open_table(tmp_path / "b.parquet")), "id").order_by("id")
    )
    assert joined.to_pyarrow().to_pydict() == {"id": [1, 2], "x": [5, 6], "y": ["a", "b"]}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_order_of_rows_is_the_files(tmp_path, suffix):
    path, rows = tmp_path / f"t.{suffix}", 400_000
    table = pa.table({"i": np.arange(rows), "pad": np.random.default_rng(0).random(rows)})
    if suffix == "csv":
        pa.csv.write_csv(table, path)
    elif suffix == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=2_048)
    else:
        pyarrow.feather.write_feather(table, path, chunksize=2_048)
    loaded = as_ibis(open_table(path))
    np.testing.assert_array_equal(loaded.select("i").to_pyarrow()["i"].to_numpy(), np.arange(rows))
    kept = loaded.filter(loaded.pad < 0.5).select("i").to_pyarrow()["i"].to_numpy()
    assert (np.diff(kept) > 0).all()


def test_a_file_larger_than_memory_works(tmp_path):
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    schema = pa.schema({"k": pa.int64(), "v": pa.float64()})
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for _ in range(50):
            writer.write_table(pa.table({"k": rng.integers(0, 7, 100_000), "v": rng.random(100_000)}, schema))
    table = as_ibis(open_table(path))
    backend = connection()
    before = backend.execute("SELECT current_setting('memory_limit')").fetchone()[0]
    spill = backend.execute("SELECT current_setting('temp_directory')").fetchone()[0]
    backend.execute("SET memory_limit = '40MiB'")
    try:
        counts = table.group_by("k").agg(n=table.count(), mean=table.v.mean()).to_pyarrow()
        backend.execute("SET temp_directory = ''")
        with pytest.raises(duckdb.OutOfMemoryException):  # the control: the rows do not fit at once
            backend.execute(f"CREATE TEMP TABLE whole AS FROM '{path}'")
    finally:
        backend.execute(f"SET temp_directory = '{spill}'")
        backend.execute(f"SET memory_limit = '{before}'")
    assert sum(counts["n"].to_pylist()) == 5_000_000
    np.testing.assert_allclose(counts["mean"].to_pylist(), 0.5, atol=0.01)


BAD = {
    "duplicate columns of pandas": (
        lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        r"the DataFrame has two columns named 'a'; rename one of them",
    ),
    "a number and a word for a name": (
        lambda: pd.DataFrame([[1, 2]], columns=[1, "1"]),
        r"the DataFrame has two columns named '1'; rename one of them",
    ),
    "duplicate columns of Arrow": (
        lambda: pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
        r"the Table has two columns named 'a'; rename one of them",
    ),
    "duplicate columns of a reader": (
        lambda: pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]).to_reader(),
        r"the RecordBatchReader has two columns named 'a'; rename one of them",
    ),
    "names apart by case": (
        lambda: pl.DataFrame({"a": [1], "A": [2]}),
        r"the DataFrame has columns 'a' and 'A', the same but for case; rename one",
    ),
    "mixed types": (
        lambda: pd.DataFrame({"x": [1, 2], "y": [1, "a"]}),
        r"the DataFrame is not a table: column 'y' mixes types; give each column one type",
    ),
    "no rows of pandas": (lambda: pd.DataFrame({"a": []}), r"the DataFrame has no rows; a table needs at least one"),
    "no rows of Ibis": (
        lambda: ibis.memtable(ROWS).filter(ibis._.x > 9),
        r"the Ibis table has no rows; a table needs at least one",
    ),
    "no columns": (lambda: pd.DataFrame(), r"the DataFrame has no named columns; a table needs at least one"),
    "no columns of a reader": (
        lambda: pa.table({}).to_reader(),
        r"the RecordBatchReader has no named columns; a table needs at least one",
    ),
    "an Ibis table without data": (
        lambda: ibis.table({"a": "int64"}, name="t"),
        r"the Ibis table cannot be read: .*unbound",
    ),
    "a list": (lambda: [1, 2], r"source must be a path, a pandas or polars frame, .*, got list"),
    "an array": (lambda: np.eye(2), r"source must be a path, .*, got ndarray"),
    "a polars series": (lambda: pl.Series([1]), r"source must be a path, .*, got Series"),
    "nothing": (lambda: None, r"source must be a path, .*, got NoneType"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_source_is_one_sentence(case):
    make, sentence = BAD[case]
    with pytest.raises(InvalidInput, match=f"^{sentence}") as caught:
        open_table(make())
    assert "\n" not in str(caught.value)


def duplicate_parquet(path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(table, path)


def cut(path, write, share=0.5):
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])


BAD_FILES = {
    "absent.csv": (lambda path: None, r"does not exist; give the path of a table"),
    "folder": (lambda path: path.mkdir(), r"is a folder without a table"),
    "empty.csv": (lambda path: path.touch(), r"is empty; a table needs columns and at least one row"),
    "empty.parquet": (lambda path: path.touch(), r"is empty; a table needs columns and at least one row"),
    "text.parquet": (lambda path: path.write_text("a,b\n1,2\n" * 9), r"is not a readable Parquet file: .*; give a CSV"),
    "cut.parquet": (lambda path: cut(path, FILES["t.parquet"]), r"is not a readable Parquet file: .*; give a CSV"),
    "text.arrow": (lambda path: path.write_text("a,b\n1,2\n"), r"is not a readable Arrow file: .*; give a CSV"),
    "cut.arrow": (lambda path: cut(path, FILES["t.arrow"]), r"is not a readable Arrow file: .*; give a CSV"),
    "cut.arrows": (lambda path: cut(path, ipc_stream, 0.7), r"is not a readable Arrow file: .*; give a CSV"),
    "duplicate.parquet": (duplicate_parquet, r"has two columns named 'a'; rename one of them"),
    "no rows.parquet": (
        lambda path: pyarrow.parquet.write_table(ROWS.slice(0, 0), path),
        r"has no rows; a table needs at least one",
    ),
    "no rows.arrow": (
        lambda path: pyarrow.feather.write_feather(ROWS.slice(0, 0), path),
        r"has no rows; a table needs at least one",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file_is_one_sentence(tmp_path, name):
    make, sentence = BAD_FILES[name]
    path = tmp_path / name
    make(path)
    with pytest.raises(InvalidInput, match=f"{name} {sentence}") as caught:
        open_table(path)
    assert "\n" not in str(caught.value)


def test_a_small_file_that_is_enormous_in_memory_is_refused_unread(tmp_path):
    rows, zipped = tmp_path / "rows.parquet", tmp_path / "t.csv.gz"
    pyarrow.parquet.write_table(pa.table({"y": np.ones(12_000_000, dtype=np.int8)}), rows)
    whole = gzip.compress(b"x,y\n" + b"1,2\n" * 5_000_000)
    zipped.write_bytes(whole[:-4] + (300_000_000).to_bytes(4, "little"))  # the size that it states
    for path in (rows, zipped):
        assert path.stat().st_size < 100_000
        with pytest.raises(InvalidInput, match=rf"{path.name} .* bytes.*, too few to tell"):
            open_table(path)


def test_json_lines_may_be_gzipped(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"x": 3, "y": "a"}\n{"x": 4, "y": "b"}\n'))
    assert read_rows(open_table(path)).to_pydict() == {"x": [3, 4], "y": ["a", "b"]}


def excel(path, *rows):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_an_excel_column_of_several_types_is_text_or_what_it_means(tmp_path):
    day = datetime.datetime(2020, 1, 31)
    rows = ["age", "code", "seen"], [31, "x", day], ["unknown", 2, "-"], [2.5, None, day]
    meant = {"age": [31, None, 2.5], "code": ["x", "2", None], "seen": [day, None, day]}
    assert read_rows(open_table(excel(tmp_path / "t.xlsx", *rows))).to_pydict() == meant


def test_an_excel_file_may_have_a_title_and_a_column_without_a_name(tmp_path):
    rows = ["Report of 2025"], [], ["a", None, "y"], [1, 2, "no"], [3, 4, "yes"]
    meant = {"a": [1, 3], "column1": [2, 4], "y": ["no", "yes"]}
    assert read_rows(open_table(excel(tmp_path / "t.xlsx", *rows))).to_pydict() == meant


def test_json_may_be_a_list_and_mix_types(tmp_path):
    (tmp_path / "t.json").write_text('[{"x": 3, "y": "a"},\n {"x": "many", "z": true}]')
    meant = {"x": ["3", "many"], "y": ["a", None], "z": [None, True]}
    assert read_rows(open_table(tmp_path / "t.json")).to_pydict() == meant


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["", "", "", "1"]], "must have a header, a row that names at least half of its columns"),
        ([["a", "b", "a"], [1, 2, 3]], "has two columns named 'a'"),
        ([["a", "b"]], "has no rows; a table needs at least one"),
        ([], "has no named columns; a table needs at least one"),
    ],
)
def test_an_excel_file_that_is_no_table_is_one_sentence(tmp_path, rows, said):
    with pytest.raises(InvalidInput, match=rf"t\.xlsx {said}"):
        open_table(excel(tmp_path / "t.xlsx", *rows))


def test_durations_are_days(tmp_path):
    frame = pl.DataFrame({"stay": [datetime.timedelta(hours=36), None], "ill": ["no", "yes"]})
    frame.write_ipc(tmp_path / "t.arrow")
    for source in (frame, tmp_path / "t.arrow"):
        assert read_rows(open_table(source)).to_pydict() == {"stay": [1.5, None], "ill": ["no", "yes"]}


def run(program, *arguments):
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_polars_is_not_imported_and_nothing_is_printed(tmp_path):
    FILES["t.csv"](tmp_path / "t.csv")
    program = (
        "import sys; from tacit.data import as_ibis, open_table\n"
        "as_ibis(open_table(sys.argv[1])).to_pyarrow()\n"
        "assert 'polars' not in sys.modules and 'torch' not in sys.modules\n"
    )
    assert run(program, str(tmp_path / "t.csv")) == ("", "")


def test_import_reads_no_data_and_opens_no_connection():
    program = (
        "import sys\n"
        "def watch(event, arguments):\n"
        "    if event.startswith('socket.') or event == 'open' and '.parquet' in str(arguments[0]):\n"
        "        print(event, arguments)\n"
        "sys.addaudithook(watch)\n"
        "import tacit.data\n"
        "print('imported')\n"
        "tacit.data.titanic()\n"  # the control: the hook sees a file that is read
    )
    before, after = run(program)[0].split("imported")
    assert before == ""
    assert "titanic.parquet" in after
