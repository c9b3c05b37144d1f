"""Whatever is given as --out: no input, ledger, plan or foreign file is replaced."""

import os

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tacit.cli import main as run_tacit

PLAN = '[data]\nbundled = "iris"\n\n[audit]\nepsilons = []\n\n[[labels]]\nepsilon = 1.0\n'
PROTECT = "labels protect clicks.csv --label clicked --epsilon 1"


def main(arguments):
    try:
        run_tacit(arguments)
    except SystemExit as end:
        return end.code
    return 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_LEDGER", raising=False)
    (tmp_path / "clicks.csv").write_text("age,clicked\n" + "".join(f"{k % 7},{k % 2}\n" for k in range(60)))
    (tmp_path / "tacit.toml").write_text(PLAN)
    (tmp_path / "notes.txt").write_text("all that I have")
    (tmp_path / "notes").write_text("all that I have")
    pq.write_table(pyarrow.csv.read_csv("clicks.csv"), "mine.parquet")
    (tmp_path / "notes.html").write_text("<!doctype html><title>mine</title>")
    assert main(["ledger", "create"]) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("command", "kept", "said"),
    [
        ("init clicks.csv --label clicked --out clicks.csv --force", "clicks.csv", "is an input file"),
        ("init clicks.csv --label clicked --out notes.txt --force", "notes.txt", "is not a plan by tacit init"),
        ("init clicks.csv --label clicked --out tacit.toml --force", "tacit.toml", "is not a plan by tacit init"),
        ("init clicks.csv --label clicked --out ledger.db --force", "ledger.db", "is a database, perhaps a ledger"),
        ("ledger export ledger.db --ledger ledger.db --force", "ledger.db", "is an input file"),
        ("ledger export notes --force", "notes", "is not an export of a ledger"),
        ("audit tacit.toml --out ledger.db", "ledger.db", "is a database, perhaps a ledger"),
        ("audit tacit.toml --out tacit.toml", "tacit.toml", "is not overwritten|which would be lost"),
        ("audit tacit.toml --out notes.html", "notes.html", "is not a page of tacit audit"),
        ("audit --out notes.txt", "notes.txt", "is not a page of tacit audit"),
        ("labels protect clicks.csv --label clicked --epsilon 1 --out ledger.db --force", "ledger.db", "is a database"),
        (f"{PROTECT} --out tacit.toml --force", "tacit.toml", "is not a release|has the ending of TOML"),
        (f"{PROTECT} --out notes --force", "notes", "notes is not a release and is not overwritten"),
        (f"{PROTECT} --out mine.parquet --force", "mine.parquet", "mine.parquet is not a release and is not overwr"),
        (
            "labels protect clicks.csv --label clicked --epsilon 1 --out clicks.csv --force",
            "clicks.csv",
            "an input file",
        ),
    ],
)
def test_nothing_else_is_replaced(folder, capsys, command, kept, said):
    before = (folder / kept).read_bytes()
    assert main(command.split()) == 2
    message = capsys.readouterr().err
    assert any(part in message for part in said.split("|")), message
    assert message.count("\n") == 1, "one sentence"
    assert (folder / kept).read_bytes() == before
    assert not list(folder.glob(".tacit-*")), "nothing is left behind"


