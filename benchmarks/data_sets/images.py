"""Images from ``folder``, by default the one that ``TACIT_DATA`` names: CIFAR-10, CIFAR-100, CIFAR-100N and MNIST."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from benchmarks.data_sets.folder import Folder, read_data_file
from tacit.privacy.errors import InvalidInput

__all__ = ["HumanLabels", "Images", "cifar10", "cifar100", "cifar100n_labels", "mnist"]

_CIFAR_SOURCE = "A. Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images"
_CIFAR_LICENSE = "none stated; cite the source"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Images:
    """Images of one size with their labels, in the official order.

    Parameters
    ----------
    images
        uint8; (n, height, width, 3), or (n, height, width) without color.
    coarse_labels, coarse_names
        The same for a coarser set of classes, if there is one.
    """

    name: str
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    source: str
    license: str
    class_names: tuple[str, ...] = ()
    coarse_labels: NDArray[np.int64] | None = None
    coarse_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for labels in (self.labels, self.coarse_labels):
            if labels is not None and len(labels) != len(self.images):
                raise InvalidInput(f"{self.name} has {len(self.images)} images and {len(labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HumanLabels:
    """Labels by people for the training images of CIFAR-100, beside the official ones; fine and coarse."""

    clean: NDArray[np.int64]
    noisy: NDArray[np.int64]
    clean_coarse: NDArray[np.int64]
    noisy_coarse: NDArray[np.int64]

    @property
    def noise(self) -> float:
        """The share of images whose human label is not the official one."""
        return float(np.mean(self.clean != self.noisy))


def cifar10(*, train: bool = True, folder: Folder = None) -> Images:
    """Return CIFAR-10: color images of 32 x 32, ten classes; 50,000 to train and 10,000 to test on.

    References
    ----------
    Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images.
    """
    rows = _read_split("cifar10.parquet", what="CIFAR-10", train=train, folder=folder)
    return Images(
        name="CIFAR-10",
        images=_decode(rows, mode="RGB", shape=(32, 32, 3)),
        labels=_labels(rows, "label"),
        class_names=_class_names(rows, b"classes"),
        source=_CIFAR_SOURCE,
        license=_CIFAR_LICENSE,
    )


def cifar100(*, train: bool = True, folder: Folder = None) -> Images:
    """Return CIFAR-100: as CIFAR-10, with 100 classes that make up 20 coarse ones.

    References
    ----------
    Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images.
    """
    rows = _read_split("cifar100.parquet", "coarse_label", what="CIFAR-100", train=train, folder=folder)
    return Images(
        name="CIFAR-100",
        images=_decode(rows, mode="RGB", shape=(32, 32, 3)),
        labels=_labels(rows, "label"),
        class_names=_class_names(rows, b"classes"),
        coarse_labels=_labels(rows, "coarse_label"),
        coarse_names=_class_names(rows, b"coarse_classes"),
        source=_CIFAR_SOURCE,
        license=_CIFAR_LICENSE,
    )


def mnist(*, train: bool = True, folder: Folder = None) -> Images:
    """Return MNIST: gray digits of 28 x 28, ten classes; 60,000 to train and 10,000 to test on.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner (1998), Gradient-Based Learning Applied to Document Recognition.
    """
    rows = _read_split("mnist.parquet", what="MNIST", train=train, folder=folder)
    return Images(
        name="MNIST",
        images=_decode(rows, mode="L", shape=(28, 28)),
        labels=_labels(rows, "label"),
        class_names=tuple("0123456789"),
        source="Y. LeCun, C. Cortes and C. J. C. Burges, The MNIST database of handwritten digits",
        license="usually given as CC BY-SA 3.0",
    )


def cifar100n_labels(*, folder: Folder = None) -> HumanLabels:
    """Return CIFAR-100N: a person's label for each training image of CIFAR-100, in the same order.

    References
    ----------
    Wei et al. (2022), Learning with Noisy Labels Revisited. License: CC BY-NC 4.0.
    """
    fields = ("clean", "noisy", "clean_coarse", "noisy_coarse")
    columns = [f"{field}_label" for field in fields]
    rows = read_data_file("cifar100n_labels.parquet", what="CIFAR-100N", columns=columns, folder=folder)
    return HumanLabels(**{f: rows[c].to_numpy().astype(np.int64) for f, c in zip(fields, columns, strict=True)})


def _read_split(file: str, *columns: str, what: str, train: bool, folder: Folder) -> pa.Table:
    needed = ["split", "n", "webp", "label", *columns]
    return read_data_file(file, what=what, columns=needed, split="train" if train else "test", folder=folder)


def _decode(rows: pa.Table, *, mode: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    strips = zip(rows["webp"].to_pylist(), rows["n"].to_pylist(), strict=True)
    return np.concatenate([_decode_strip(strip, mode, (n, *shape)) for strip, n in strips])


def _decode_strip(strip: bytes, mode: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Read n images of one width from a WebP image in which they are stacked vertically."""
    try:
        with Image.open(io.BytesIO(strip)) as image:
            pixels = np.asarray(image.convert(mode))
    except OSError:
        raise InvalidInput("a strip of images is damaged and cannot be decoded as WebP; get the file again") from None
    n, height, width = shape[:3]
    if pixels.shape[:2] != (n * height, width):
        raise InvalidInput(f"a strip of images must be {width} x {n * height}, got {pixels.shape[1]} x {len(pixels)}")
    return pixels.reshape(shape)


def _labels(rows: pa.Table, column: str) -> NDArray[np.int64]:
    labels: NDArray[Any] = rows[column].combine_chunks().flatten().to_numpy()
    return labels.astype(np.int64)


def _class_names(rows: pa.Table, key: bytes) -> tuple[str, ...]:
    return tuple(json.loads((rows.schema.metadata or {}).get(key, b"[]")))
