"""CIFAR-10 and CIFAR-100 in parts small enough to be sent one by one, and made-up images to try the code on."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

STRIP = 500  # images in one lossless WebP strip, as in the packed data set
LARGEST = 50 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """uint8 images (n, 32, 32, 3) with their true labels, to train and to test on, and labels that people gave."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]
    human_labels: NDArray[np.int64] | None = None

    @property
    def classes(self) -> int:
        """Return how many classes there are."""
        return int(self.labels.max()) + 1


def pack(folder: Path, *, name: str = "cifar10") -> list[Path]:
    """Write the set's WebP strips into files of at most 50 MiB; they are read without Arrow."""
    import pyarrow.parquet as pq

    table = pq.read_table(Path(os.environ.get("TACIT_DATA", ".")) / f"{name}.parquet").sort_by(
        [("split", "descending"), ("start", "ascending")]
    )
    folder.mkdir(parents=True, exist_ok=True)
    strips, labels = table["webp"].to_pylist(), [np.asarray(part, np.uint8) for part in table["label"].to_pylist()]
    training = [split == "train" for split in table["split"].to_pylist()]
    paths: list[Path] = []
    start = size = 0
    for stop in range(1, len(strips) + 1):
        size += len(strips[stop - 1])
        if stop == len(strips) or size + len(strips[stop]) > LARGEST:
            path = folder / f"{name}_part{len(paths)}.npz"
            np.savez(
                path,
                bytes=np.frombuffer(b"".join(strips[start:stop]), np.uint8),
                lengths=np.array([len(strip) for strip in strips[start:stop]]),
                labels=np.concatenate(labels[start:stop]),
                train=np.array(training[start:stop]),
                strips=np.array(len(strips)),
            )
            paths.append(path)
            start, size = stop, 0
    return paths + _pack_human_labels(folder, name=name)


def _pack_human_labels(folder: Path, *, name: str) -> list[Path]:
    """Write the labels of CIFAR-100N (Wei et al. 2021) beside the parts of CIFAR-100."""
    import pyarrow.parquet as pq

    source = Path(os.environ.get("TACIT_DATA", ".")) / f"{name}n_labels.parquet"
    if not source.exists():
        return []
    path = folder / f"{name}_human.npy"
    np.save(path, pq.read_table(source)["noisy_label"].to_numpy().astype(np.uint8))
    return [path]


def load(folder: Path, *, name: str = "cifar10") -> Pictures:
    """Read what :func:`pack` wrote; parts in the order of their numbers."""
    images: dict[bool, list[NDArray[np.uint8]]] = {True: [], False: []}
    labels: dict[bool, list[NDArray[np.uint8]]] = {True: [], False: []}
    read = wanted = 0
    for path in sorted(folder.glob(f"{name}_part*.npz")):
        with np.load(path) as part:
            ends, wanted = np.cumsum(part["lengths"]), int(part["strips"])
            strips, marks, train = np.split(part["bytes"], ends[:-1]), part["labels"].reshape(-1, STRIP), part["train"]
        for strip, mark, training in zip(strips, marks, train.tolist(), strict=True):
            images[training].append(_decode(strip.tobytes()))
            labels[training].append(mark)
            read += 1
    if not read or read != wanted:
        raise SystemExit(
            f"{folder} holds {read} of {wanted or 'all'} strips of {name}: send every part that --pack wrote"
        )
    human = folder / f"{name}_human.npy"
    return Pictures(
        images=np.concatenate(images[True]),
        labels=np.concatenate(labels[True]).astype(np.int64),
        test_images=np.concatenate(images[False]),
        test_labels=np.concatenate(labels[False]).astype(np.int64),
        human_labels=np.load(human).astype(np.int64) if human.exists() else None,
    )


def _decode(strip: bytes) -> NDArray[np.uint8]:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(strip)).convert("RGB")).reshape(-1, 32, 32, 3)


def made_up(*, rows: int = 600, classes: int = 10, seed: int = 0) -> Pictures:
    """Return stripes in noise, of any color: how wide they are and which way they run is the class.

    People gave three of ten rows the class after theirs.
    """
    rng = np.random.default_rng(seed)
    line = np.arange(32)

    def draw(count: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        labels = np.arange(count) % classes
        period, phase = 3 * 1.6 ** (labels // 2), 2 * np.pi * rng.random(count)
        wave = np.sin(2 * np.pi * line / period[:, None] + phase[:, None])[:, None, :, None]
        wave = np.where(labels[:, None, None, None] % 2, wave, wave.transpose(0, 2, 1, 3))
        images = 128 + 60 * wave * rng.uniform(0.6, 1, size=(count, 1, 1, 3))
        return (images + 15 * rng.normal(size=(count, 32, 32, 3))).clip(0, 255).astype(np.uint8), labels

    (images, labels), (test_images, test_labels) = draw(rows), draw(rows // 2)
    people = np.where(np.arange(rows) // classes % 10 < 3, (labels + 1) % classes, labels)
    return Pictures(images=images, labels=labels, test_images=test_images, test_labels=test_labels, human_labels=people)
