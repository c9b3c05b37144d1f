"""AG News as plain texts, and made-up ones to try the code on."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.data_sets import ag_news

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Texts with their true labels, to train and to test on."""

    train: list[str]
    labels: Codes
    test: list[str]
    test_labels: Codes


def load() -> Texts:
    """Read AG News from the folder that ``TACIT_DATA`` names."""
    (train, labels), (test, test_labels) = _read(train=True), _read(train=False)
    return Texts(train=train, labels=labels, test=test, test_labels=test_labels)


def _read(*, train: bool) -> tuple[list[str], Codes]:
    rows = ag_news(train=train).table
    return [clean(text) for text in rows["text"].to_pylist()], rows["label"].to_numpy().astype(np.int64)


def clean(text: str) -> str:
    r"""Undo what the corpus's way through HTML left: entities with or without their ampersand, tags, backslashes.

    >>> clean("Mets  #36;1.88M &lt;b&gt;...&lt;/b&gt; . it #39;s  quot;nuts, quot; two\\lines")
    'Mets $1.88M ... it\'s "nuts," two lines'
    """
    text = html.unescape(re.sub(r" (#\d+|quot|amp|lt|gt);", r"&\1;", text))
    text = re.sub(r"</?\w[^<>]{0,100}>", " ", html.unescape(text)).replace("\\", " ")
    return re.sub(r"\s+", " ", re.sub(r" \. ", " ", text)).strip()


def made_up(*, rows: int = 600, classes: int = 4, seed: int = 0) -> Texts:
    """Return texts of words drawn at random, two in five of them from the 20 words of the text's class."""
    rng = np.random.default_rng(seed)

    def draw(count: int) -> tuple[list[str], Codes]:
        labels = np.arange(count) % classes
        own = rng.random((count, 30)) < 0.4
        words = np.where(
            own, 20 * labels[:, None] + rng.integers(20, size=own.shape), rng.integers(400, size=own.shape)
        )
        return [" ".join(f"word{word}" for word in row) for row in words], labels

    (train, labels), (test, test_labels) = draw(rows), draw(rows // 2)
    return Texts(train=train, labels=labels, test=test, test_labels=test_labels)
