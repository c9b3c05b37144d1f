"""A table as a German bank exports it, in every file format: init, audit and every command of the page succeed."""

import contextlib
import io
import json
import sys
from dataclasses import replace
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from shlex import quote, split

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tacit.audit import SURFACES, read_plan, run_audit
from tacit.cli import main
from tacit.data import open_table, read_rows
from tests.ugly import credit_table, write_german_csv

ROWS = 300
RAN = [name for name in SURFACES if name != "models" or find_spec("opacus")]
LEFT_OUT = {
    "Konto-Nr.": f"{ROWS} values in {ROWS} rows: an id, a name or free text",
    "Name": f"{ROWS} values in {ROWS} rows: an id, a name or free text",
    "leer": "no value in any row",
    "Währung": "the same in every row",
    "Status": "the same in every row",
}


def call(command, *, code=0):
    """Run a command, and return its JSON; or what it says where it must fail."""
    said, failed = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as end, contextlib.redirect_stdout(said), contextlib.redirect_stderr(failed):
        main([*split(command)[1:], "--json"])
    assert end.value.code == code, (command, failed.getvalue())
    return json.loads(said.getvalue() if code == 0 else failed.getvalue().splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_forests):
    path = tmp_path_factory.mktemp("bank")
    with contextlib.chdir(path):
        write_german_csv(credit_table(ROWS), "kredite.csv")
        yield path


def other_types(table):
    """The table as a warehouse types it: decimals, dictionaries, truth values, a column of nulls."""
    kinds = {
        "Zins %": pa.decimal128(8, 3),
        "Verlust": pa.decimal128(18, 2),
        "Student": pa.dictionary(pa.int8(), pa.string()),
        "Branche": pa.dictionary(pa.int8(), pa.string()),
        "Ausfall": pa.bool_(),
        "leer": pa.null(),
    }
    for name, kind in kinds.items():
        column = pa.nulls(len(table)) if pa.types.is_null(kind) else pc.cast(table[name], kind, safe=False)
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def write(name, table):
    if name == "kredite.parquet":
        pq.write_table(other_types(table), name)
    elif name == "je Student":
        pq.write_to_dataset(other_types(table), name, partition_cols=["Student"])
    elif name == "kredite.jsonl":
        lines = (json.dumps(row, default=lambda day: day.isoformat(), ensure_ascii=False) for row in table.to_pylist())
        Path(name).write_text("\n".join(lines))
    elif name == "kredite.xlsx":
        sheet = pytest.importorskip("openpyxl").Workbook()
        sheet.active.append(table.column_names)
        for row in table.to_pylist():
            sheet.active.append([cell.replace(tzinfo=None) if hasattr(cell, "hour") else cell for cell in row.values()])
        sheet.save(name)


def test_a_german_csv_has_the_types_that_it_means(folder):
    rows = read_rows(open_table("kredite.csv"))
    meant = credit_table(ROWS)
    for name in ("Zins %", "Saldo.EUR", "Verlust", 'Kunde "seit"', "Fällig am", "PLZ", "Konto-Nr.", "Bemerkung"):
        assert rows[name].to_pylist() == pytest.approx(meant[name].to_pylist()), name
    assert (
        rows["letzter Kontakt"]
        .cast(pa.timestamp("s", "UTC"))
        .equals(meant["letzter Kontakt"].cast(pa.timestamp("s", "UTC")))
    )


@pytest.mark.parametrize("name", ["kredite.csv", "kredite.parquet", "je Student", "kredite.jsonl", "kredite.xlsx"])
def test_init_reads_every_format_alike(folder, name):
    write(name, credit_table(ROWS))
    made = call(f"tacit init '{name}' --label Ausfall --out plan.toml --force")
    assert made["left_out"] == LEFT_OUT


def test_standard_input_is_read_and_named(folder, monkeypatch):
    for text, code in (((folder / "kredite.csv").read_bytes(), 0), (b"", 2)):
        from tacit.data.remote import spooled_stdin

        spooled_stdin.cache_clear()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        made = call("tacit init - --label Ausfall --out plan.toml --force", code=code)
        assert made.get("left_out") == LEFT_OUT or made["error"].startswith("standard input is empty")


LABELS = {  # 0.4%, mostly 0, words with a space, 40 classes: audit/test_commands.py has all surfaces of three more
    "Ausfall": RAN,
    "Verlust": ["labels", "bags", "scores"],
    "Zusage": ["features", *RAN[4:]],
    "Branche": ["labels", "scores"],
}


@pytest.mark.parametrize(("label", "surfaces"), LABELS.items(), ids=LABELS)
def test_every_command_of_the_page_succeeds(folder, label, surfaces):
    call(f"tacit init kredite.csv --label {label} --out {label}.toml")
    result = run_audit(replace(read_plan(f"{label}.toml"), epsilons=()).only(surfaces), seed=5)
    assert not result.skipped
    assert [finding.surface for finding in result.findings] == surfaces
    for command in (one for finding in result.findings for one in finding.commands):
        assert call(command)


