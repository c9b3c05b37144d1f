"""The bundled sets are what their sources say, byte for byte."""

import hashlib
from collections import Counter
from importlib.resources import files

import numpy as np
import pyarrow.parquet as pq
import pytest

from tacit.data import digits, iris, satellite, titanic

FOLDER = files("tacit.data").joinpath("bundled")


def test_titanic():
    data = titanic()
    assert Counter(data.table["class"].to_pylist()) == {"Crew": 885, "3rd": 706, "1st": 325, "2nd": 285}
    assert Counter(data.table["age"].to_pylist()) == {"Adult": 2092, "Child": 109}
    assert Counter(data.table["sex"].to_pylist()) == {"Male": 1731, "Female": 470}
    assert Counter(data.y.tolist()) == {"No": 1490, "Yes": 711}
    assert len(np.unique(data.X, axis=0)) == 14


def test_satellite():
    data = satellite()
    assert dict(sorted(Counter(data.y.tolist()).items())) == {1: 1531, 2: 703, 3: 1356, 4: 625, 5: 707, 7: 1508}
    assert data.X.shape == (6430, 36)
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(data.X.std(axis=0), 1, atol=0.01)


def test_iris_and_digits():
    assert Counter(iris().y.tolist()) == {0: 50, 1: 50, 2: 50}
    assert iris().X.shape == (150, 4)
    assert digits().X.shape == (1797, 64)
    assert len(digits().classes) == 10


@pytest.mark.parametrize("load", [titanic, satellite, iris, digits])
def test_each_says_where_it_comes_from(load):
    data = load()
    assert data.source
    assert data.license
    assert set(data.features) | {data.label} == set(data.table.column_names)
    assert len(data.class_names) in (0, len(data.classes))


@pytest.mark.parametrize("file", ["titanic.parquet", "satellite.parquet"])
def test_sources_page_gives_the_checksum(file):
    line = next(line for line in FOLDER.joinpath("SOURCES.md").read_text().splitlines() if f"| {file}" in line)
    assert hashlib.sha256(FOLDER.joinpath(file).read_bytes()).hexdigest() in line


def test_nothing_else_is_bundled():
    bundled = {entry.name for entry in FOLDER.iterdir()}
    assert bundled == {"SOURCES.md", "titanic.parquet", "satellite.parquet"}


def test_same_values_as_the_files_they_were_made_from(data_folder):
    assert FOLDER.joinpath("titanic.parquet").read_bytes() == (data_folder / "titanic_2201.parquet").read_bytes()
    table = satellite().table
    assert table.equals(pq.read_table(data_folder / "satimage_openml182_6430.parquet", columns=table.column_names))
