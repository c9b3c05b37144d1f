import hashlib
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, NoGuarantee, Release, Unit, read_release
from tacit.privacy.release import open_release_writer

PROMISE = Guarantee(unit=Unit.LABEL, epsilon=1.0, assumptions=("features are public",))
TABLE = pa.table(
    {
        "row": pa.array([0, 1, 2], pa.uint8()),
        "label": pa.array(["a", None, "b"]).dictionary_encode(),
        "score": pa.array([0.5, float("nan"), -0.0], pa.float32()),
    }
)


def release(value, **more):
    fields = {"guarantee": PROMISE, "surface": "labels", "mechanism": {"name": "rr", "classes": 2}, "seeded": False}
    return Release(value=value, **{**fields, **more})


@pytest.fixture
def table_file(tmp_path):
    release(TABLE).write(tmp_path / "r.parquet")
    return tmp_path / "r.parquet"


@pytest.fixture
def json_file(tmp_path):
    release({"totals": [1, 2]}).write(tmp_path / "r.json")
    return tmp_path / "r.json"


def edit_json(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def edit_parquet(path, change):
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"tacit_release"])
    table = change(header, table) or table
    pq.write_table(table.replace_schema_metadata({b"tacit_release": json.dumps(header).encode()}), path)


def test_table_comes_back(table_file):
    back = read_release(table_file)
    assert back.value.to_pylist()[0] == {"row": 0, "label": "a", "score": 0.5}
    assert back.guarantee == PROMISE
    assert (back.surface, back.mechanism, back.seeded) == ("labels", {"name": "rr", "classes": 2}, False)


def test_document_comes_back(json_file):
    assert read_release(json_file).value == {"totals": [1, 2]}


def test_explicit_none_is_allowed_and_shown(tmp_path):
    release(TABLE, guarantee=NoGuarantee(reason="exact totals")).write(tmp_path / "r.parquet")
    assert "no guarantee: exact totals" in str(read_release(tmp_path / "r.parquet"))


def test_seed_is_kept_and_shown(tmp_path):
    release(TABLE, seeded=True).write(tmp_path / "r.parquet")
    assert read_release(tmp_path / "r.parquet").seeded
    assert "seeded" in str(read_release(tmp_path / "r.parquet"))


def test_header_says_everything(table_file):
    header = json.loads(pq.read_metadata(table_file).metadata[b"tacit_release"])
    assert set(header) == {
        "version", "surface", "mechanism", "seeded", "guarantee", "schema", "rows", "checksum",
    }  # fmt: skip
    assert list(header["schema"]) == ["row", "label", "score"]


def test_promise_cannot_be_edited(table_file, json_file):
    edit_parquet(table_file, lambda header, _: header["guarantee"].update(epsilon=0.1))
    edit_json(json_file, lambda d: d["tacit_release"]["guarantee"].update(epsilon=0.1))
    for path in (table_file, json_file):
        with pytest.raises(InvalidRelease, match="bad checksum"):
            read_release(path)


def test_value_cannot_be_edited(table_file, json_file):
    edit_parquet(table_file, lambda _, table: table.slice(1))
    edit_json(json_file, lambda d: d["value"]["totals"].append(3))
    for path in (table_file, json_file):
        with pytest.raises(InvalidRelease, match="bad checksum"):
            read_release(path)


def test_rewriting_without_a_change_is_no_damage(table_file):
    edit_parquet(table_file, lambda header, table: None)
    assert read_release(table_file).value.num_rows == 3


def test_another_version(table_file):
    edit_parquet(table_file, lambda header, _: header.update(version=2))
    with pytest.raises(InvalidRelease, match="is of version 2; this tacit reads 1"):
        read_release(table_file)


def test_silence_about_the_guarantee(json_file, table_file):
    edit_json(json_file, lambda d: d["tacit_release"].pop("guarantee"))
    pq.write_table(TABLE, table_file)
    for path in (json_file, table_file):
        with pytest.raises(InvalidRelease, match="does not say its guarantee"):
            read_release(path)