def lake(rows):
    """Loans as a lake keeps them: nested values, decimals, years, epochs, hours, spellings and gaps."""
    numbers = [k * 7 % 31 for k in range(rows)]
    outcomes = ["Paid", "PAID", " Written Off ", "paid late"]
    return pa.table(
        {
            "tags": [["vip"], []] * (rows // 2),
            "limit=EUR": pa.array([Decimal(k) / 8 for k in numbers], pa.decimal128(18, 3)),
            "paid, or not": ["Y", "N, O", None] * (rows // 3),
            "a=b": ["p=q", "r"] * (rows // 2),
            "year": [2021 + k % 3 for k in range(rows)],
            "ts": [1_690_000_000 + 86_400 * k for k in numbers],
            "hour": pa.array([k * 600 for k in range(rows)], pa.time32("s")),
            "outcome": [None if k % 19 == 3 else outcomes[(k * k + numbers[k]) % 4] for k in range(rows)],
            "change": [None if k % 11 == 3 else (k - 15.0) * 0.0 if k % 2 else round(k - 15, 1) for k in numbers],
        }
    )


@pytest.mark.parametrize(("label", "surfaces"), [("outcome", ["features", "scores"]), ("change", ["labels", "bags"])])
def test_a_label_with_gaps_spellings_and_minus_zero(folder, label, surfaces):
    pq.write_table(lake(240), "lake.parquet")
    made = call(f"tacit init lake.parquet --label {label} --out lake.toml --force")
    assert made["without_label"] == lake(240)[label].null_count > 0
    assert made["spellings"]["outcome"] == ["PAID", "Paid"]
    plan = Path("lake.toml").read_text()
    assert 'ranges."year" = [2021, 2023]' in plan
    times = 'ranges."ts" = [1690000000, 1693000000]'
    assert (times in plan) == (label == "outcome"), "the change follows the time, which is left out"
    assert 'ranges."hour"' not in plan  # a day has 24 hours
    result = run_audit(replace(read_plan("lake.toml"), epsilons=()).only(surfaces), seed=5)
    assert "rows with a label" in result.findings[0].data
    for command in (one for finding in result.findings for one in finding.commands):
        assert call(command)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("Fällig am", "column 'Fällig am' has dates or times; a label has numbers, text or truth values"),
        ("Status", "column 'Status' has one value, 'offen', in all rows; a label has two or more"),
        (
            "leer",
            "column 'leer' has no value in any row; a label has two or more",
        ),
    ],
)
def test_a_column_that_is_no_label_is_refused(folder, label, said):
    assert call(f"tacit init kredite.csv --label {quote(label)} --out no.toml", code=2)["error"] == said


def test_cuts_of_losses_that_are_mostly_zero_separate_losses(folder):
    made = call("tacit init kredite.csv --label Verlust --out cuts.toml")["numeric_label"]
    lost = credit_table(ROWS)["Verlust"].to_numpy()
    assert (lost == 0).mean() > 0.8
    assert all(0 < (lost >= cut).sum() < (lost > 0).sum() for cut in made["cuts"])
    assert "classes; cuts read off the private rows" in (folder / "cuts.toml").read_text()


KINDS = {
    "nested": pa.array([[k % 2] for k in range(60)]),
    "day": pa.array([k % 3 for k in range(60)], pa.date32()),
    "key": pa.array([b"0", b"1"] * 30),
}


@pytest.mark.parametrize("label", list(KINDS))
@pytest.mark.parametrize("surface", ["init", *SURFACES])
def test_a_refused_label_is_named(folder, label, surface):
    pq.write_table(pa.table({"age": range(60), "city": ["a", "b"] * 30, **KINDS}), "kinds.parquet")
    own = {"init": "", "bags": "--by city", "labels": "", "scores": ""}
    rest = own.get(surface, "--features age --ranges '*=0,100' --delta 1e-6")
    command = f"tacit {surface if surface == 'init' else f'{surface} protect'} kinds.parquet --label {label} {rest}"
    said = call(f"{command} {'' if surface == 'init' else '--epsilon 1'}", code=2)["error"]
    assert repr(label) in said
    assert any(word in said for word in ("text", "make a column of that value", "totals")), said


def test_a_column_called_id_and_integers_of_64_bits(folder):
    """The id is no part of a submission; hashes are keys of bags and classes like words."""
    kinds = {"id": range(240), "age": [20 + k * 7 % 50 for k in range(240)], "ill": [k**3 // 7 % 2 for k in range(240)]}
    hashes = pa.array([2**63 + k % 3 for k in range(240)], pa.uint64())
    pq.write_table(pa.table({**kinds, "hash": hashes, "site": [k % 4 for k in range(240)]}), "hashes.parquet")
    for label, surfaces in (("ill", ["bags", "scores"]), ("hash", ["labels"])):
        made = call(f"tacit init hashes.parquet --label {label} --out hashes.toml --force")
        assert ["id", label] == [*made["left_out"], made["label"]]
        result = run_audit(replace(read_plan("hashes.toml"), epsilons=()).only(surfaces), seed=5)
        assert not result.skipped
        for command in (one for finding in result.findings for one in finding.commands):
            assert call(command)


def test_numbers_and_words_are_classes_together(folder):
    text = "".join(f"{20 + k % 50},{'2+' if k % 12 == 5 else k * 7 % 3 % 2}\n" for k in range(120))
    Path("visits.csv").write_text(f"age,visits\n{text}")
    assert call("tacit init visits.csv --label visits --out visits.toml")["read_as_text"] == {"visits": ["2+"]}
    result = run_audit(replace(read_plan("visits.toml"), epsilons=()).only(["labels", "scores"]), seed=5)
    assert [finding.surface for finding in result.findings] == ["labels", "scores"]
    assert not result.skipped
