"""Images as the rows of a table: a folder of image files, or the arrays of an .npz file."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra

__all__ = ["FILE", "IMAGE", "decode_pictures", "is_pictures", "read_arrays", "read_pictures"]

FILE, IMAGE = "file", "image"

_ARRAY = b"\x93NUMPY"


def read_pictures(files: Sequence[Path]) -> pa.Table:
    """Return the name of each file inside the folder of all of them, and its bytes."""
    folder = Path(os.path.commonpath([file.parent for file in files]))
    names = [file.relative_to(folder).as_posix() for file in files]
    return pa.table({FILE: names, IMAGE: pa.array([file.read_bytes() for file in files], pa.large_binary())})


def read_arrays(path: Path) -> pa.Table:
    """Return the arrays of an .npz file as columns, each with one entry per row; images as bytes that hold an array."""
    try:
        with np.load(path) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path} is not a readable .npz file: {error}") from None
    if len({array.shape[:1] for array in found.values()}) != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in found.items())
        raise InvalidInput(f"{path} must have arrays of one length, the rows, got {shapes}")
    return pa.table({name: _as_column(array) for name, array in found.items()})


def _as_column(array: NDArray[Any]) -> pa.Array:
    return pa.array(array) if array.ndim == 1 else pa.array(map(_written, array), pa.large_binary())


def _written(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def is_pictures(kind: pa.DataType) -> bool:
    """Return whether a column's type is that of images: bytes, or bytes with a path as HuggingFace stores them."""
    if pa.types.is_struct(kind):
        return bool(kind.get_field_index("bytes") >= 0)
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def decode_pictures(column: pa.ChunkedArray, *, side: int | None, channels: int | None) -> NDArray[np.uint8]:
    """Return square images, (n, side, side, channels).

    Parameters
    ----------
    side
        Images of another size are scaled to it. None: the side that all of them have, at most 64, or else 32.
    channels
        1 or 3; None: 1 if all are gray.
    """
    pictures = [_opened(place, value) for place, value in enumerate(_values(column))]
    if side is None:
        sizes = {one.size for one in pictures}
        (width, height) = sizes.pop()
        side = width if not sizes and width == height <= 64 else 32
    if channels is None:
        channels = 1 if all(one.mode in ("L", "1", "I;16") for one in pictures) else 3
    mode = "L" if channels == 1 else "RGB"
    found = np.stack([_scaled(one.convert(mode), side) for one in pictures])
    return found.reshape(len(found), side, side, channels)


def _values(column: pa.ChunkedArray) -> Iterator[bytes | None]:
    for value in column.to_pylist():
        yield value["bytes"] if isinstance(value, dict) else value


def _opened(place: int, value: bytes | None) -> Any:  # noqa: ANN401
    library = load_extra("PIL.Image", extra="images")
    try:
        if value is None:
            raise ValueError("nothing")
        if value.startswith(_ARRAY):
            pixels = np.load(io.BytesIO(value))
            return library.fromarray(pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels)
        picture = library.open(io.BytesIO(value))
        picture.load()
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(f"must hold images, row {place} does not: {error}", field="data") from None
    return picture


def _scaled(picture: Any, side: int) -> NDArray[np.uint8]:  # noqa: ANN401
    library = load_extra("PIL.Image", extra="images")
    same = picture.size == (side, side)
    return np.asarray(picture if same else picture.resize((side, side), library.Resampling.BICUBIC), dtype=np.uint8)
