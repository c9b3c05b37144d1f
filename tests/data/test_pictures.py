"""Images as tables: a folder of files, an .npz file, and columns of bytes."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Image = pytest.importorskip("PIL.Image")

from tacit.data import open_table, read_rows  # noqa: E402
from tacit.data.pictures import decode_pictures  # noqa: E402
from tacit.privacy import InvalidInput  # noqa: E402


def noise(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def written(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return file.getvalue()


@pytest.fixture
def folder(tmp_path):
    for place, name in enumerate(("b/one.png", "a/two.png", "a/three.PNG")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(written(noise(3, 16, 16, 3)[place]))
    (tmp_path / "notes.md").write_text("not an image")
    return tmp_path


def test_a_folder_of_images_is_a_table_of_files(folder):
    rows = read_rows(open_table(folder))
    assert rows["file"].to_pylist() == ["a/three.PNG", "a/two.png", "b/one.png"]
    found = decode_pictures(rows["image"], side=None, channels=None)
    assert np.array_equal(found, noise(3, 16, 16, 3)[[2, 1, 0]])


def test_arrays_are_columns(tmp_path):
    np.savez(tmp_path / "set.npz", images=noise(5, 8, 8), label=np.arange(5))
    rows = read_rows(open_table(tmp_path / "set.npz"))
    assert rows["label"].to_pylist() == [0, 1, 2, 3, 4]
    assert np.array_equal(decode_pictures(rows["images"], side=None, channels=None)[..., 0], noise(5, 8, 8))


def test_bytes_with_a_path_are_images(tmp_path):
    cells = [{"bytes": written(one), "path": "x"} for one in noise(2, 8, 8, 3)]
    pq.write_table(pa.table({"image": cells}), tmp_path / "set.parquet")
    rows = read_rows(open_table(tmp_path / "set.parquet"))
    assert np.array_equal(decode_pictures(rows["image"], side=None, channels=None), noise(2, 8, 8, 3))


def test_images_of_several_sizes_get_one(tmp_path):
    column = pa.chunked_array([[written(noise(20, 10)), written(noise(100, 50, 3))]])
    assert decode_pictures(column, side=None, channels=None).shape == (2, 32, 32, 3)
    assert decode_pictures(column, side=16, channels=1).shape == (2, 16, 16, 1)


def test_what_is_no_image_is_refused_by_its_row(tmp_path):
    for cell in (b"no image", None):
        with pytest.raises(InvalidInput, match="data must hold images, row 1 does not"):
            decode_pictures(pa.chunked_array([[written(noise(8, 8)), cell]]), side=None, channels=None)
    np.savez(tmp_path / "set.npz", images=noise(5, 8, 8), label=np.arange(4))
    with pytest.raises(InvalidInput, match=r"set.npz must have arrays of one length, the rows, got images \(5, 8, 8\)"):
        open_table(tmp_path / "set.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(InvalidInput, match=r"bad\.npz is not a readable \.npz file"):
        open_table(tmp_path / "bad.npz")
