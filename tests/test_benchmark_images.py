"""Strips of images decode to the pixels that went in; the real files have the official checksums."""

import hashlib
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from benchmarks.data_sets import Images, cifar10, cifar100, cifar100n_labels, mnist
from tacit.privacy.errors import InvalidInput


def strip(images):
    file = io.BytesIO()
    Image.fromarray(images.reshape(-1, *images.shape[2:])).save(file, "WEBP", lossless=True, exact=True)
    return file.getvalue()


def write(path, images, metadata=None, **labels):
    """Pack (split, images) pairs as the data folder does, one row a strip."""
    rows = {
        "split": [split for split, _ in images],
        "start": pa.array([0] * len(images), pa.int32()),
        "n": pa.array([len(pixels) for _, pixels in images], pa.int32()),
        "webp": [strip(pixels) for _, pixels in images],
    }
    rows |= {name: pa.array(values, pa.list_(pa.uint8())) for name, values in labels.items()}
    pq.write_table(pa.table(rows, metadata=metadata), path)


def noise(n, *shape):
    return np.random.default_rng(n).integers(0, 256, (n, *shape), dtype=np.uint8)


def test_colour_images_of_two_strips(tmp_path):
    first, second, test = noise(3, 32, 32, 3), noise(2, 32, 32, 3), noise(1, 32, 32, 3)
    write(
        tmp_path / "cifar10.parquet",
        [("train", first), ("test", test), ("train", second)],
        metadata={"classes": json.dumps(["plane", "car"])},
        label=[[0, 1, 0], [1], [1, 1]],
    )
    data = cifar10(folder=tmp_path)
    np.testing.assert_array_equal(data.images, np.concatenate([first, second]))
    assert data.labels.tolist() == [0, 1, 0, 1, 1]
    assert data.labels.dtype == np.int64
    assert data.class_names == ("plane", "car")
    assert len(data) == 5
    np.testing.assert_array_equal(cifar10(train=False, folder=tmp_path).images, test)


def test_coarse_labels(tmp_path):
    write(
        tmp_path / "cifar100.parquet",
        [("train", noise(2, 32, 32, 3))],
        metadata={"classes": '["a", "b"]', "coarse_classes": '["c"]'},
        label=[[1, 0]],
        coarse_label=[[0, 0]],
    )
    data = cifar100(folder=tmp_path)
    assert data.coarse_labels.tolist() == [0, 0]
    assert data.coarse_names == ("c",)


def test_grey_images(tmp_path, monkeypatch):
    pixels = noise(4, 28, 28)
    write(tmp_path / "mnist.parquet", [("train", np.repeat(pixels[..., None], 3, axis=3))], label=[[4, 3, 2, 1]])
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    np.testing.assert_array_equal(mnist().images, pixels)


def test_human_labels(tmp_path):
    columns = {"clean_label": [1, 2, 3, 4], "noisy_label": [1, 2, 0, 4]}
    columns |= {"clean_coarse_label": [0, 0, 1, 1], "noisy_coarse_label": [0, 0, 0, 1]}
    pq.write_table(
        pa.table({name: pa.array(c, pa.uint8()) for name, c in columns.items()}), tmp_path / "cifar100n_labels.parquet"
    )
    labels = cifar100n_labels(folder=tmp_path)
    assert labels.noisy.tolist() == [1, 2, 0, 4]
    assert labels.noisy_coarse.dtype == np.int64
    assert labels.noise == 0.25


def test_wrong_size_of_strip(tmp_path):
    write(tmp_path / "mnist.parquet", [("train", noise(2, 32, 32, 3))], label=[[0, 1]])
    with pytest.raises(InvalidInput, match=r"^a strip of images must be 28 x 56, got 32 x 64$"):
        mnist(folder=tmp_path)


def test_damaged_strip(tmp_path):
    rows = {"split": ["train"], "n": [1], "webp": [b"not a picture"], "label": [[0]]}
    pq.write_table(pa.table(rows), tmp_path / "mnist.parquet")
    with pytest.raises(InvalidInput, match=r"^a strip of images is damaged and cannot be decoded as WebP; get"):
        mnist(folder=tmp_path)


def test_labels_for_other_images():
    with pytest.raises(InvalidInput, match=r"^t has 2 images and 3 labels$"):
        Images(name="t", images=noise(2, 4, 4), labels=np.arange(3), source="here", license="none")


def test_missing_split(tmp_path):
    write(tmp_path / "mnist.parquet", [("train", noise(1, 28, 28, 3))], label=[[0]])
    with pytest.raises(InvalidInput, match=r"has no rows of split test; put the file for MNIST there"):
        mnist(train=False, folder=tmp_path)


def records(data, *labels):
    """The images as CIFAR's binary files hold them: labels, then the red, green and blue planes."""
    pixels = data.images.transpose(0, 3, 1, 2).reshape(len(data), -1)
    return np.column_stack([*(column.astype(np.uint8) for column in labels), pixels])


def sha1(array):
    return hashlib.sha1(array.tobytes()).hexdigest()


def md5_of_idx(array, magic):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return hashlib.md5(bytes([0, 0, 8, magic]) + sizes + array.astype(np.uint8).tobytes()).hexdigest()


def test_the_real_mnist(data_folder):
    data = mnist(train=False, folder=data_folder)
    assert md5_of_idx(data.images, 3) == "2646ac647ad5339dbf082846283269ea"
    assert md5_of_idx(data.labels, 1) == "27ae3e4e09519cfbb04c329615203637"


def test_the_real_cifar10(data_folder):
    data = cifar10(train=False, folder=data_folder)
    assert sha1(records(data, data.labels)) == "67eb016db431130d61cd03c7ad570b013799c88c"
    assert data.class_names[3] == "cat"


def test_the_real_cifar100(data_folder):
    data = cifar100(train=False, folder=data_folder)
    assert sha1(records(data, data.coarse_labels, data.labels)) == "8fb6623e830365ff53cf14adec797474f5478006"
    assert (len(data.class_names), len(data.coarse_names)) == (100, 20)


def test_the_real_human_labels(data_folder):
    labels = cifar100n_labels(folder=data_folder)
    assert len(labels.clean) == 50_000
    assert labels.noise == pytest.approx(0.4020, abs=5e-5)


@pytest.mark.slow
def test_the_real_training_images(data_folder):
    digits = mnist(folder=data_folder)
    assert md5_of_idx(digits.images, 3) == "6bbc9ace898e44ae57da46a324031adb"
    assert md5_of_idx(digits.labels, 1) == "a25bea736e30d166cdddb491f175f624"
    coarse = cifar10(folder=data_folder)
    assert sha1(records(coarse, coarse.labels)[40_000:]) == "26e2849e66a845b7f1e4614ae70f4889ae604628"
    fine = cifar100(folder=data_folder)
    assert sha1(records(fine, fine.coarse_labels, fine.labels)) == "e207cd2e05b73b1393c74c7f5e7bea451d63e08e"
    np.testing.assert_array_equal(fine.labels, cifar100n_labels(folder=data_folder).clean)
