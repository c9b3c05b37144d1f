"""The larger tables: from tiny files of the same format, and from the real ones where they are."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.data_sets import adult, ag_news, criteo, talkingdata

TEXT = ["workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country"]
NUMBERS = ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]


def test_ag_news(tmp_path):
    train = {
        "label": pa.array([0, 3], pa.uint8()),
        "text": ["a b", "c d"],
        "source": ["s", "s"],
        "title_len": [1, None],
    }
    test = {"label": pa.array([1, 2], pa.uint8()), "title": ["T", "U"], "description": ["one", "two"]}
    pq.write_table(pa.table(train), tmp_path / "ag_news_train_partial_62809.parquet")
    pq.write_table(pa.table(test), tmp_path / "ag_news_test_7600.parquet")
    assert ag_news(folder=tmp_path).table["text"].to_pylist() == ["a b", "c d"]
    tested = ag_news(train=False, folder=tmp_path)
    assert tested.table["text"].to_pylist() == ["T one", "U two"]
    assert tested.y.tolist() == [1, 2]


def test_criteo(tmp_path, monkeypatch):
    columns = {"label": pa.array([0, 1], pa.uint8())}
    columns |= {f"I{i}": pa.array([i, None], pa.int32()) for i in range(1, 14)}
    columns |= {f"C{i}": ["68fd1e64", None] for i in range(1, 27)}
    pq.write_table(pa.table(columns), tmp_path / "criteo_kaggle_head10000.parquet")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    data = criteo()
    assert len(data.features) == 39
    assert data.y.tolist() == [0, 1]
    assert data.X[:, :26].reshape(2, 13, 2).tolist() == [[[i, missing] for i in range(1, 14)] for missing in (0, 1)]
    assert data.X[:, 26:].tolist() == [[1.0, 0.0] * 26, [0.0, 1.0] * 26]


def test_talkingdata(tmp_path):
    columns = {name: [1, 2] for name in ("ip", "app", "device", "os", "channel")}
    columns |= {"click_time": ["2017-11-07 09:30:38", "2017-11-07 13:40:27"], "attributed_time": [None, "x"]}
    pq.write_table(pa.table(columns | {"is_attributed": [0, 1]}), tmp_path / "talkingdata_train_sample_100000.parquet")
    data = talkingdata(folder=tmp_path)
    assert data.X.tolist() == [[1.0] * 5, [2.0] * 5]
    assert not {"click_time", "attributed_time"} & set(data.features)


def test_adult(tmp_path):
    columns = {name: ["p", "q"] for name in TEXT} | {name: [1, 2] for name in NUMBERS}
    columns |= {"income": ["<=50K", ">50K"], "split": ["train", "test"]}
    pq.write_table(pa.table(columns), tmp_path / "adult_48842.parquet")
    data = adult(folder=tmp_path)
    assert data.codes.tolist() == [0, 1]
    assert sorted(data.features) == sorted(TEXT + NUMBERS)
    assert data.X.shape == (2, 6 + 2 * 8)


@pytest.mark.parametrize(
    ("load", "rows", "counts"),
    [
        (ag_news, 62_809, {0: 15_666, 1: 15_771, 2: 15_799, 3: 15_573}),
        (lambda folder: ag_news(train=False, folder=folder), 7_600, {0: 1900, 1: 1900, 2: 1900, 3: 1900}),
        (criteo, 10_000, {0: 7_818, 1: 2_182}),
        (talkingdata, 100_000, {0: 99_773, 1: 227}),
        (adult, 48_842, {"<=50K": 37_155, ">50K": 11_687}),
    ],
    ids=["AG News train", "AG News test", "Criteo", "TalkingData", "Adult"],
)
def test_the_real_tables(data_folder, load, rows, counts):
    data = load(folder=data_folder)
    assert len(data) == rows
    assert Counter(data.y.tolist()) == counts
    assert set(data.features) < set(data.table.column_names)


def test_the_real_adults_split(data_folder):
    data = adult(folder=data_folder)
    split = data.table["split"].to_numpy()
    assert len(data.take(split == "train")) == 32_561
    assert len(data.take(split == "test")) == 16_281
