"""Release folders: whole or not there, and refused when anything in them does not match."""

import json
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.bags import Plan, Release, protect
from tacit.bags.losses import CategoricalLoss, LogisticLoss
from tacit.bags.partition import BagTotals, KeyColumn, Partition, RandomBags
from tacit.bags.partition.tables import partition_of, partition_table
from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, NoGuarantee, Unit
from tacit.privacy import folders as folder
from tacit.privacy.folders import KEY
from tacit.privacy.releases.header import ReleaseHeader

ONE = Guarantee(unit=Unit.LABEL, epsilon=1.0)
MERGED = Partition(
    features=(KeyColumn("city"), KeyColumn("age", edges=(18.0, 65.0))),
    keys=pa.table({"city": ["a", None, None], "age": pa.array([0, 2, None], pa.int64())}),
    counts=np.array([4, 5, 6]),
    totals=np.array([[1.5, -2.0], [0.1, 3.0], [0.0, 1.0]]),
    variance=2.5,
    other=2,
    dropped=True,
)
NOISY = Partition(
    features=(KeyColumn("sex", values=("f", "m")),),
    keys=pa.table({"sex": ["f"]}),
    counts=np.array([3.5]),
    totals=np.array([[1.0, 2.0]]),
    count_variance=1.25,
)


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    columns = {"city": rng.choice(["a", "b"], 90), "age": rng.integers(0, 90, 90), "ill": rng.choice(["no", "yes"], 90)}
    return pa.table(columns)


def plans():
    given = {"label": "ill", "epsilon": 1}
    return {
        "laplace": Plan(**given, by=["city", ("city", "age")], edges={"age": [40]}, small="merge"),
        "gaussian": Plan(**given, delta=1e-6, by=["city"]),
        "record": Plan(**given, by=["city"], categories={"city": ["a", "b"]}, unit="record"),
        "chosen": Plan(**given, by=["city", "age"], edges={"age": [40]}, select=1),
        "random": Plan(**given, mechanism="random:size=5,bags=9,joins=1"),
        "persons": Plan(**given, by=["city"], rows_per_person=3),
    }


@pytest.fixture(params=plans())
def plan(request):
    return plans()[request.param]


def rewrite(place, change):
    """Write the manifest anew, with its checksum, after ``change`` has changed it."""
    path = place / "manifest.json"
    document = json.loads(path.read_text())[KEY]
    change(document)
    header, members = ReleaseHeader.unsealed(
        ReleaseHeader.sealed(_Stated(document), document["members"]), source="test"
    )
    path.write_text(json.dumps({KEY: header.sealed(members)}))


class _Stated:
    """A header as a document says it."""

    def __init__(self, document):
        self.document = document

    def to_json(self):
        return {name: value for name, value in self.document.items() if name not in ("members", "checksum")}


def test_what_is_written_is_read_back(people, plan, tmp_path):
    made = protect(people, plan, rng=np.random.default_rng(0), out=tmp_path / "bags")
    found = Release.read(tmp_path / "bags")
    assert (found.plan, found.guarantee, found.seeded) == (plan, made.guarantee, True)
    assert found.totals.bags == made.totals.bags > 0
    for one, two in zip(found.totals.partitions, made.totals.partitions, strict=True):
        assert one.describe() == two.describe()
        np.testing.assert_array_equal(one.totals, two.totals)
    for name in ("partition-0.parquet", "random.parquet"):
        if (tmp_path / "bags" / name).exists():
            assert b"pandas" not in (tmp_path / "bags" / name).read_bytes()


@pytest.mark.parametrize("part", [MERGED, NOISY], ids=["merged", "noisy"])
def test_a_partition_is_read_back_from_its_table(part):
    found = partition_of(partition_table(part), part.describe())
    assert found.features == part.features
    assert found.keys.equals(part.keys)
    assert found.counts.dtype == part.counts.dtype
    np.testing.assert_array_equal(found.counts, part.counts)
    np.testing.assert_array_equal(found.totals, part.totals)


def test_a_guarantee_smaller_than_its_plan_keeps_is_refused(people, plan, tmp_path):
    made = protect(people, plan, out=tmp_path / "bags")
    rewrite(tmp_path / "bags", lambda document: None)
    Release.read(tmp_path / "bags")  # control: rewritten as it was, it is read
    smaller = replace(made.guarantee, epsilon=made.guarantee.epsilon * 0.99, loss=None)
    rewrite(tmp_path / "bags", lambda document: document.update(guarantee=smaller.to_json()))
    with pytest.raises(InvalidRelease, match="but its mechanism has"):
        Release.read(tmp_path / "bags")


def test_a_guarantee_is_not_stated_of_exact_totals_or_of_more_rows(people, tmp_path):
    exact = Plan(label="ill", epsilon=None, by=["city"])
    for name, plan, stated in (
        ("exact", exact, ONE),
        ("rows", replace(exact, epsilon=1.0), replace(ONE, rows=2)),
        ("unit", replace(exact, epsilon=1.0), Guarantee(unit=Unit.RECORD, epsilon=1.0)),
    ):
        protect(people, plan, out=tmp_path / name)
        rewrite(tmp_path / name, lambda document, stated=stated: document.update(guarantee=stated.to_json()))
        with pytest.raises(InvalidRelease, match="but its mechanism has"):
            Release.read(tmp_path / name)


@pytest.fixture
def written(people, tmp_path):
    protect(people, plans()["laplace"], out=tmp_path / "bags")
    return tmp_path / "bags"


