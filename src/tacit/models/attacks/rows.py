"""Rows that a released model was trained on, and rows that it was not, as the model takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data import Encoder
from tacit.data.classes import Classes
from tacit.models.attacks.confidence import confidence_from_logits
from tacit.models.points import Floats, row_keys
from tacit.models.releases.encoding import encoder_of_numbers, read_labeled
from tacit.models.releases.release import Release
from tacit.privacy.errors import InvalidInput

__all__ = ["AttackedRows", "read_attacked"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackedRows:
    """Members and non-members of one model, encoded.

    Parameters
    ----------
    codes
        The class of each, members first; None if a table has no labels.
    shared
        How many rows outside equal a member and were left out.
    answers
        The logits of a model that takes rows of a table; None of one that takes encoded rows.
    """

    inside: Floats
    outside: Floats
    codes: NDArray[np.int64] | None
    classes: tuple[Any, ...]
    shared: int
    answers: Floats | None = None

    @property
    def all(self) -> Floats:
        """Members, then non-members."""
        return np.concatenate([self.inside, self.outside])

    @property
    def member(self) -> NDArray[np.bool_]:
        """Which of all rows are members."""
        return np.repeat([True, False], [len(self.inside), len(self.outside)])

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of every row; raise if it is not known."""
        if self.codes is None:
            raise InvalidInput("must have the label column, as data must: this attack compares losses", field="truth")
        return self.codes

    def confidence(self, release: Release, *, black_box: bool) -> Floats:
        """Return the model's confidence in every row's own label."""
        logits = self.answers
        if logits is None:
            logits = release.member.logits(self.all, classes=len(self.classes), black_box=black_box)
        return confidence_from_logits(logits, self.labels)

    def notes(self) -> list[str]:
        """Return what the reader should know about the rows."""
        if not self.shared:
            return []
        return [f"{self.shared} of {self.shared + len(self.outside)} rows of data equal a member and were left out."]

    def facts(self) -> dict[str, int]:
        """Return how many rows there are."""
        return {"members": len(self.inside), "nonmembers": len(self.outside), "shared": self.shared}


def read_attacked(release: Release, truth: object, data: object, *, coins: bool = False) -> AttackedRows:
    """Read members from ``truth`` and non-members from ``data``, as a rate needs its baseline.

    Rows of ``data`` that equal a member are left out, unless coins chose the members: then leaving some out would make
    the coins of the others unfair.
    """
    for field, source in (("truth", truth), ("data", data)):
        if source is None:
            what = "the rows that the model was trained on" if field == "truth" else "rows that it was not trained on"
            raise InvalidInput(f"must be given: {what}", field=field)
    encoder, takes_tables = release.encoder, release.table_model is not None
    rows, labels = read_labeled(release, truth, features=encoder.columns() if encoder else (), field="truth")
    if takes_tables:
        encoder = Encoder.fitted(rows)  # the attacker's own, to compare rows by
    encoder = encoder or encoder_of_numbers(rows)
    read = rows.column_names if takes_tables else encoder.columns()
    other, other_labels = read_labeled(release, data, features=read, field="data")
    inside, outside = encoder.scaled(rows), encoder.scaled(other)
    kept = np.ones(len(outside), dtype=bool) if coins else _not_shared(inside, outside)
    codes, classes = _codes(release, labels, None if other_labels is None else other_labels[kept])
    return AttackedRows(
        inside=inside,
        outside=outside[kept],
        codes=codes,
        classes=classes,
        shared=int((~kept).sum()),
        answers=_answers(release, rows, other.filter(pa.array(kept)), classes=len(classes)),
    )


def _answers(release: Release, rows: pa.Table, other: pa.Table, *, classes: int) -> Floats | None:
    """Return the logits of a model that takes rows of a table, members first."""
    if release.table_model is None:
        return None
    return np.concatenate([release.member.logits(part, classes=classes) for part in (rows, other)])


def _not_shared(inside: Floats, outside: Floats) -> NDArray[np.bool_]:
    """Return which rows outside have no equal inside."""
    known = {*row_keys(inside)}
    kept = np.array([key not in known for key in row_keys(outside)], dtype=bool)
    if not kept.any():
        raise InvalidInput(f"must not share rows with truth, got {len(outside)} in both", field="data")
    return kept


def _codes(
    release: Release, labels: NDArray[Any] | None, other: NDArray[Any] | None
) -> tuple[NDArray[np.int64] | None, tuple[Any, ...]]:
    if labels is None or other is None:
        return None, release.classes or ()
    every = np.concatenate([labels, other])
    known = release.classes or Classes.of(every).values
    return Classes(values=known).encode(every), known
