"""Release folders: whole or not there, and refused when anything in them does not match."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.bags.losses import CrossEntropy, LogLoss
from tacit.bags.partition import BagTotals, Feature, Partition, RandomBags, read_bags
from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, NoGuarantee, Release, Unit
from tacit.privacy import folders as folder

PROMISE = Guarantee(unit=Unit.LABEL, epsilon=1.0, assumptions=("features are public",))


@pytest.fixture
def release():
    bags = Partition(
        features=(Feature("city"), Feature("age", edges=(18.0, 65.0))),
        keys=pa.table({"city": ["a", None, None], "age": pa.array([0, 2, None], pa.int64())}),
        counts=np.array([4, 5, 6]),
        totals=np.array([[1.5, -2.0], [0.1, 3.0], [0.0, 1.0]]),
        variance=2.5,
        other=2,
        dropped=True,
    )
    noised = Partition(
        features=(Feature("sex", values=("f", "m")),),
        keys=pa.table({"sex": ["f"]}),
        counts=np.array([3.5]),
        totals=np.array([[1.0, 2.0]]),
        count_variance=1.25,
    )
    return BagTotals(
        partitions=(bags, noised),
        loss=CrossEntropy(classes=2),
        guarantee=PROMISE,
        seeded=True,
        label="ill",
        rows=15,
        mechanism={"name": "discrete_laplace", "scales": ["2"]},
    )


@pytest.fixture
def drawn():
    bags = RandomBags(
        rows=np.array([[0, 3], [2, 1]]), labels=np.array([[0.5], [1.0]]), joins=2, bernoulli=True, variance=0.5
    )
    return BagTotals(
        random=bags,
        loss=LogLoss(),
        guarantee=NoGuarantee(reason="shown"),
        seeded=False,
        label="y",
        rows=4,
        mechanism={"name": "shown"},
    )


def test_what_is_written_is_read_back(release, tmp_path):
    release.write(tmp_path / "bags")
    found = read_bags(tmp_path / "bags")
    assert sorted(os.listdir(tmp_path / "bags")) == ["manifest.json", "partition-0.parquet", "partition-1.parquet"]
    assert (found.loss, found.guarantee, found.seeded) == (release.loss, release.guarantee, True)
    assert (found.label, found.rows, dict(found.mechanism)) == ("ill", 15, dict(release.mechanism))
    for one, two in zip(found.partitions, release.partitions, strict=True):
        assert one.features == two.features
        assert one.keys.equals(two.keys)
        assert one.counts.dtype == two.counts.dtype
        np.testing.assert_array_equal(one.counts, two.counts)
        np.testing.assert_array_equal(one.totals, two.totals)
        assert one.describe() == two.describe()


def test_random_bags_are_read_back(drawn, tmp_path):
    drawn.write(tmp_path / "bags")
    found = read_bags(tmp_path / "bags")
    np.testing.assert_array_equal(found.random.rows, drawn.random.rows)
    np.testing.assert_array_equal(found.random.labels, drawn.random.labels)
    assert found.random.describe() == drawn.random.describe()
    assert str(found.guarantee) == "no guarantee: shown"


def test_an_existing_folder_is_not_overwritten_without_force(release, drawn, tmp_path):
    release.write(tmp_path / "bags")
    with pytest.raises(InvalidInput, match="exists already; choose another path or force overwriting"):
        drawn.write(tmp_path / "bags")
    assert read_bags(tmp_path / "bags").rows == 15
    drawn.write(tmp_path / "bags", force=True)
    assert read_bags(tmp_path / "bags").rows == 4
    assert os.listdir(tmp_path) == ["bags"]


def test_another_folder_is_never_overwritten(release, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidInput, match="is not a release and is not overwritten"):
        release.write(tmp_path / "mine", force=True)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(InvalidInput, match="is not a release "):
        release.write(tmp_path / "link", force=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_missing_place_is_refused(release, tmp_path):
    with pytest.raises(InvalidInput, match="is no folder; make it first"):
        release.write(tmp_path / "no" / "bags")


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are POSIX's")
def test_a_replaced_folder_is_readable_by_no_more_people_than_before(release, drawn, tmp_path):
    before = os.umask(0o022)
    try:
        release.write(tmp_path / "bags")
        assert (tmp_path / "bags").stat().st_mode & 0o777 == 0o755, "control: a new folder follows the umask"
        (tmp_path / "bags").chmod(0o700)
        drawn.write(tmp_path / "bags", force=True)
    finally:
        os.umask(before)
    assert (tmp_path / "bags").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("force", [False, True])
def test_an_error_leaves_everything_as_it_was(release, drawn, tmp_path, monkeypatch, force):
    if force:
        drawn.write(tmp_path / "bags")
    before = sorted(os.listdir(tmp_path))
    real = Release.write

    def failing(self, path, **given):
        if path.name == "manifest.json":
            raise OSError(28, "No space left on device")
        real(self, path, **given)

    monkeypatch.setattr(Release, "write", failing)
    with pytest.raises(InvalidInput, match="cannot be written: No space left on device"):
        release.write(tmp_path / "bags", force=force)
    assert sorted(os.listdir(tmp_path)) == before
    if force:
        assert read_bags(tmp_path / "bags").rows == 4


def test_a_rename_that_fails_puts_the_old_release_back(release, drawn, tmp_path, monkeypatch):
    drawn.write(tmp_path / "bags")
    real = os.rename

    def failing(old, new):
        if str(old).endswith(".part"):
            raise OSError(13, "Permission denied")
        real(old, new)

    monkeypatch.setattr(folder.os, "rename", failing)
    with pytest.raises(InvalidInput, match="Permission denied"):
        release.write(tmp_path / "bags", force=True)
    assert read_bags(tmp_path / "bags").rows == 4


def test_a_killed_process_leaves_no_release(tmp_path):
    """Killed before the last file: the folder is not there, and a later run writes it."""
    script = textwrap.dedent(
        """
        import os, signal, sys
        import numpy as np
        from pathlib import Path
        from tacit.bags.losses import LogLoss
        from tacit.bags.partition import BagTotals, RandomBags
        from tacit.privacy import NoGuarantee, Release
        if sys.argv[2] == "kill":
            real = Release.write
            def write(self, path, **given):
                if path.name == "manifest.json":
                    os.kill(os.getpid(), signal.SIGKILL)
                real(self, path, **given)
            Release.write = write
        bags = RandomBags(rows=np.array([[0, 1]]), labels=np.array([[0.5]]))
        BagTotals(random=bags, loss=LogLoss(), guarantee=NoGuarantee(reason="shown"), seeded=False, label="y",
                   rows=2, mechanism={"name": "shown"}).write(Path(sys.argv[1]))
        """
    )
    if os.name == "nt":
        pytest.skip("needs SIGKILL")
    target = tmp_path / "bags"
    killed = subprocess.run([sys.executable, "-c", script, str(target), "kill"], capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert not target.exists()
    whole = subprocess.run([sys.executable, "-c", script, str(target), "go"], capture_output=True, text=True)
    assert whole.returncode == 0, whole.stderr
    assert read_bags(target).rows == 2


def damage_bytes(place):
    path = place / "partition-0.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def remove_file(place):
    (place / "partition-1.parquet").unlink()


def edit_manifest(place):
    path = place / "manifest.json"
    path.write_text(path.read_text().replace('"epsilon": 1.0', '"epsilon": 0.1'))


def swap_files(place):
    one, two = place / "partition-0.parquet", place / "partition-1.parquet"
    one.rename(place / "aside")
    two.rename(one)
    (place / "aside").rename(two)


def remove_manifest(place):
    (place / "manifest.json").unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_bytes, "partition-0.parquet has a bad checksum"),
        (remove_file, "partition-1.parquet is missing; the release is not whole"),
        (edit_manifest, "manifest.json has a bad checksum"),
        (swap_files, "has a bad checksum"),
        (remove_manifest, "is not a release of bags: it has no manifest.json"),
    ],
    ids=["bytes", "missing_file", "manifest", "swapped", "no_manifest"],
)
def test_damage_is_refused_in_one_sentence(release, tmp_path, damage, message):
    release.write(tmp_path / "bags")
    read_bags(tmp_path / "bags")  # control: whole, it is read
    damage(tmp_path / "bags")
    with pytest.raises(InvalidRelease, match=message) as caught:
        read_bags(tmp_path / "bags")
    assert "\n" not in str(caught.value)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rewrite(place, release, change):
    """Write the manifest anew, with its checksum, after ``change`` has changed its value."""
    path = place / "manifest.json"
    value = json.loads(path.read_text())["value"]
    change(value)
    Release(
        value=value,
        guarantee=release.guarantee,
        surface="bags",
        mechanism=dict(release.mechanism),
        seeded=release.seeded,
    ).write(path, force=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value: value["partitions"][0].update(bags=9), "does not have the columns, types and sizes"),
        (lambda value: value["partitions"][0].update(targets=1), "does not have the columns, types and sizes"),
        (lambda value: value["partitions"][0]["features"].pop(), "does not have the columns"),
        (lambda value: value["partitions"].pop(), "must list the files"),
        (lambda value: value["files"].update({"../x.parquet": "0"}), "lists a file '../x.parquet'"),
        (lambda value: value.pop("loss"), "is no manifest of bags"),
        (lambda value: value["loss"].update(name="hinge"), "loss must be one of"),
        (lambda value: value["loss"].update(classes=3), "one for each target of the loss"),
    ],
    ids=["bags", "targets", "features", "partitions", "outside", "no_loss", "other_loss", "classes"],
)
def test_a_manifest_that_does_not_match_is_refused(release, tmp_path, change, message):
    release.write(tmp_path / "bags")
    rewrite(tmp_path / "bags", release, lambda value: None)
    read_bags(tmp_path / "bags")  # control: rewritten as it was, it is read
    rewrite(tmp_path / "bags", release, change)
    with pytest.raises(InvalidRelease, match=message):
        read_bags(tmp_path / "bags")


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"sex": ["f"], "bag_count": [3.5], "bag_total_0": [1.0], "bag_total_1": [float("nan")]}),
        pa.table({"sex": ["f"], "bag_count": [3.5], "bag_total_0": [1.0], "bag_total_1": ["2"]}),
        pa.table({"sex": ["f"], "bag_count": ["3"], "bag_total_0": [1.0], "bag_total_1": [2.0]}),
        pa.table({"sex": ["f"], "bag_total_0": [1.0], "bag_total_1": [2.0]}),
    ],
    ids=["nan", "text_total", "text_count", "no_count"],
)
def test_a_file_of_another_schema_is_refused(release, tmp_path, table):
    release.write(tmp_path / "bags")
    path = tmp_path / "bags" / "partition-1.parquet"
    release._release(table).write(path, force=True)
    rewrite(tmp_path / "bags", release, lambda value: value["files"].update({path.name: digest(path)}))
    with pytest.raises(InvalidRelease, match="does not have the columns, types and sizes"):
        read_bags(tmp_path / "bags")


def test_a_file_of_another_release_is_refused(release, tmp_path):
    release.write(tmp_path / "bags")
    path = tmp_path / "bags" / "partition-1.parquet"
    found = pq.read_table(path).replace_schema_metadata(None)
    Release(
        value=found, guarantee=NoGuarantee(reason="other"), surface="bags", mechanism={"name": "x"}, seeded=False
    ).write(path, force=True)
    rewrite(tmp_path / "bags", release, lambda value: value["files"].update({path.name: digest(path)}))
    with pytest.raises(InvalidRelease, match="its guarantee is another one"):
        read_bags(tmp_path / "bags")


def test_a_release_of_another_surface_is_refused(tmp_path):
    (tmp_path / "scores").mkdir()
    Release(
        value={"mean": 1.0}, guarantee=PROMISE, surface="scores", mechanism={"name": "laplace"}, seeded=False
    ).write(tmp_path / "scores" / "manifest.json")
    with pytest.raises(InvalidRelease, match="is a release of scores, not a manifest of bags"):
        read_bags(tmp_path / "scores")


def test_a_release_holds_partitions_or_random_bags(release, drawn):
    with pytest.raises(InvalidInput, match="and not both"):
        BagTotals(
            partitions=release.partitions,
            random=drawn.random,
            loss=LogLoss(),
            guarantee=PROMISE,
            seeded=False,
            label="y",
            mechanism={"name": "x"},
        )
