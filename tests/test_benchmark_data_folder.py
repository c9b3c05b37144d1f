import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.data_sets.folder import read_data_file
from tacit.privacy.errors import InvalidInput


def read(**changes):
    return read_data_file("t.parquet", **{"what": "Test data", "columns": ["a"]} | changes)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    return tmp_path


def write(folder, **columns):
    pq.write_table(pa.table(columns), folder / "t.parquet")


def test_folder_of_the_variable(folder):
    write(folder, a=[1])
    assert read()["a"].to_pylist() == [1]


def test_named_folder_comes_first(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write(folder, a=[1])
    write(other, a=[2])
    assert read(folder=other)["a"].to_pylist() == [2]


def test_split(folder):
    write(folder, a=[1, 2, 3], split=["train", "test", "train"])
    assert read(split="train")["a"].to_pylist() == [1, 3]
    with pytest.raises(InvalidInput, match=r"t\.parquet has no rows of split other; put the file for Test data there$"):
        read(split="other")


@pytest.mark.parametrize("value", [None, ""])
def test_variable_not_set(monkeypatch, value):
    monkeypatch.delenv("TACIT_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("TACIT_DATA", value)
    sentence = r"^TACIT_DATA is not set; set it to the folder with t\.parquet \(Test data\)$"
    with pytest.raises(InvalidInput, match=sentence):
        read()


def test_no_such_folder(monkeypatch):
    monkeypatch.setenv("TACIT_DATA", "nowhere")
    sentence = r"^nowhere is no folder; name the folder with t\.parquet \(Test data\) in TACIT_DATA$"
    with pytest.raises(InvalidInput, match=sentence):
        read()


def test_missing_file_says_what_goes_where(folder):
    with pytest.raises(InvalidInput, match=r"^Test data is not there; put t\.parquet into ") as caught:
        read()
    assert str(folder) in str(caught.value)


def test_missing_column(folder):
    write(folder, b=[1])
    with pytest.raises(InvalidInput, match=r"t\.parquet has no column 'a'; put the file for Test data there$"):
        read()


def test_unreadable_file(folder):
    (folder / "t.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInput, match=r"t\.parquet is not a readable Parquet file; put the file for"):
        read()