@pytest.mark.parametrize("command", ["audit tacit.toml --out -", "init clicks.csv --label clicked --out -"])
def test_a_page_and_a_plan_need_a_file(folder, capsys, command):
    assert main(command.split()) == 2
    assert "--out must name a file: standard output has the summary" in capsys.readouterr().err
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("init clicks.csv --label clicked --out plan.toml", "--force"),
        ("ledger export backup.json", "--force"),
        ("audit tacit.toml --fresh --out page.html", ""),
    ],
)
def test_its_own_kind_is_replaced(folder, first, again):
    assert main(first.split()) == 0
    assert main([*first.split(), *again.split()]) == 0


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release, and what is made of it."""
    folder = tmp_path_factory.mktemp("released")
    (folder / "clicks.csv").write_text("age,clicked\n" + "".join(f"{k % 7},{k % 2}\n" for k in range(60)))
    table = f"{folder}/clicks.csv"
    assert main(f"labels protect {table} --label clicked --epsilon 1 --out {folder}/r.parquet".split()) == 0
    return folder


@pytest.mark.parametrize(
    ("command", "foreign"),
    [
        ("labels learn r.parquet --data clicks.csv --out", "model.joblib"),
        ("labels attack r.parquet --data clicks.csv --out", "guesses.parquet"),
        ("split clicks.csv --label clicked --out parts", "parts/withheld.parquet"),
    ],
)
def test_force_replaces_only_what_the_same_command_made(released, monkeypatch, capsys, command, foreign):
    monkeypatch.chdir(released)
    path = released / foreign
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pyarrow.csv.read_csv("clicks.csv"), path)
    before = path.read_bytes()
    out = "" if foreign.startswith("parts/") else foreign
    assert main([*command.split(), *filter(None, [out]), "--force"]) == 2
    assert "and is not overwritten; choose another path" in capsys.readouterr().err
    assert path.read_bytes() == before
    path.unlink()
    for _ in range(2):
        assert main([*command.split(), *filter(None, [out]), "--force"]) == 0, capsys.readouterr().err
    assert path.read_bytes() != before


@pytest.mark.parametrize(
    "command",
    [
        f"{PROTECT} --out new.db",
        f"{PROTECT} --out ledger.db-journal",
        "features protect clicks.csv --label clicked --epsilon 1 --delta 1e-4 --ranges age=0,6 --out new.sqlite",
        "bags protect clicks.csv --label clicked --by age --min-size 2 --epsilon 1 --classes 0,1 --out new.db",
        "split clicks.csv --label clicked --out new.duckdb",
        "ledger export new.db",
        "init clicks.csv --label clicked --out new.db",
        "audit tacit.toml --out new.db",
    ],
)
def test_nothing_is_written_under_the_name_of_a_database(folder, capsys, command):
    assert main(command.split()) == 2
    assert "has the ending of a database" in capsys.readouterr().err
    assert not list(folder.glob("new.*")), "nothing is made"


def test_an_empty_file_is_replaced(folder):
    (folder / "page.html").touch()
    assert main(["audit", "tacit.toml", "--fresh", "--out", "page.html"]) == 0


BAGS = "--label clicked --by age --min-size 2 --epsilon 1 --classes 0,1"
CREATE = "ledger create c --table clicks.csv --column clicked --unit label"
TOTALS = "--label clicked --epsilon 1 --delta 1e-4 --ranges age=0,6 --force"


@pytest.fixture
def tables(folder):
    """The same table as two files of a folder, two parts of a Hive folder, and one file."""
    rows = pyarrow.csv.read_csv(folder / "clicks.csv")
    for name in ("in/a", "in/b", "hive/day=1/part", "hive/day=2/part", "one"):
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path)
    return folder


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("labels protect in/*.parquet --label clicked --epsilon 1 --out in/a.parquet --force", "in/a.parquet"),
        ("labels protect in --label clicked --epsilon 1 --out in/b.parquet --force", "in/b.parquet"),
        (
            "labels protect hive --label clicked --epsilon 1 --out hive/day=2/part.parquet --force",
            "hive/day=2/part.parquet",
        ),
        (f"features protect in/*.parquet {TOTALS} --out in/b.parquet", "in/b.parquet"),
        ("init in/*.parquet --label clicked --out in/a.parquet --force", "in/a.parquet"),
        ("init clicks.csv --label clicked --public tacit.toml --out tacit.toml --force", "tacit.toml"),
    ],
)
def test_no_file_of_a_pattern_or_a_folder_is_replaced(tables, capsys, command, kept):
    before = (tables / kept).read_bytes()
    assert main(command.split()) == 2
    assert "is an input file" in capsys.readouterr().err
    assert (tables / kept).read_bytes() == before


def test_the_file_behind_standard_input_is_not_replaced(tables, capsys):
    before = (tables / "one.parquet").read_bytes()
    command = "labels protect - --label clicked --epsilon 1 --force --out"
    saved = os.dup(0)
    try:
        with (tables / "one.parquet").open("rb") as table:
            os.dup2(table.fileno(), 0)
        assert main([*command.split(), "one.parquet"]) == 2
    finally:
        os.dup2(saved, 0)
        os.close(saved)
    assert "is an input file" in capsys.readouterr().err
    assert (tables / "one.parquet").read_bytes() == before


def test_nothing_is_written_into_the_store_or_over_it(tables, capsys):
    assert main([*CREATE.split(), "--epsilon", "5"]) == 0
    pay = "--ledger ledger.db --label clicked --epsilon 1 --classes 0,1"
    assert main(f"labels protect clicks.csv {pay} --out first.parquet".split()) == 0
    (kept,) = (tables / "ledger.db.releases").glob("*.parquet")
    before = kept.read_bytes()
    capsys.readouterr()
    for out in (f"ledger.db.releases/{kept.name}", "ledger.db.releases/new.parquet"):
        assert main(f"labels protect clicks.csv {pay} --again --out {out} --force".split()) == 2
        assert "is in" in (said := capsys.readouterr().err), said
        assert "the store of paid releases" in said
    assert [path.read_bytes() for path in (tables / "ledger.db.releases").glob("*.parquet")] == [before]


def _beside_a_foreign_manifest(folder):
    (folder / "manifest.json").write_text('{"name": "my extension"}')


def _beside_a_release(folder):
    for path in (folder.parent / "made.bags").iterdir():
        path.rename(folder / path.name)


@pytest.mark.parametrize("manifest", [_beside_a_foreign_manifest, _beside_a_release])
def test_a_folder_that_holds_more_than_a_release_is_kept(folder, capsys, manifest):
    (folder / "all").mkdir()
    assert main(f"bags protect clicks.csv {BAGS} --out made.bags".split()) == 0
    manifest(folder / "all")
    for name in ("clicks.csv", "ledger.db", "notes.txt"):
        (folder / name).rename(folder / "all" / name)
    before = sorted(os.listdir(folder / "all"))
    for table in ("all/clicks.csv", "bundled:iris"):
        assert main(f"bags protect {table} {BAGS} --out all --force".split()) == 2
        said = capsys.readouterr().err
        assert "all is not exactly a release and is not overwritten" in said or "an input file" in said
    assert sorted(os.listdir(folder / "all")) == before


def test_a_member_of_a_release_that_is_read_is_not_replaced_with_it(folder, capsys):
    assert main(f"bags protect clicks.csv {BAGS} --out made.bags".split()) == 0
    (member,) = (folder / "made.bags").glob("*.parquet")
    before = member.read_bytes()
    assert main(f"bags protect {member} {BAGS} --out made.bags --force".split()) == 2
    assert "an input file, which would be lost" in capsys.readouterr().err
    assert member.read_bytes() == before
    assert main(f"bags protect clicks.csv {BAGS} --out made.bags --force".split()) == 0
