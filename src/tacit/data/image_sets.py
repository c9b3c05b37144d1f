"""Images from the data folder: CIFAR-10, CIFAR-100, what people said of it, and MNIST."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.folder import Folder, read_data_file
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra

__all__ = ["HumanLabels", "Images", "cifar10", "cifar100", "cifar100n_labels", "mnist"]

_CIFAR_SOURCE = "A. Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images"
_CIFAR_LICENCE = "none stated; cite the source"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Images:
    """Images of one size with their labels, in the official order.

    Parameters
    ----------
    name, source, licence
        What it is called, who made it, and under which terms it may be used.
    images
        uint8; (n, height, width, 3), or (n, height, width) where there is no colour.
    labels
        Which class, from 0.
    class_names
        What the labels stand for.
    coarse_labels, coarse_names
        The same for a coarser set of classes, where there is one.

    Examples
    --------
    >>> dark = np.zeros((2, 4, 4), np.uint8)
    >>> two = Images(name="two", images=dark, labels=np.array([0, 1]), source="here", licence="none")
    >>> len(two)
    2
    """

    name: str
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    source: str
    licence: str
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
    """What people said the training images of CIFAR-100 show, beside the official labels; fine and coarse.

    Examples
    --------
    >>> fine, coarse = np.array([3, 4]), np.array([0, 0])
    >>> HumanLabels(clean=fine, noisy=np.array([3, 5]), clean_coarse=coarse, noisy_coarse=coarse).noise
    0.5
    """

    clean: NDArray[np.int64]
    noisy: NDArray[np.int64]
    clean_coarse: NDArray[np.int64]
    noisy_coarse: NDArray[np.int64]

    @property
    def noise(self) -> float:
        """The share of images whose human label is not the official one.

        Examples
        --------
        >>> same = np.array([1, 2])
        >>> HumanLabels(clean=same, noisy=same, clean_coarse=same, noisy_coarse=same).noise
        0.0
        """
        return float(np.mean(self.clean != self.noisy))


def cifar10(*, train: bool = True, folder: Folder = None) -> Images:
    """Return CIFAR-10: colour images of 32 x 32, ten classes; 50,000 to train and 10,000 to test on.

    Parameters
    ----------
    train
        The training images; the test images if false.
    folder
        Where ``cifar10.parquet`` is; without it the folder that ``TACIT_DATA`` names.

    References
    ----------
    Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images.

    Examples
    --------
    >>> cifar10(folder="nowhere")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: nowhere is no folder; ... holds cifar10.parquet (CIFAR-10) ...
    """
    rows = _read_split("cifar10.parquet", what="CIFAR-10", train=train, folder=folder)
    return Images(
        name="CIFAR-10",
        images=_decode(rows, mode="RGB", shape=(32, 32, 3)),
        labels=_labels(rows, "label"),
        class_names=_class_names(rows, b"classes"),
        source=_CIFAR_SOURCE,
        licence=_CIFAR_LICENCE,
    )


def cifar100(*, train: bool = True, folder: Folder = None) -> Images:
    """Return CIFAR-100: as CIFAR-10, with 100 classes that make up 20 coarse ones.

    Parameters
    ----------
    train
        The training images; the test images if false.
    folder
        Where ``cifar100.parquet`` is; without it the folder that ``TACIT_DATA`` names.

    References
    ----------
    Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images.

    Examples
    --------
    >>> cifar100(folder="nowhere")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: nowhere is no folder; ... holds cifar100.parquet (CIFAR-100) ...
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
        licence=_CIFAR_LICENCE,
    )


def mnist(*, train: bool = True, folder: Folder = None) -> Images:
    """Return MNIST: grey digits of 28 x 28, ten classes; 60,000 to train and 10,000 to test on.

    Parameters
    ----------
    train
        The training images; the test images if false.
    folder
        Where ``mnist.parquet`` is; without it the folder that ``TACIT_DATA`` names.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner (1998), Gradient-Based Learning Applied to Document Recognition.

    Examples
    --------
    >>> mnist(folder="nowhere")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: nowhere is no folder; ... holds mnist.parquet (MNIST) ...
    """
    rows = _read_split("mnist.parquet", what="MNIST", train=train, folder=folder)
    return Images(
        name="MNIST",
        images=_decode(rows, mode="L", shape=(28, 28)),
        labels=_labels(rows, "label"),
        class_names=tuple("0123456789"),
        source="Y. LeCun, C. Cortes and C. J. C. Burges, The MNIST database of handwritten digits",
        licence="usually given as CC BY-SA 3.0",
    )


def cifar100n_labels(*, folder: Folder = None) -> HumanLabels:
    """Return CIFAR-100N: a person's label for each training image of CIFAR-100, in the same order.

    Parameters
    ----------
    folder
        Where ``cifar100n_labels.parquet`` is; without it the folder that ``TACIT_DATA`` names.

    References
    ----------
    Wei et al. (2022), Learning with Noisy Labels Revisited. Licence: CC BY-NC 4.0.

    Examples
    --------
    >>> cifar100n_labels(folder="nowhere")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: nowhere is no folder; ... holds cifar100n_labels.parquet (CIFAR-100N) ...
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
    """Read n images of one width from a WebP image in which they stand one above the other."""
    try:
        with load_extra("PIL.Image", extra="images").open(io.BytesIO(strip)) as image:
            pixels = np.asarray(image.convert(mode))
    except OSError:
        raise InvalidInput("a strip of images is damaged and cannot be decoded as WebP; get the file anew") from None
    n, height, width = shape[:3]
    if pixels.shape[:2] != (n * height, width):
        raise InvalidInput(f"a strip of images must be {width} x {n * height}, got {pixels.shape[1]} x {len(pixels)}")
    return pixels.reshape(shape)


def _labels(rows: pa.Table, column: str) -> NDArray[np.int64]:
    labels: NDArray[Any] = rows[column].combine_chunks().flatten().to_numpy()
    return labels.astype(np.int64)


def _class_names(rows: pa.Table, key: bytes) -> tuple[str, ...]:
    return tuple(json.loads((rows.schema.metadata or {}).get(key, b"[]")))
