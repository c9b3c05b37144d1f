"""Tables from ``folder``, by default the one that ``TACIT_DATA`` names: AG News, Criteo, TalkingData and Adult."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data_sets.folder import Folder, read_data_file
from tacit.data.dataset import Dataset

__all__ = ["adult", "ag_news", "criteo", "talkingdata"]

_AG_NEWS_TRAIN, _AG_NEWS_TEST = "ag_news_train_partial_62809.parquet", "ag_news_test_7600.parquet"
_ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
    *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country"),
)


def ag_news(*, train: bool = True, folder: Folder = None) -> Dataset:
    """Return AG News: short news texts, four classes; 62,809 of the 120,000 to train and all 7,600 to test on.

    The feature ``text`` is the title and the description with a space between them; in some training texts the
    separator is " . " or nothing.

    References
    ----------
    Zhang, Zhao and LeCun (2015), Character-level Convolutional Networks for Text Classification.
    """
    if train:
        rows = read_data_file(_AG_NEWS_TRAIN, what="AG News", columns=["label", "text"], folder=folder)
    else:
        rows = read_data_file(_AG_NEWS_TEST, what="AG News", columns=["label", "title", "description"], folder=folder)
        rows = rows.append_column("text", pc.binary_join_element_wise(rows["title"], rows["description"], " "))
    return Dataset(
        name="AG News",
        table=rows,
        label="label",
        features=("text",),
        source="A. Gulli's AG corpus, split by X. Zhang",
        license="research and other non-commercial use",
        class_names=("World", "Sports", "Business", "Sci/Tech"),
    )


def criteo(*, folder: Folder = None) -> Dataset:
    """Return the first 10,000 rows of Criteo's display advertising challenge: clicked or not, 13 counts, 26 hashes."""
    features = (*(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27)))
    return Dataset(
        name="Criteo",
        table=_read("criteo_kaggle_head10000.parquet", "Criteo", ("label", *features), folder),
        label="label",
        features=features,
        source="Criteo, Kaggle Display Advertising Challenge (2014), head of train.txt",
        license="Criteo's terms, research use",
        class_names=("no click", "click"),
    )


def talkingdata(*, folder: Folder = None) -> Dataset:
    """Return 100,000 clicks on advertisements by app, device, system and channel: 227 led to a download.

    ``click_time`` is in the table, as text that sorts by time; ``attributed_time`` too, which reveals the label.
    """
    features = ("ip", "app", "device", "os", "channel")
    columns = (*features, "click_time", "is_attributed")
    return Dataset(
        name="TalkingData",
        table=_read("talkingdata_train_sample_100000.parquet", "TalkingData", columns, folder),
        label="is_attributed",
        features=features,
        source="TalkingData, Kaggle AdTracking Fraud Detection Challenge (2018), train_sample.csv",
        license="Kaggle competition rules",
        class_names=("no download", "download"),
    )


def adult(*, folder: Folder = None) -> Dataset:
    """Return UCI Adult: 48,842 people of the 1994 census, 14 attributes, income above 50,000 dollars or not.

    The column ``split`` says train (32,561) or test (16,281); "?" is a missing value.

    References
    ----------
    Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, doi:10.24432/C5XW20.
    """
    return Dataset(
        name="Adult",
        table=_read("adult_48842.parquet", "Adult", (*_ADULT, "income", "split"), folder),
        label="income",
        features=_ADULT,
        source="UCI Adult (Becker and Kohavi 1996)",
        license="CC BY 4.0",
    )


def _read(file: str, what: str, columns: tuple[str, ...], folder: Folder) -> pa.Table:
    return read_data_file(file, what=what, columns=columns, folder=folder)
