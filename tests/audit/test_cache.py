import json
import stat

import pyarrow as pa
import pytest

from tacit.audit import Finding
from tacit.audit.cache import FindingCache
from tacit.audit.source import AuditedTable
from tacit.privacy import NoGuarantee


@pytest.fixture
def planned(iris, step_of):
    return step_of(iris, "labels", epsilon=1.0)


def test_what_is_kept_is_found(tmp_path, planned, finding):
    made = finding(NoGuarantee(reason="exact"), [0, 1], [0, 1])
    cache = FindingCache(tmp_path / "audit")
    cache.keep(name := cache.name(planned, seed=0), made)
    assert FindingCache(tmp_path / "audit").find(name, Finding) == made


def test_every_cause_has_its_own_name(tmp_path, iris, planned, step_of):
    cache = FindingCache(tmp_path / "audit")
    other = AuditedTable(
        name=iris.name, table=iris.table.slice(1), label=iris.label, features=iris.features, file=iris.file
    )
    names = {
        cache.name(planned, seed=0),
        cache.name(planned, seed=None),
        cache.name(step_of(iris, "labels", epsilon=2.0), seed=0),
        cache.name(step_of(other, "labels", epsilon=1.0), seed=0),
        FindingCache(tmp_path / "another").name(planned, seed=0),
    }
    assert len(names) == 5, "the last has another key: a name alone says nothing about the data"


def test_a_finding_does_not_outlive_the_code_nor_the_columns_names(tmp_path, iris, planned, step_of, monkeypatch):
    cache = FindingCache(tmp_path / "audit")
    before = cache.name(planned, seed=0)
    assert cache.name(planned, seed=0) == before
    renamed = iris.table.rename_columns(
        [f"{name}2" if name != iris.label else name for name in iris.table.column_names]
    )
    other = AuditedTable(
        name=iris.name, label=iris.label, file=iris.file, table=renamed,
        features=tuple(f"{name}2" for name in iris.features),
    )  # fmt: skip
    assert cache.name(step_of(other, "labels", epsilon=1.0), seed=0) != before, "bags are made by these names"
    with monkeypatch.context() as patch:
        patch.setattr("tacit.audit.cache._makers", lambda: {"numpy": "99"})
        assert cache.name(planned, seed=0) != before, "another NumPy may draw other numbers"
    monkeypatch.setattr("tacit.audit.cache._code", lambda: "changed")
    assert cache.name(planned, seed=0) != before


def test_tables_that_are_the_same_as_numbers_have_names_of_their_own(tmp_path, step_of):
    """A missing value is no bag of the mean, and integers beyond 2^53 are one float."""
    cache = FindingCache(tmp_path / "audit")
    columns = ([None, 0, 1], [0.5, 0, 1], [2**53, 0, 1], [2**53 + 1, 0, 1])
    tables = [pa.table({"a": pa.array(column * 10), "y": [0, 1, 1] * 10}) for column in columns]
    sources = [AuditedTable(name="t", table=table, label="y", features=("a",)) for table in tables]
    assert (sources[2].X == sources[3].X).all()
    assert len({cache.name(step_of(source, "labels", epsilon=1.0), seed=0) for source in sources}) == 4
    chunked = pa.concat_tables([tables[0].slice(0, 7), tables[0].slice(7)])
    again = AuditedTable(name="t", table=chunked, label="y", features=("a",))
    one, two = (cache.name(step_of(source, "labels", epsilon=1.0), seed=0) for source in (again, sources[0]))
    assert one == two, "control: how it was read"


def test_nobody_else_may_read_it_and_no_private_value_is_in_it(tmp_path, iris, planned, finding):
    made = finding(NoGuarantee(reason="exact"), [0, 1], [0, 1])
    cache = FindingCache(tmp_path / "audit")
    cache.keep(cache.name(planned, seed=0), made)
    assert stat.S_IMODE((tmp_path / "audit").stat().st_mode) == 0o700
    for path in (tmp_path / "audit").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not any(name.encode() in path.read_bytes() for name in iris.classes)


@pytest.mark.parametrize("left", ["{", "[]", "null", "{}", '{"surface": 1, "leak": 3}'])
def test_a_damaged_file_counts_as_none(tmp_path, planned, left):
    cache = FindingCache(tmp_path / "audit")
    name = cache.name(planned, seed=0)
    (tmp_path / "audit" / f"{name}.json").write_text(left)
    assert cache.find(name, Finding) is None


@pytest.mark.parametrize(
    ("key", "value"), [("leak", []), ("guarantee", {"unit": "label", "epsilon": 1.0, "delta": 0.0, "loss": []})]
)
def test_a_finding_with_a_part_of_the_wrong_kind_counts_as_none(tmp_path, planned, result, key, value):
    cache = FindingCache(tmp_path / "audit")
    name = cache.name(planned, seed=0)
    (tmp_path / "audit" / f"{name}.json").write_text(json.dumps({**result.findings[0].to_json(), key: value}))
    assert cache.find(name, Finding) is None
