"""Small real sets that come with the package, and two that come with scikit-learn."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.data.dataset import Dataset
from tacit.privacy.errors import InvalidInput

__all__ = ["BUNDLED", "bundled_table", "digits", "iris", "satellite", "titanic"]


def titanic() -> Dataset:
    """Return who survived the Titanic: 2,201 people, three categories each, two classes.

    References
    ----------
    Dawson (1995), The "Unusual Episode" Data Revisited, Journal of Statistics Education 3(3).
    """
    return Dataset(
        name="Titanic",
        table=_read("titanic.parquet"),
        label="survived",
        features=("class", "age", "sex"),
        source="R, datasets::Titanic (Dawson 1995), one row per person",
        license="public",
    )


def satellite() -> Dataset:
    """Return Landsat pixels and the soil they show: 6,430 rows, 36 standardized band values, six classes.

    The classes are 1, 2, 3, 4, 5 and 7: the source has no rows of class 6.

    References
    ----------
    Srinivasan (1993), Statlog (Landsat Satellite), UCI Machine Learning Repository, doi:10.24432/C55887.
    """
    table = _read("satellite.parquet")
    return Dataset(
        name="Satellite",
        table=table,
        label="class",
        features=tuple(name for name in table.column_names if name != "class"),
        source="UCI Statlog (Landsat Satellite), as OpenML 182",
        license="CC BY 4.0",
        class_names=(
            "red soil",
            "cotton crop",
            "grey soil",
            "damp grey soil",
            "soil with vegetation stubble",
            "very damp grey soil",
        ),
    )


def iris() -> Dataset:
    """Return Fisher's irises: 150 flowers, four lengths in centimeters, three species.

    References
    ----------
    Fisher (1936), The Use of Multiple Measurements in Taxonomic Problems, Annals of Eugenics 7(2).
    """
    from sklearn.datasets import load_iris

    names = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    bunch = load_iris()
    return _from_scikit(bunch, "Iris", names, label="species", source="Fisher (1936), as scikit-learn ships it")


def digits() -> Dataset:
    """Return handwritten digits: 1,797 images of 8 x 8 pixels with values 0 to 16, ten classes.

    References
    ----------
    Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits, UCI, doi:10.24432/C50P49.
    """
    from sklearn.datasets import load_digits

    names = tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8))
    source = "UCI Optical Recognition of Handwritten Digits (test part), as scikit-learn ships it"
    return _from_scikit(load_digits(), "Digits", names, label="digit", source=source)


BUNDLED = {"digits": digits, "iris": iris, "satellite": satellite, "titanic": titanic}
"""The sets that come with tacit, by name."""


def bundled_table(name: str) -> pa.Table:
    """Return the set that ``bundled:NAME`` names in a command as a table, its label in words."""
    if name not in BUNDLED:
        raise InvalidInput(f"must be one of {', '.join(BUNDLED)}, got {name!r}", field="bundled")
    data = BUNDLED[name]()
    if not data.class_names:
        return data.table
    place = data.table.column_names.index(data.label)
    return data.table.set_column(place, data.label, pa.array([data.class_names[code] for code in data.codes]))


def _read(file: str) -> pa.Table:
    # The bytes, not the open file: Arrow's threads would call into Python, which may be exiting.
    return pq.read_table(pa.BufferReader(files("tacit.data").joinpath("bundled", file).read_bytes()))


def _from_scikit(bunch: Any, name: str, features: tuple[str, ...], *, label: str, source: str) -> Dataset:  # noqa: ANN401
    columns = dict(zip(features, bunch.data.T, strict=True))
    return Dataset(
        name=name,
        table=pa.table(columns | {label: np.asarray(bunch.target, dtype=np.int64)}),
        label=label,
        features=features,
        source=source,
        license="CC BY 4.0",
        class_names=tuple(map(str, bunch.target_names)),
    )