def damage_bytes(place):
    path = place / "partition-0.parquet"
    data = bytearray(path.read_bytes())
    data[6] ^= 1
    path.write_bytes(data)


def swap_files(place):
    one, two = place / "partition-0.parquet", place / "partition-1.parquet"
    one.rename(place / "aside")
    two.rename(one)
    (place / "aside").rename(two)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_bytes, "checksum|damaged"),
        (lambda place: (place / "partition-1.parquet").unlink(), "has lost partition-1.parquet"),
        (
            lambda place: (place / "manifest.json").write_text(
                (place / "manifest.json").read_text().replace('"epsilon": 1.0', '"epsilon": 0.1')
            ),
            "has a bad checksum",
        ),
        (swap_files, "has a bad checksum"),
        (lambda place: (place / "manifest.json").unlink(), "is a folder without manifest.json"),
    ],
    ids=["bytes", "missing_file", "manifest", "swapped", "no_manifest"],
)
def test_damage_is_refused_in_one_sentence(written, damage, message):
    Release.read(written)  # control: whole, it is read
    damage(written)
    with pytest.raises(InvalidRelease, match=message) as caught:
        Release.read(written)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one["settled"]["partitions"][0].update(bags=9), "does not have the columns, types and sizes"),
        (lambda one: one["settled"]["partitions"][0].update(targets=3), "does not have the columns, types and sizes"),
        (lambda one: one["settled"]["partitions"][0]["features"].pop(), "does not have the columns"),
        (lambda one: one["settled"].update(partitions=[]), "partitions or random bags"),
        (lambda one: one["members"].update({"../x": {"kind": "parquet"}}), "never had it"),
        (lambda one: one["settled"].pop("rows"), "rows"),
        (lambda one: one["plan"].update(totals="hinge"), "totals must be one of"),
        (lambda one: one["plan"].update(totals="classes"), "one for each target of the loss"),
        (lambda one: one.update(surface="scores"), "is a release of scores, not of bags"),
    ],
    ids=["bags", "targets", "features", "partitions", "outside", "no_rows", "other_loss", "classes", "surface"],
)
def test_a_manifest_that_does_not_match_is_refused(written, change, message):
    rewrite(written, change)
    with pytest.raises(InvalidRelease, match=message):
        Release.read(written)


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
def test_a_table_of_another_schema_is_refused(table):
    with pytest.raises(InvalidRelease, match="does not have the columns, types and sizes"):
        partition_of(table, NOISY.describe())


def test_an_existing_release_is_replaced_only_by_force(people, written):
    other = protect(people, plans()["random"])
    with pytest.raises(InvalidInput, match="exists already; choose another path, or replace it with --force"):
        other.write(written)
    assert Release.read(written).totals.random is None
    other.write(written, force=True)
    assert Release.read(written).totals.random is not None
    assert os.listdir(written.parent) == ["bags"]


def test_another_folder_is_never_overwritten(people, tmp_path):
    made = protect(people, plans()["random"])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    for name in ("mine", "link"):
        with pytest.raises(InvalidInput, match="is not exactly a release and is not overwritten"):
            made.write(tmp_path / name, force=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    with pytest.raises(InvalidInput, match="is no folder; create it first"):
        made.write(tmp_path / "no" / "bags")


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are POSIX's")
def test_a_replaced_folder_is_readable_by_no_more_people_than_before(people, tmp_path):
    made = protect(people, plans()["random"])
    before = os.umask(0o022)
    try:
        made.write(tmp_path / "bags")
        assert (tmp_path / "bags").stat().st_mode & 0o777 == 0o755, "control: a new folder follows the umask"
        (tmp_path / "bags").chmod(0o700)
        made.write(tmp_path / "bags", force=True)
    finally:
        os.umask(before)
    assert (tmp_path / "bags").stat().st_mode & 0o777 == 0o700


def test_an_error_leaves_everything_as_it_was(people, written, monkeypatch):
    other = protect(people, plans()["random"])

    def failing(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(InvalidInput, match="cannot be written: No space left on device"):
        other.write(written, force=True)
    assert os.listdir(written.parent) == ["bags"]
    assert Release.read(written).totals.random is None


def test_a_rename_that_fails_puts_the_old_release_back(people, written, monkeypatch):
    real = os.rename

    def failing(old, new):
        if str(old).endswith(".part"):
            raise OSError(13, "Permission denied")
        real(old, new)

    monkeypatch.setattr(folder, "_exchange", lambda *_: False)
    monkeypatch.setattr(folder.os, "rename", failing)
    with pytest.raises(InvalidInput, match="Permission denied"):
        protect(people, plans()["random"]).write(written, force=True)
    assert Release.read(written).totals.random is None


def test_files_hold_no_more_than_the_bags(people, written):
    table = pq.read_table(written / "partition-0.parquet")
    assert table.column_names == ["city", "bag_count", "bag_total_0"]
    assert table.schema.metadata is None
    assert "seed" not in json.loads((written / "manifest.json").read_text())[KEY]["plan"]


def test_totals_are_of_partitions_or_random_bags():
    random = RandomBags(rows=np.array([[0, 3], [2, 1]]), labels=np.array([[0.5], [1.0]]))
    given = {"guarantee": NoGuarantee(reason="x"), "seeded": False, "label": "y", "mechanism": {"name": "x"}}
    with pytest.raises(InvalidInput, match="and not both"):
        BagTotals(partitions=(MERGED,), random=random, loss=LogisticLoss(), **given)
    with pytest.raises(InvalidInput, match="one for each target"):
        BagTotals(partitions=(MERGED,), loss=CategoricalLoss(classes=3), **given)
