import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from tacit.data import Dataset
from tacit.privacy.errors import InvalidInput

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


def test_text_features_need_one_hot():
    with pytest.raises(InvalidInput, match="encode it one-hot"):
        _ = DATA.X
    assert DATA.one_hot().names == ("x", "s=a", "s=b")


def test_take_keeps_rows_together():
    assert DATA.take(np.array([2, 1])).table.to_pylist() == [DATA.table.to_pylist()[i] for i in (2, 1)]
    trained = DATA.take(np.array(DATA.table["split"]) == "train")
    assert trained.table["x"].to_pylist() == [1.0, 3.0]
    assert len(trained) == 2


def test_lazy_is_the_same_table():
    assert DATA.lazy().to_pyarrow().to_pydict() == DATA.table.to_pydict()


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DATA.label = "x"
