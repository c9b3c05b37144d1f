"""Whatever is given as --out: no input, ledger, plan or foreign file is replaced."""

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
    (tmp_path / "notes.html").write_text("<!doctype html><title>mine</title>")
    assert main(["ledger", "create"]) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("command", "kept", "said"),
    [
        ("init clicks.csv --label clicked --out clicks.csv --force", "clicks.csv", "is the file that is read"),
        ("init clicks.csv --label clicked --out notes.txt --force", "notes.txt", "is not a plan for tacit audit"),
        ("init clicks.csv --label clicked --out ledger.db --force", "ledger.db", "is a database, perhaps a ledger"),
        ("ledger export ledger.db --ledger ledger.db --force", "ledger.db", "is the file that is read"),
        ("ledger export tacit.toml --force", "tacit.toml", "is not an export of a ledger"),
        ("audit tacit.toml --out ledger.db", "ledger.db", "is a database, perhaps a ledger"),
        ("audit tacit.toml --out tacit.toml", "tacit.toml", "is not overwritten|which would be lost"),
        ("audit tacit.toml --out notes.html", "notes.html", "is not a page of tacit audit"),
        ("audit --out notes.txt", "notes.txt", "is not a page of tacit audit"),
        ("labels protect clicks.csv --label clicked --epsilon 1 --out ledger.db --force", "ledger.db", "is a database"),
        (
            "labels protect clicks.csv --label clicked --epsilon 1 --out clicks.csv --force",
            "clicks.csv",
            "that is read",
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


def test_an_empty_file_is_replaced(folder):
    (folder / "page.html").touch()
    assert main(["audit", "tacit.toml", "--fresh", "--out", "page.html"]) == 0
