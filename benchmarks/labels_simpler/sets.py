"""The sets: ten public ones, and made-up ones with few positives or many classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

Array = NDArray[np.float64]
SETS: dict[str, Callable[[], Rows]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Numeric features, missing values filled in, and class codes of all rows of a set."""

    X: Array
    y: NDArray[np.int64]

    def divided(self, seed: int, *, cap: int, judged: int) -> tuple[Rows, Rows]:
        """Return at most ``cap`` rows to learn from, and a quarter of all, at most ``judged``, to judge by.

        Features are standardized by the rows to learn from.
        """
        order = np.random.default_rng(seed).permutation(len(self.y))
        other, own = np.split(order, [min(judged, len(order) // 4)])
        own = own[:cap]
        mean, spread = self.X[own].mean(axis=0), self.X[own].std(axis=0)
        X = (self.X - mean) / np.where(spread > 0, spread, 1.0)
        return (replace(self, X=X[rows], y=self.y[rows]) for rows in (own, other))  # type: ignore[return-value]


def _listed(name: str) -> Callable[[Callable[[], Rows]], Callable[[], Rows]]:
    def listed(load: Callable[[], Rows]) -> Callable[[], Rows]:
        SETS[name] = cache(load)
        return SETS[name]

    return listed


def _bundled(name: str) -> Rows:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Rows(X=X.astype(np.float64), y=y.astype(np.int64))


for _name in ("digits", "breast_cancer", "wine"):
    SETS[_name] = cache(lambda name=_name: _bundled(name))


@_listed("adult")
def _adult() -> Rows:
    from benchmarks.data_sets import adult

    data = adult()
    return Rows(X=np.asarray(data.X, dtype=np.float64), y=(data.y == data.classes[1]).astype(np.int64))


@_listed("satellite")
def _satellite() -> Rows:
    from benchmarks.data_sets.folder import read_data_file

    rows = read_data_file("satimage_openml182_6430.parquet", what="Satellite", columns=["class"]).to_pandas()
    X = rows[[name for name in rows if str(name).endswith("attr") and not str(name).startswith("raw")]].to_numpy(
        np.float64
    )
    return Rows(X=X, y=np.unique(rows["class"].astype(str), return_inverse=True)[1].astype(np.int64))


@_listed("mnist")
def _mnist() -> Rows:
    from sklearn.decomposition import PCA

    from benchmarks.data_sets import mnist

    images = mnist()
    pixels = images.images.reshape(len(images.labels), -1)[:24_000] / 255.0
    return Rows(X=PCA(40, random_state=0).fit_transform(pixels), y=images.labels[:24_000].astype(np.int64))


@_listed("criteo")
def _criteo() -> Rows:
    from benchmarks.data_sets import criteo

    frame = criteo().table.to_pandas()
    counts = np.log1p(frame[[f"I{i}" for i in range(1, 14)]].clip(lower=0))
    codes = frame[[f"C{i}" for i in range(1, 27)]].fillna("none")
    seen = codes.apply(lambda column: np.log(column.map(column.value_counts())))
    X = np.hstack([counts.fillna(counts.mean()), counts.isna(), seen, _hashed(codes, width=64)])
    return Rows(X=X.astype(np.float64), y=frame["label"].to_numpy(np.int64))


@_listed("talkingdata")
def _talkingdata() -> Rows:
    """All 227 downloads, and every fifth of the other clicks: 1.1% are positive."""
    from benchmarks.data_sets import talkingdata

    frame = talkingdata().table.to_pandas()
    kept = frame[(frame["is_attributed"] == 1) | (np.arange(len(frame)) % 5 == 0)]
    codes = kept[["ip", "app", "device", "os", "channel"]].astype(str)
    seen = codes.apply(lambda column: np.log(column.map(column.value_counts())))
    hour = pd.to_datetime(kept["click_time"]).dt.hour.to_numpy()[:, None] * np.pi / 12
    X = np.hstack([seen, np.sin(hour), np.cos(hour), _hashed(codes, width=64)])
    return Rows(X=X.astype(np.float64), y=kept["is_attributed"].to_numpy(np.int64))


def _hashed(codes: pd.DataFrame, *, width: int) -> Array:
    from sklearn.feature_extraction import FeatureHasher

    words = [[f"{name}={value}" for name, value in row.items()] for row in codes.to_dict("records")]
    return np.asarray(FeatureHasher(width, input_type="string").transform(words).toarray())


@_listed("ag_news")
def _ag_news() -> Rows:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from benchmarks.data_sets import ag_news

    frame = ag_news().table.to_pandas().iloc[:24_000]
    words = TfidfVectorizer(max_features=5000, sublinear_tf=True).fit_transform(frame["text"])
    return Rows(X=TruncatedSVD(60, random_state=0).fit_transform(words), y=frame["label"].to_numpy(np.int64))


def _with_positives(share: float) -> Rows:
    """20 features of which five say something, linearly, and two of these by their product."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30_000, 20))
    z = X[:, :5] @ [1.2, -0.9, 0.7, 0.5, -0.4] + 0.5 * X[:, 0] * X[:, 1]
    level = brentq(lambda level: expit(z + level).mean() - share, -20, 5)
    return Rows(X=X, y=(rng.random(len(X)) < expit(z + level)).astype(np.int64))


def _with_classes(classes: int) -> Rows:
    rng = np.random.default_rng(2)
    middles = rng.normal(size=(classes, 16)) * 1.3
    y = rng.integers(classes, size=30_000)
    return Rows(X=middles[y] + rng.normal(size=(len(y), 16)), y=y)


MADE_UP: Mapping[str, tuple[Callable[[float], Rows] | Callable[[int], Rows], float]] = {
    "positives 0.2%": (_with_positives, 0.002),
    "positives 0.5%": (_with_positives, 0.005),
    "positives 3%": (_with_positives, 0.03),
    "positives 20%": (_with_positives, 0.2),
    "classes 20": (_with_classes, 20),
    "classes 100": (_with_classes, 100),
}
for _name, (_make, _what) in MADE_UP.items():
    SETS[_name] = cache(lambda make=_make, what=_what: make(what))
