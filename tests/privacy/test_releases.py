"""One release format: what is written comes back, and what was changed, damaged or is another's is refused."""

import hashlib
import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, NoGuarantee, Unit
from tacit.privacy.loss import SampledGaussianLoss
from tacit.privacy.plan import Plan
from tacit.privacy.releases import DocumentMember, Release, ReleaseHeader, TableMember
from tacit.privacy.releases.header import canonical_json

GUARANTEE = Guarantee(unit=Unit.LABEL, epsilon=1.0, assumptions=("features are public",))
TABLE = pa.table(
    {
        "row": pa.array([0, 1, 2], pa.uint8()),
        "label": pa.array(["a", None, "b"]).dictionary_encode(),
        "score": pa.array([0.5, float("nan"), -0.0], pa.float32()),
    }
)


@dataclass(frozen=True, kw_only=True)
class ToyPlan(Plan):
    surface: ClassVar[str] = "toy"


@dataclass(frozen=True, kw_only=True)
class ToyFolderPlan(ToyPlan):
    @property
    def suffix(self):
        return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class ToyFile(Release):
    plan_type: ClassVar[type[Plan]] = ToyPlan


@dataclass(frozen=True, kw_only=True, eq=False)
class ToyFolder(ToyFile):
    plan_type: ClassVar[type[Plan]] = ToyFolderPlan


PLAN = ToyPlan(label="ill", epsilon=1)


def header(**more):
    fields = {"surface": "toy", "plan": PLAN.to_json(), "guarantee": GUARANTEE, "seeded": False}
    return ReleaseHeader(**{**fields, **more})


def release(value, **more):
    member = DocumentMember(value) if isinstance(value, dict) else TableMember(value)
    return ToyFile(header=header(**more), members={"value": member})


def table_of(path):
    return ToyFile.read(path).members["value"].table


@pytest.fixture
def table_file(tmp_path):
    release(TABLE).write(tmp_path / "r.parquet")
    return tmp_path / "r.parquet"


@pytest.fixture
def json_file(tmp_path):
    release({"totals": [1, 2]}).write(tmp_path / "r.json")
    return tmp_path / "r.json"


@pytest.fixture
def folder(tmp_path):
    members = {"rows": TableMember(TABLE), "about": DocumentMember({"totals": [1, 2]})}
    ToyFolder(header=header(), members=members).write(tmp_path / "r")
    return tmp_path / "r"


