import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from tacit.data import Dataset

DATA = Dataset(
    name="small",
    table=pa.table({"x": [1.0, 2.0, 3.0], "s": ["b", "a", "b"], "y": [7, 3, 7], "split": ["train", "test", "train"]}),
    label="y",
    features=("x", "s"),
    source="made here",
    license="none",
)


def test_labels_classes_and_codes():
    assert DATA.y.tolist() == [7, 3, 7]
    assert DATA.classes.tolist() == [3, 7]
    assert DATA.codes.tolist() == [1, 0, 1]
    assert DATA.codes.dtype == np.int64
    np.testing.assert_array_equal(DATA.classes[DATA.codes], DATA.y)


def test_features_are_encoded():
    assert DATA.X.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]


def test_take_keeps_rows_together():
    assert DATA.take(np.array([2, 1])).table.to_pylist() == [DATA.table.to_pylist()[i] for i in (2, 1)]
    trained = DATA.take(np.array(DATA.table["split"]) == "train")
    assert trained.table["x"].to_pylist() == [1.0, 3.0]
    assert len(trained) == 2


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DATA.label = "x"
