"""Beliefs about labels from the features of their rows, before any score is seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.data import Encoder, open_table, read_rows
from tacit.leak.prior import calibrated_prior
from tacit.privacy.errors import InvalidInput
from tacit.scores.releases.label_table import LabelTable

__all__ = ["beliefs_from_rows"]


def beliefs_from_rows(
    labels: LabelTable, codes: NDArray[np.int64], data: Sequence[object], *, classes: int
) -> NDArray[np.float64]:
    """Return the attacker's beliefs about each row's label: from its features, or the shares of the labels.

    Uninformative features make a model worse than the majority class; the attacker takes the better one.
    An overconfident model is mixed with chance.

    Parameters
    ----------
    codes, classes
        The labels as classes, and how many there are.
    data
        One table with the features of the rows, in their order; its label column is not read.
    """
    if len(data) != 1:
        raise InvalidInput(f"must be one table with the features of the rows, got {len(data)}", field="data")
    rows = read_rows(open_table(data[0]))
    if rows.num_rows != labels.rows:
        raise InvalidInput(f"must have the {labels.rows} rows of truth, got {rows.num_rows}", field="data")
    shares = np.tile(np.bincount(codes, minlength=classes) / labels.rows, (labels.rows, 1))
    encoder = Encoder.fitted(rows, [name for name in rows.column_names if name not in labels.table.column_names])
    if not encoder.rules:
        return shares
    told = calibrated_prior(encoder.scaled(rows), codes, classes=classes)
    return told if (told.argmax(axis=1) == codes).mean() > shares[0].max() else shares