def edit_json(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def forge(path, field):
    """Change a header and compute its checksum anew, as anyone can."""

    def change(document):
        stored = document["tacit_release"] | field
        del stored["checksum"]
        plain = json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()
        document["tacit_release"] = {**stored, "checksum": hashlib.sha256(plain).hexdigest()}

    edit_json(path, change)


def edit_parquet(path, change):
    table = pq.read_table(path)
    stored = json.loads(table.schema.metadata[b"tacit_release"])
    table = change(stored, table) or table
    pq.write_table(table.replace_schema_metadata({b"tacit_release": json.dumps(stored).encode()}), path)


def test_a_table_comes_back(table_file):
    back = ToyFile.read(table_file)
    assert back.members["value"].table.to_pylist()[0] == {"row": 0, "label": "a", "score": 0.5}
    assert (back.guarantee, back.plan, back.seeded) == (GUARANTEE, PLAN, False)


def test_a_document_comes_back(json_file):
    assert ToyFile.read(json_file).members["value"].value == {"totals": [1, 2]}


def test_a_folder_comes_back(folder):
    back = ToyFolder.read(folder)
    assert back.members["rows"].table.num_rows == 3
    assert back.members["about"].value == {"totals": [1, 2]}
    assert sorted(path.name for path in folder.iterdir()) == ["about.json", "manifest.json", "rows.parquet"]


def test_an_explicit_none_is_allowed_and_shown(tmp_path):
    release(TABLE, guarantee=NoGuarantee(reason="exact totals")).write(tmp_path / "r.parquet")
    assert "no guarantee: exact totals" in str(ToyFile.read(tmp_path / "r.parquet"))


def test_the_header_has_no_path_and_no_seed(table_file):
    stored = json.loads(pq.read_metadata(table_file).metadata[b"tacit_release"])
    assert set(stored) == {
        "format", "surface", "plan", "settled", "guarantee", "seeded", "ordered", "encoder", "members", "checksum",
    }  # fmt: skip


def test_a_guarantee_cannot_be_edited(table_file, json_file):
    edit_parquet(table_file, lambda stored, _: stored["guarantee"].update(epsilon=0.1))
    edit_json(json_file, lambda document: document["tacit_release"]["guarantee"].update(epsilon=0.1))
    for path in (table_file, json_file):
        with pytest.raises(InvalidRelease, match="bad checksum"):
            ToyFile.read(path)


def test_a_value_cannot_be_edited(table_file, json_file, folder):
    edit_parquet(table_file, lambda _, table: table.slice(1))
    with pytest.raises(InvalidRelease, match="bad checksum"):
        table_of(table_file)
    edit_json(json_file, lambda document: document["value"]["totals"].append(3))
    with pytest.raises(InvalidRelease, match="bad checksum"):
        ToyFile.read(json_file)
    edit_json(folder / "about.json", lambda document: document["value"]["totals"].append(3))
    with pytest.raises(InvalidRelease, match="bad checksum"):
        ToyFolder.read(folder)


def test_rewriting_without_a_change_is_no_damage(table_file):
    edit_parquet(table_file, lambda stored, table: None)
    assert table_of(table_file).num_rows == 3


def test_another_format_and_another_surface_are_refused(table_file, tmp_path):
    release(TABLE, surface="bags").write(tmp_path / "other.parquet")
    with pytest.raises(InvalidRelease, match="is a release of bags, not of toy; use tacit bags"):
        ToyFile.read(tmp_path / "other.parquet")
    edit_parquet(table_file, lambda stored, _: stored.update(format="tacit release 3"))
    with pytest.raises(InvalidRelease, match="is of format 'tacit release 3'; this tacit reads 'tacit release 2'"):
        ToyFile.read(table_file)


def test_a_file_without_a_header_is_no_release(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")
    with pytest.raises(InvalidRelease, match="is not a tacit release: it has no header"):
        ToyFile.read(tmp_path / "t.parquet")


@pytest.mark.parametrize("content", [b"", b"no", b"[1, 2]", b"{}", b"PAR1 and then nothing"])
@pytest.mark.parametrize("name", ["other", "other.json", "other.parquet"])
def test_other_files_are_refused_in_one_sentence(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidRelease) as refusal:
        ToyFile.read(tmp_path / name)
    assert "\n" not in str(refusal.value)


def test_nothing_and_a_folder_of_something_else_are_no_release(tmp_path):
    with pytest.raises(InvalidRelease, match="does not exist"):
        ToyFile.read(tmp_path / "nothing.parquet")
    with pytest.raises(InvalidRelease, match=r"is a folder without manifest\.json, so it is not a release"):
        ToyFile.read(tmp_path)


def test_a_folder_that_lost_a_member_is_refused(folder):
    (folder / "rows.parquet").unlink()
    with pytest.raises(InvalidRelease, match=r"has lost rows\.parquet"):
        ToyFolder.read(folder)


@pytest.mark.parametrize(
    "field",
    [
        {"guarantee": {"unit": "label", "epsilon": 1.0, "delta": 0.0, "loss": {"kind": "pure"}}},
        {"guarantee": {"unit": "label", "epsilon": 1.0, "delta": 0.0, "loss": "all of it"}},
        {"guarantee": {"none": 3}},
        {"plan": {"label": "ill", "epsilon": -1}},
        {"plan": {"label": "ill", "epsilon": 1, "color": "red"}},
        {"members": 3},
    ],
)
def test_a_header_that_makes_no_sense_is_one_sentence_though_its_checksum_fits(json_file, field):
    forge(json_file, field)
    with pytest.raises(InvalidRelease, match="header"):
        ToyFile.read(json_file)


def test_the_loss_that_a_stranger_states_is_never_priced(json_file, monkeypatch):
    """A composition of thousands of sampled steps takes a kilobyte to write and hours to price."""

    def price(_):
        raise AssertionError("priced")

    monkeypatch.setattr(SampledGaussianLoss, "distribution", price)
    steps = [{"kind": "sampled_gaussian", "noise": 1 + i / 1000, "rate": 0.5, "steps": 10**6} for i in range(1000)]
    stated = GUARANTEE.to_json() | {"delta": 1e-6, "loss": {"kind": "composed", "parts": steps}}
    forge(json_file, {"guarantee": stated})
    with pytest.raises(InvalidRelease, match="pricing it takes long"):
        ToyFile.read(json_file)


@pytest.mark.parametrize("stored", [b"[1]", b"{"])
def test_a_parquet_header_that_is_no_object(tmp_path, stored):
    pq.write_table(TABLE.replace_schema_metadata({b"tacit_release": stored}), tmp_path / "r.parquet")
    with pytest.raises(InvalidRelease, match="damaged header"):
        ToyFile.read(tmp_path / "r.parquet")


def test_a_truncated_file_is_damaged(table_file):
    table_file.write_bytes(table_file.read_bytes()[:-20])
    with pytest.raises(InvalidRelease, match="damaged"):
        ToyFile.read(table_file)


def test_no_trace_of_a_pandas_index(tmp_path):
    frame = pd.DataFrame({"label": [1, 0]}, index=pd.Index(["Alice", "Bob"], name="person"))
    with_metadata = pa.Table.from_pandas(frame).drop_columns(["person"])
    assert b"person" in with_metadata.schema.metadata[b"pandas"]  # the control: Arrow does carry it
    ToyFile(header=header(plan=None), members={"value": TableMember(with_metadata)}).write(tmp_path / "r.parquet")
    assert b'"person": "' not in (tmp_path / "r.parquet").read_bytes()
    assert b"pandas" not in (tmp_path / "r.parquet").read_bytes()


def test_an_existing_file_is_kept(table_file):
    before = table_file.read_bytes()
    with pytest.raises(InvalidInput, match="force"):
        release(TABLE.slice(1)).write(table_file)
    assert table_file.read_bytes() == before
    release(TABLE.slice(1)).write(table_file, force=True)
    assert table_of(table_file).num_rows == 2


def test_batches_equal_the_whole(tmp_path):
    rows = pa.table({"x": np.arange(1000)})
    release(rows).write(tmp_path / "whole.parquet")
    parts = TableMember(iter(rows.to_batches(max_chunksize=77)), schema=rows.schema)
    ToyFile(header=header(), members={"value": parts}).write(tmp_path / "parts.parquet")
    stored = [
        pq.read_metadata(tmp_path / name).metadata[b"tacit_release"] for name in ("whole.parquet", "parts.parquet")
    ]
    assert stored[0] == stored[1]
    assert table_of(tmp_path / "parts.parquet").equals(rows)


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_release_leaves_nothing(tmp_path, stop):
    def half():
        yield TABLE.to_batches()[0]
        raise stop

    drawn = TableMember(half(), schema=TABLE.schema)
    with pytest.raises(stop):
        ToyFile(header=header(), members={"value": drawn}).write(tmp_path / "r.parquet")
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_not_json_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="plain JSON"):
        release({"x": float("nan")}).write(tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("facts", [5, None, "rows"])
def test_members_without_facts_are_refused(facts, tmp_path):
    document = {**header().to_json(), "members": {"value": facts}}
    document["checksum"] = hashlib.sha256(canonical_json(document)).hexdigest()
    (tmp_path / "odd.json").write_text(json.dumps({"tacit_release": document, "value": {}}))
    with pytest.raises(InvalidRelease, match="incomplete header"):
        ToyFile.read(tmp_path / "odd.json")


def test_a_deeply_nested_header_is_refused(tmp_path):
    with pq.ParquetWriter(tmp_path / "deep.parquet", TABLE.schema, store_schema=False) as file:
        file.write_table(TABLE)
        file.add_key_value_metadata({"tacit_release": "[" * 200_000 + "]" * 200_000})
    with pytest.raises(InvalidRelease, match="damaged header"):
        ToyFile.read(tmp_path / "deep.parquet")
