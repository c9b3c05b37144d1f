"""One column of images or of text as what a learner reads, by stored rules, so that later rows are read alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from tacit.data import Encoder
from tacit.data.pictures import decode_pictures, is_pictures
from tacit.labels.learners.texts import OWN, TextRepresentation
from tacit.labels.methods import ImageTraining, TextNeighbors
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra
from tacit.privacy.settings import Choice

__all__ = ["EncodedPictures", "PictureColumn", "TextColumn", "encode_columns", "encode_pictures", "encode_texts"]

_BATCH = 64
_MEANS, _SPREADS = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of ImageNet's colors


@dataclass(frozen=True, kw_only=True)
class _CellColumn:
    """A column whose cells are images or texts, with what an encoder of columns offers."""

    column: str

    def columns(self, only: Sequence[str] | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """Return the column."""
        return (self.column,)

    def check(self, columns: Sequence[str], *, only: Sequence[str] | None = None, field: str | None = None) -> None:  # noqa: ARG002
        """Raise unless the column is among some."""
        if self.column not in columns:
            raise InvalidInput(f"must have the column {self.column!r}, its columns are {columns}", field=field)

    def notes(self) -> list[str]:
        """Return no notes: every cell is used."""
        return []


@dataclass(frozen=True, kw_only=True)
class PictureColumn(_CellColumn):
    """Square images of one size."""

    side: int
    channels: int

    @classmethod
    def fitted(cls, rows: pa.Table, column: str, *, side: int | None) -> Self:
        """Take side and colors from the rows."""
        shape = decode_pictures(rows[column], side=side, channels=None).shape
        return cls(column=column, side=shape[1], channels=shape[3])

    def scaled(self, rows: pa.Table, *, field: str | None = None) -> NDArray[np.uint8]:  # noqa: ARG002
        """Return bytes, (n, side, side, channels)."""
        return decode_pictures(rows[self.column], side=self.side, channels=self.channels)


@dataclass(frozen=True, kw_only=True)
class EncodedPictures(_CellColumn):
    """Images as numbers, by a network that was trained elsewhere, on images with ImageNet's colors."""

    path: Path
    side: int
    channels_first: bool

    @classmethod
    def opened(cls, column: str, path: Path, *, side: int | None) -> Self:
        """Open an ONNX file that takes a batch of color images, and returns a row or a map for each."""
        if not path.is_file():
            raise InvalidInput(f"must be own or an .onnx file, got {str(path)!r}", field="encoder")
        (taken, *_) = _session(path).get_inputs()
        if len(taken.shape) != 4 or 3 not in (taken.shape[1], taken.shape[3]):
            raise InvalidInput(f"must take batches of color images, {path} takes {taken.shape}", field="encoder")
        first = taken.shape[1] == 3
        own = taken.shape[2 if first else 1]
        return cls(column=column, path=path, side=own if isinstance(own, int) else side or 224, channels_first=first)

    def scaled(self, rows: pa.Table, *, field: str | None = None) -> NDArray[np.float64]:  # noqa: ARG002
        """Return a row of length 1 for each image."""
        session, found = _session(self.path), []
        for start in range(0, rows.num_rows, _BATCH):
            images = decode_pictures(rows[self.column].slice(start, _BATCH), side=self.side, channels=3)
            seen = ((images / 255 - _MEANS) / _SPREADS).astype(np.float32)
            given = seen.transpose(0, 3, 1, 2) if self.channels_first else seen
            outputs = np.asarray(session.run(None, {session.get_inputs()[0].name: given})[0], dtype=np.float64)
            if outputs.ndim == 4:
                outputs = outputs.mean(axis=(2, 3) if self.channels_first else (1, 2))
            found.append(outputs.reshape(len(outputs), -1))
        return np.asarray(normalize(np.concatenate(found)))


@dataclass(frozen=True, kw_only=True, eq=False)
class TextColumn(_CellColumn):
    """Texts as numbers."""

    representation: TextRepresentation

    def scaled(self, rows: pa.Table, *, field: str | None = None) -> NDArray[np.float64]:  # noqa: ARG002
        """Return a row of length 1 for each text; a missing one is empty."""
        return self.representation.transform(_texts(rows, self.column))


def _session(path: Path) -> Any:  # noqa: ANN401
    return load_extra("onnxruntime", extra="images").InferenceSession(str(path), providers=["CPUExecutionProvider"])


def encode_columns(method: Choice, rows: pa.Table, names: Sequence[str], *, chosen: bool) -> Encoder:  # noqa: ARG001
    """Return the rules of several columns."""
    return Encoder.fitted(rows, names, chosen=chosen)


def encode_pictures(
    method: ImageTraining, rows: pa.Table, names: Sequence[str], *, chosen: bool
) -> PictureColumn | EncodedPictures:
    """Return the column of images: the one that was chosen, or the only one there is."""
    found = [name for name in rows.column_names if name in names and is_pictures(rows.schema.field(name).type)]
    column = _only(list(names) if chosen else found, kind="images", there=names)
    if column not in found:
        raise InvalidInput(f"must name a column of images, got {_described(rows, column)}", field="features")
    if method.encoder != OWN:
        return EncodedPictures.opened(column, Path(method.encoder), side=method.side)
    return PictureColumn.fitted(rows, column, side=method.side)


def encode_texts(method: TextNeighbors, rows: pa.Table, names: Sequence[str], *, chosen: bool) -> TextColumn:
    """Return the column of texts, with a representation that is fitted on them."""
    found = [name for name in rows.column_names if name in names and _is_text(rows.schema.field(name).type)]
    column = _only(list(names) if chosen else found, kind="text", there=names)
    if column not in found:
        raise InvalidInput(f"must name a column of text, got {_described(rows, column)}", field="features")
    fitted = TextRepresentation(method.encoder).fit(_texts(rows, column))
    return TextColumn(column=column, representation=fitted)


def _only(columns: list[str], *, kind: str, there: Sequence[str]) -> str:
    if len(columns) != 1:
        listed = ", ".join(columns or there)
        raise InvalidInput(f"must name one column of {kind}, there are {len(columns)}: {listed}", field="features")
    return columns[0]


def _described(rows: pa.Table, column: str) -> str:
    there = column in rows.column_names
    return f"{column!r} of {rows[column].type}" if there else f"{column!r}, there are {', '.join(rows.column_names)}"


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _texts(rows: pa.Table, column: str) -> list[str]:
    return [text or "" for text in rows[column].to_pylist()]
