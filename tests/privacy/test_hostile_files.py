"""Files of strangers: refused with tacit's own error, soon, and in little memory."""

import json
import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import bags, labels
from tacit.privacy import InvalidInput, InvalidRelease
from tacit.privacy.bounded_json import parse_json
from tacit.privacy.folders import MANIFEST
from tacit.privacy.loss import loss_from_json
from tacit.privacy.releases.parquet_rows import read_batches, read_table

ROOT = Path(__file__).parents[2]
FUZZ = runpy.run_path(str(ROOT / "scripts" / "fuzz_readers.py"))
TABLE = pa.table({"ill": np.arange(60) % 3 // 2, "sex": ["f", "m"] * 30})


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100 + "1" + "}" * 100, "9" * 401, "[NaN]", "[-Infinity]", ""]
)
def test_json_out_of_bounds_is_refused(text):
    with pytest.raises(ValueError, match=r"nested|digits|no number|Expecting"):
        parse_json(text)
    assert parse_json('[{"a": [1, 2.5, null]}]') == [{"a": [1, 2.5, None]}]


def edited(folder, change):
    release = bags.protect(TABLE, bags.Plan(label="ill", epsilon=1, by=[("sex",)]), rng=np.random.default_rng(0))
    release.write(folder)
    manifest = json.loads((folder / MANIFEST).read_text())
    (header,) = manifest.values()
    change(header)
    FUZZ["_reseal"](header)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize("targets", [10**7, 10**12, -1, 0, 1.5, "many"])
def test_a_header_names_no_more_totals_than_its_file_has(tmp_path, targets):
    def change(header):
        header["settled"]["partitions"][0]["targets"] = targets

    with pytest.raises(InvalidRelease):
        bags.Release.read(edited(tmp_path / "r", change))


@pytest.mark.parametrize(
    ("name", "value"), [("scales", ["1/2"]), ("scales", ["9"]), ("scales", []), ("name", "exact_totals"), ("step", 2.0)]
)
def test_a_header_that_states_other_noise_than_its_plan_is_refused(tmp_path, name, value):
    def change(header):
        header["settled"]["mechanism"][name] = value

    with pytest.raises(InvalidRelease, match="other noise than its plan"):
        bags.Release.read(edited(tmp_path / "r", change))
    assert bags.Release.read(edited(tmp_path / "s", lambda header: None)).guarantee.epsilon == 1


@pytest.mark.parametrize("epsilon", [0.999, 1e-3])
def test_a_smaller_guarantee_than_that_of_k_rows_is_refused(tmp_path, epsilon):
    table = TABLE.append_column("who", pa.array(np.arange(60) // 2))
    plan = labels.Plan(label="ill", epsilon=0.5, person="who", rows_per_person=2)
    path = tmp_path / "r.parquet"
    labels.protect(table, plan, out=path, rng=np.random.default_rng(0))
    assert labels.Release.read(path).guarantee.epsilon == 1.0
    member, header = FUZZ["TableMember"].load(path)
    header["guarantee"]["epsilon"] = epsilon
    FUZZ["_reseal"](header)
    member = member.in_memory()
    with path.open("wb") as file:
        member.save(file, lambda _: header)
    with pytest.raises(InvalidRelease, match="states epsilon"):
        labels.Release.read(path)


def test_many_different_parts_of_a_loss_are_refused_before_they_are_priced():
    parts = [{"kind": "pure", "epsilon": k / 1e4} for k in range(1, 2002)]
    with pytest.raises(InvalidInput, match="at most 2000 different parts"):
        loss_from_json({"kind": "composed", "parts": parts})
    assert loss_from_json({"kind": "composed", "parts": parts[:1] * 5000}).pure_epsilon == 0.5
    with pytest.raises(InvalidInput, match="fewer different parts that are repeated"):  # 20 s otherwise
        loss_from_json({"kind": "composed", "parts": parts[:100], "times": 2**20})
    nested = [{"kind": "composed", "parts": [part], "times": 1000} for part in parts[:100]]
    with pytest.raises(InvalidInput, match="fewer different parts that are repeated"):
        loss_from_json({"kind": "composed", "parts": nested})
    steps = {"kind": "sampled_gaussian", "noise": 2.0, "rate": 0.1, "steps": 10, "rows": 3}
    assert loss_from_json({"kind": "composed", "parts": [steps, *parts[:5]], "times": 100}).times == 100


def test_rows_that_repeat_far_more_than_their_file_are_refused(tmp_path):
    numbers, words = tmp_path / "numbers.parquet", tmp_path / "words.parquet"
    with pq.ParquetWriter(numbers, pa.schema([("label", pa.int64())])) as file:
        for _ in range(50):
            file.write_table(pa.table({"label": np.zeros(10**6, np.int64)}))
    pq.write_table(
        pa.table({"label": pa.DictionaryArray.from_arrays(np.zeros(50_000, np.int32), ["x" * 10_000])}), words
    )
    assert max(path.stat().st_size for path in (numbers, words)) < 10**6
    with pytest.raises(InvalidRelease, match="repeat far more"):
        read_table(numbers)
    with pytest.raises(InvalidRelease, match="repeat far more"):
        list(read_batches(words))
    assert sum(batch.num_rows for batch in read_batches(numbers)) == 50 * 10**6  # a stream is bounded by the batch


def test_a_column_whose_name_is_no_text_is_damage(tmp_path):
    path = tmp_path / "r.parquet"
    labels.protect(TABLE, labels.Plan(label="ill", epsilon=1, classes="0,1"), out=path, rng=np.random.default_rng(0))
    content = path.read_bytes()
    assert labels.Release.read(path).labels
    path.write_bytes(content.replace(b"label", b"l\xecbel"))
    with pytest.raises(InvalidRelease, match="damaged Parquet file"):
        labels.Release.read(path)


def test_mutated_files_are_read_or_refused():
    report = FUZZ["fuzz"](150, seed=7, kinds=("labels", "bags", "scores", "ledger", "toml"))
    assert report.broken == []
    assert report.files == 150
    assert report.read < 145  # mutations break most


def test_control_a_reader_that_fails_is_found(monkeypatch):
    monkeypatch.setitem(FUZZ["READERS"], "toml", lambda path: path.read_text().encode("ascii").index(b"bundled"))
    assert FUZZ["fuzz"](60, seed=7, kinds=("toml",)).broken