@pytest.mark.parametrize("content", [b"", b"no", b"[1, 2]", b"{}", b"PAR1 and then nothing"])
def test_other_files(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(InvalidRelease) as refusal:
        read_release(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "field",
    [
        {"guarantee": {"unit": "label", "epsilon": 1.0, "delta": 0.0, "loss": {"kind": "pure"}}},
        {"guarantee": {"unit": "label", "epsilon": 1.0, "delta": 0.0, "loss": "all of it"}},
        {
            "guarantee": {
                "unit": "label",
                "epsilon": 1.0,
                "delta": 0.0,
                "loss": {"kind": "discrete_laplace", "scale": "0", "sensitivity": 1},
            }
        },
        {"guarantee": {"none": 3}},
        {"mechanism": 3},
        {"mechanism": {}},
    ],
)
def test_a_header_that_makes_no_sense_is_one_sentence_though_its_checksum_fits(json_file, field):
    document = json.loads(json_file.read_text())
    header = document["tacit_release"]
    header.update(field)
    del header["checksum"]
    plain = [json.dumps(part, sort_keys=True, separators=(",", ":")).encode() for part in (header, document["value"])]
    header["checksum"] = hashlib.sha256(plain[0] + hashlib.sha256(plain[1]).digest()).hexdigest()
    json_file.write_text(json.dumps(document))
    with pytest.raises(InvalidRelease, match="has an incomplete header"):
        read_release(json_file)


@pytest.mark.parametrize("header", [b"[1]", b"{"])
def test_a_parquet_header_that_is_no_object(tmp_path, header):
    pq.write_table(TABLE.replace_schema_metadata({b"tacit_release": header}), tmp_path / "r.parquet")
    with pytest.raises(InvalidRelease, match="damaged header"):
        read_release(tmp_path / "r.parquet")


def test_a_folder_is_no_release(tmp_path):
    with pytest.raises(InvalidRelease, match="cannot be read: Is a directory"):
        read_release(tmp_path)


def test_truncated_file(table_file):
    table_file.write_bytes(table_file.read_bytes()[:-20])
    with pytest.raises(InvalidRelease, match="damaged"):
        read_release(table_file)


def test_no_trace_of_a_pandas_index(tmp_path):
    frame = pd.DataFrame({"label": [1, 0]}, index=pd.Index(["Alice", "Bob"], name="person"))
    with_metadata = pa.Table.from_pandas(frame).drop_columns(["person"])
    assert b"person" in with_metadata.schema.metadata[b"pandas"]  # the control: Arrow does carry it
    release(with_metadata).write(tmp_path / "r.parquet")
    assert b"person" not in (tmp_path / "r.parquet").read_bytes()


def test_existing_file_is_kept(table_file):
    before = table_file.read_bytes()
    with pytest.raises(InvalidInput, match="force"):
        release(TABLE.slice(1)).write(table_file)
    assert table_file.read_bytes() == before
    release(TABLE.slice(1)).write(table_file, force=True)
    assert read_release(table_file).value.num_rows == 2


def test_batches_equal_the_whole(tmp_path):
    rows = pa.table({"x": np.arange(1000)})
    release(rows).write(tmp_path / "whole.parquet")
    fields = {"guarantee": PROMISE, "surface": "labels", "mechanism": {"name": "rr", "classes": 2}, "seeded": False}
    with open_release_writer(tmp_path / "parts.parquet", schema=rows.schema, **fields) as out:
        for batch in rows.to_batches(max_chunksize=77):
            out.write(batch)
    headers = [
        pq.read_metadata(tmp_path / name).metadata[b"tacit_release"] for name in ("whole.parquet", "parts.parquet")
    ]
    assert headers[0] == headers[1]
    assert read_release(tmp_path / "parts.parquet").value.equals(rows)


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_interrupted_release_leaves_nothing(tmp_path, stop):
    fields = {"guarantee": PROMISE, "surface": "labels", "mechanism": {"name": "rr"}, "seeded": False}

    def half():
        with open_release_writer(tmp_path / "r.parquet", schema=TABLE.schema, **fields) as out:
            out.write(TABLE)
            raise stop

    with pytest.raises(stop):
        half()
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_not_json_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="plain JSON"):
        release({"x": float("nan")}).write(tmp_path / "r.json")
    with pytest.raises(InvalidInput, match="mechanism must have a name"):
        release(TABLE, mechanism={})
    assert list(tmp_path.iterdir()) == []
