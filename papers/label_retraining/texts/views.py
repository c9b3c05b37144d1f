"""What a text is to a model: its embedding, and its words.

The encoder was trained by others, on other texts; components and word weights are learned from the training texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from papers.label_retraining.texts import encoder
from papers.label_retraining.texts.linear import Matrix
from papers.label_retraining.texts.texts import Texts

Floats = NDArray[np.float32]

COMPONENTS = 256


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The rows to train and to test on; their mean square length is 1."""

    train: Matrix
    test: Matrix


def read_views(texts: Texts, *, model: Path | None, quick: bool) -> Mapping[str, View]:
    """Return both views; a quick run's embedding is made from its words, and needs no encoder."""
    words = count_words(texts, rarest=2 if quick else 10)
    if quick:
        smaller = TruncatedSVD(16, random_state=0).fit(words.train)
        layers = [smaller.transform(part)[:, None].astype(np.float32) for part in (words.train, words.test)]
    else:
        layers = [encoder.embed(part, model=model).astype(np.float32) for part in (texts.train, texts.test)]
    return {"minilm": compress(*layers), "tfidf": words}


def count_words(texts: Texts, *, rarest: int) -> View:
    """Return TF-IDF weights of words and pairs of words that at least ``rarest`` training texts have."""
    counter = TfidfVectorizer(ngram_range=(1, 2), min_df=rarest, sublinear_tf=True, dtype=np.float32)
    train = counter.fit_transform(texts.train)
    return View(train.tocsr(), counter.transform(texts.test).tocsr())


def compress(train: Floats, test: Floats) -> View:
    """Return the first principal components of all layers together, each divided by the fourth root of its variance.

    Half-way to white: distances in the embeddings as they are hang on a few coordinates, in white ones on noise.
    """
    layers = [standardize(train[:, number], test[:, number]) for number in range(train.shape[1])]
    rows, others = (np.hstack([getattr(layer, part) for layer in layers]) for part in ("train", "test"))
    variances, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    largest = np.argsort(-variances)[:COMPONENTS]
    turn = axes[:, largest] * np.maximum(variances[largest], 1e-12) ** -0.25
    return standardize(rows @ turn, others @ turn, unit=False)


def standardize(train: Floats, test: Floats, *, unit: bool = True) -> View:
    """Return centered rows in one scale, from rows of length 1 if asked."""
    if unit:
        train, test = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (train, test))
    mean = train.mean(axis=0)
    scale = np.sqrt(((train - mean) ** 2).sum(axis=1).mean())
    return View((train - mean) / scale, (test - mean) / scale)
