"""``tacit ledger``: what it prints, as text and as JSON, and what it refuses."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli.ledger import app
from tacit.privacy import BudgetExceeded, InvalidInput, LedgerError, UnitMismatch

CREATE = "create adult --table adult.csv --column income --unit label --epsilon 3 --delta 1e-6"
CHARGE = ["charge", "adult", "--unit", "label", "--purpose", "randomized response"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``tacit ledger`` in a folder with a table; an error that is meant for the user is raised."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_LEDGER", raising=False)
    (tmp_path / "adult.csv").write_text("age,income\n39,0\n50,1\n38,0\n53,1\n28,0\n")

    def run(arguments, **environment):
        arguments = arguments.split() if isinstance(arguments, str) else arguments
        result = CliRunner().invoke(app, arguments, env=environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


@pytest.fixture
def run_json(run):
    return lambda arguments, **environment: json.loads(run([*_split(arguments), "--json"], **environment))


def _split(arguments):
    return arguments.split() if isinstance(arguments, str) else arguments


def test_create_charge_show(run):
    assert run(CREATE) == (
        "The ledger ledger.db was created; it holds a secret.\nadult may spend epsilon 3, delta 1e-6 for one label.\n"
    )
    assert run([*CHARGE, "--epsilon", "1"]) == "entry adult/1: used 33.34% of the budget, epsilon 2 fits\n"
    shown = run("show")
    assert shown.startswith(
        "adult: used 33.34% of the budget, epsilon 2 fits; the budget is epsilon 3, delta 1e-6 for one label.\n"
    )
    for word in ("adult/1", "epsilon 1", "randomized"):
        assert word in shown


@pytest.mark.usefixtures("run")
def test_a_new_ledger_is_told_of_though_its_first_data_set_is_refused():
    result = CliRunner().invoke(app, f"{CREATE} --part a:0:9".split())
    assert isinstance(result.exception, InvalidInput)
    assert result.stdout == "The ledger ledger.db was created; it holds a secret.\n"


def test_the_same_as_json(run_json):
    created = run_json(CREATE)
    assert (created["ledger"], created["created"], created["data_set"]["left"]) == ("ledger.db", True, 3.0)
    receipt = run_json([*CHARGE, "--epsilon", "1"])
    assert (receipt["id"], receipt["spent"], receipt["left"], len(receipt["head"])) == ("adult/1", None, 2.0, 64)
    assert receipt["used"] == pytest.approx(1 / 3)
    (shown,) = run_json("show adult")["data_sets"]
    assert shown["entries"][0]["purpose"] == "randomized response"
    assert run_json("show")["data_sets"] == [shown]
    assert run_json("budget adult")["budget"] == {"unit": "label", "epsilon": 3.0, "delta": 1e-06, "rows": 1}
    assert run_json("export out.json") == {"path": "out.json", "secret": True, "data_sets": ["adult"]}


def test_a_ledger_alone(run, run_json):
    assert run("create") == "The ledger ledger.db was created; it holds a secret.\n"
    assert run("show") == "The ledger ledger.db has no data sets yet.\n"
    assert run_json("show") == {"ledger": "ledger.db", "data_sets": []}
    with pytest.raises(LedgerError, match=r"ledger\.db exists already"):
        run("create")
    assert run(CREATE).startswith("adult may spend")  # an existing ledger is added to


def test_the_ledger_may_be_named_by_option_and_environment(run, tmp_path):
    run("create --ledger one.db")
    run("create", TACIT_LEDGER=f"sqlite:///{tmp_path}/two.db")
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["one.db", "two.db"]
    assert "no data sets" in run("show", TACIT_LEDGER="two.db")
    with pytest.raises(LedgerError, match=r"there is no ledger at ledger\.db; create one with `tacit ledger create`"):
        run("show")


def test_parts(run, run_json):
    run(f"{CREATE} --part train:0:3 --part test:3:5")
    run([*CHARGE, "--epsilon", "1", "--part", "test"])
    parts = run_json("show")["data_sets"][0]["parts"]
    assert [(part["name"], part["rows"]) for part in parts] == [("train", [0, 3]), ("test", [3, 5])]
    assert [part["used"] for part in parts] == pytest.approx([0.0, 1 / 3])
    assert re.search(r"train\W+0 to 3\W+3\W+0%\W+3\W", run("show"))


def test_void(run, run_json):
    run(CREATE)
    run([*CHARGE, "--epsilon", "1"])
    voided = run(["charge", "--void", "adult/1", "--reason", "the job failed"])
    assert voided == "entry adult/2: used 0% of the budget, epsilon 3 fits\n"
    first, second = run_json("show")["data_sets"][0]["entries"]
    assert (first["voided_by"], second["voids"], second["purpose"]) == ("adult/2", "adult/1", "the job failed")
    assert "voided by" in run("show")


def test_budget_shows_and_changes(run, run_json):
    run(CREATE)
    run([*CHARGE, "--epsilon", "1"])
    assert run("budget adult").startswith("adult: used 33.34% of the budget, epsilon 2 fits;")
    assert run_json("budget adult --epsilon 4")["budget"]["delta"] == 1e-6
    assert run_json("budget adult --delta 0")["budget"]["epsilon"] == 4.0
    with pytest.raises(BudgetExceeded, match=r"cannot be lowered to epsilon 0\.5"):
        run("budget adult --epsilon 0.5")


def test_export_and_restore(run, run_json, tmp_path):
    run(CREATE)
    run([*CHARGE, "--epsilon", "1"])
    assert run("export backup.json") == "A backup with the secret: keep it like the ledger: backup.json\n"
    with pytest.raises(InvalidInput, match=r"backup\.json exists already"):
        run("export backup.json")
    run("export backup.json --force")
    assert run("create --ledger copy.db --restore backup.json") == (
        "The ledger copy.db was created from backup.json; it holds a secret.\n"
    )
    assert run_json("show --ledger copy.db")["data_sets"] == run_json("show")["data_sets"]
    assert run("export shared.json --no-secret").startswith("Without the secret")
    assert json.loads((tmp_path / "shared.json").read_text())["secret"] is None
    with pytest.raises(LedgerError, match=r"exists already"):
        run("create --restore backup.json")


def test_rows_of_one_person(run):
    run(f"{CREATE} --rows-per-person 2")
    with pytest.raises(UnitMismatch, match="persons of 2 rows"):
        run([*CHARGE, "--epsilon", "1"])
    assert run([*CHARGE, "--epsilon", "1", "--rows-per-person", "2"]).startswith("entry adult/1")


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ("create other --table adult.csv --column salary --unit label --epsilon 1", InvalidInput, "one of age, income"),
        (
            "create x --table adult.csv --column age --column age --unit label --epsilon 1",
            InvalidInput,
            "each column once",
        ),
        ("create other --table nowhere.csv --unit label --epsilon 1", InvalidInput, "nowhere.csv does not exist"),
        ("create other --table adult.csv --unit row --epsilon 1", InvalidInput, "unit must be one of"),
        ("create other --table adult.csv --unit label --epsilon -1", InvalidInput, "epsilon must be"),
        ("create other --table adult.csv --unit label", InvalidInput, "must have NAME, --table, --unit and --epsilon"),
        ("create --table adult.csv", InvalidInput, "must have NAME, --table, --unit and --epsilon"),
        ("create other --table adult.csv --unit label --epsilon 1 --part a:1", InvalidInput, "part must be"),
        ("create other --table adult.csv --unit label --epsilon 1 --part a:1:x", InvalidInput, "part must be"),
        ("create other --table adult.csv --unit label --epsilon 1 --part a:0:9", InvalidInput, "within the data's 5"),
        ("create other --table adult.csv --column income --unit label --epsilon 1", LedgerError, "known to the ledger"),
        ("charge adult --unit label --epsilon 4 --purpose x", BudgetExceeded, "nothing was charged"),
        ("charge adult --unit record --epsilon 1 --purpose x", UnitMismatch, "kept for one label"),
        ("charge adult --unit label --epsilon 1", InvalidInput, "must have NAME, --unit, --epsilon and --purpose"),
        ("charge adult --unit label --epsilon 1 --purpose x --reason y", InvalidInput, "--reason is for --void"),
        ("charge adult --unit label --epsilon 1 --purpose x --part train", InvalidInput, "got train"),
        ("charge nobody --unit label --epsilon 1 --purpose x", LedgerError, "knows no data set 'nobody'"),
        ("charge --void adult/1", InvalidInput, "--void requires --reason"),
        ("charge adult --void adult/1 --reason x", InvalidInput, "--void requires --reason"),
        ("charge --void adult/1 --part test --reason x", InvalidInput, "--void requires --reason, and excludes"),
        ("charge --void adult/1 --reason x", LedgerError, "has no charge adult/1"),
        ("budget nobody", LedgerError, "knows no data set"),
        ("show nobody", LedgerError, "knows no data set"),
        ("show --ledger adult.csv", LedgerError, "adult.csv is not a ledger"),
        ("show --ledger mysql://host/x", InvalidInput, "must be a file or a postgresql"),
        ("create --ledger new.db --restore adult.csv", LedgerError, "not an export"),
    ],
)
def test_what_is_refused_is_one_sentence(run, arguments, error, sentence):
    run(CREATE)
    before = run("show")
    with pytest.raises(error, match=re.escape(sentence)) as caught:
        run(arguments)
    assert "\n" not in str(caught.value)
    assert run("show") == before


@pytest.mark.parametrize("options", ["--epsilon 0", "--column income", "--part train"])
def test_options_of_a_data_set_are_not_ignored_without_one(run, tmp_path, options):
    with pytest.raises(InvalidInput, match="a data set must have NAME, --table, --unit and --epsilon"):
        run(f"create {options}")
    assert not (tmp_path / "ledger.db").exists()


def test_a_refused_data_set_makes_no_ledger(run, tmp_path):
    with pytest.raises(InvalidInput):
        run("create adult --table nowhere.csv --unit label --epsilon 1")
    assert not (tmp_path / "ledger.db").exists()


def test_the_documented_commands_print_what_the_page_says(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    page = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL)
    steps = [step for block in blocks for step in re.split(r"^\$ tacit ledger ", block, flags=re.MULTILINE)[1:]]
    assert len(steps) == 13
    for step in steps:
        command, _, expected = step.partition("\n")
        try:
            printed = run(shlex.split(command))
        except BudgetExceeded as error:
            printed = f"{error}\n"
        assert without_days(printed) == without_days(expected)


def without_days(text):
    return re.sub(r"\d{4}-\d\d-\d\d", "a day", text)


def test_every_option_has_a_help_text():
    from typer.main import get_command

    for command in get_command(app).commands.values():
        assert "Example: tacit ledger" in command.help
        assert all(option.help for option in command.params)


def test_what_fits_is_said_and_nothing_is_charged(run, run_json):
    run(CREATE)
    run([*CHARGE, "--epsilon", "1"])
    assert run("fits adult") == "adult: a charge of epsilon 2 fits.\n"
    assert run("fits adult --charges 4") == "adult: 4 charges of epsilon 0.5 each fit.\n"
    asked = run("fits adult --epsilon 0.5 --charges 4")
    assert asked == "adult: 4 charges of epsilon 0.5 each would bring it to 100%; 0.5 each fits.\n"
    assert "2 charges of epsilon 1.5 each would exceed the budget; 1 each fits" in run(
        "fits adult --epsilon 1.5 --charges 2"
    )
    assert run_json("fits adult --epsilon 2") == {
        "name": "adult",
        "charges": 1,
        "epsilon": 2.0,
        "used": 1.0,
        "used_reserved": 1.0,
        "largest": 2.0,
    }
    assert len(run_json("show adult")["data_sets"][0]["entries"]) == 1
    with pytest.raises(InvalidInput, match="charges must be an integer from 1"):
        run("fits adult --charges 0")


def test_releases_are_reserved_together_and_made_one_by_one(run, run_json):
    run(CREATE)
    each = run_json("fits adult --charges 500")["epsilon_reserved"]
    asked = run(f"fits adult --charges 500 --epsilon {each}")
    assert "would exceed the budget; 0.0" in asked
    assert "Reserved together, they would bring it to 100%." in asked
    assert "each fit. Reserved together, 0.02" in run("fits adult --charges 500")
    made = run_json(["reserve", "adult", "--epsilon", str(each), "--charges", "500", "--purpose", "a total every day"])
    assert made["id"] == "adult/1"
    used = run_json([*CHARGE, "--epsilon", "0.02", "--reserved", "adult/1"])
    assert (used["id"], used["used"]) == ("adult/2", made["used"])
    shown = run("show adult")
    assert "(reserves" in shown
    assert "(reserved" in shown
    assert [entry["reserves"] for entry in run_json("show adult")["data_sets"][0]["entries"]] == [500, 0]
    with pytest.raises(InvalidInput, match="--purpose and --reserved"):
        run("charge --void adult/2 --reason x --reserved adult/1")


def test_a_wish_becomes_an_epsilon(run, run_json):
    run(CREATE)
    assert run("needs --suspicion 0.004:0.1") == "Suspicion from 0.004 to at most 0.1: epsilon 3.32 or less.\n"
    told = run("needs adult --kept 0.9:3 --within 20 --suspicion 0.01:0.5")
    assert "0.9 of labels of 3 classes kept: epsilon 2.891 or more." in told
    assert "A count within 20 with probability 0.95: epsilon 0.1" in told
    assert told.endswith("adult: epsilon 3 is left for one more release.\n")
    assert run_json("needs adult --kept 0.99:3 --suspicion 0.01:0.02")["possible"] is False
    assert "Not all of this is possible" in run("needs adult --kept 0.99:3")
    with pytest.raises(InvalidInput, match=r"suspicion must be two numbers with a colon between, got '0\.1'"):
        run("needs --suspicion 0.1")
    with pytest.raises(InvalidInput, match="give --suspicion, --kept or --within"):
        run("needs adult")


def test_an_older_copy_does_not_verify_against_a_receipt(run, run_json, tmp_path):
    run(CREATE)
    run([*CHARGE, "--epsilon", "1"])
    older = (tmp_path / "ledger.db").read_bytes()
    (tmp_path / "receipt.json").write_text(json.dumps(run_json([*CHARGE, "--epsilon", "1"])))
    run("export shared.json --no-secret")
    assert run("verify") == "The ledger ledger.db is whole: 2 entries.\n"
    for file in ("receipt.json", "shared.json"):
        assert run(f"verify --against {file}") == f"The ledger ledger.db is whole: 2 entries, those of {file} too.\n"
    (tmp_path / "ledger.db").write_bytes(older)
    assert run_json("verify") == {"ledger": "ledger.db", "entries": 1, "against": None}
    for file in ("receipt.json", "shared.json"):
        with pytest.raises(LedgerError, match="no entry adult/2, which was accepted once: it is an older copy"):
            run(f"verify --against {file}")
    run([*CHARGE, "--epsilon", "0.5"])
    with pytest.raises(LedgerError, match="has another history up to adult/2"):
        run("verify --against receipt.json")
    for content in ("{}", "[]", "{", '{"head": 3}', '{"data_sets": [3]}'):
        (tmp_path / "bad.json").write_text(content)
        with pytest.raises(InvalidInput, match="against must be a receipt or an export"):
            run("verify --against bad.json")
    with pytest.raises(InvalidInput, match="against cannot be read: No such file"):
        run("verify --against nowhere.json")
