"""Odd values for every option of every command: whatever is typed, a command works or says why it does not.

TACIT_ODD_VALUES=50 TACIT_ODD_SEED=1 tries fifty values per option, another sample of them for each seed.
"""

import io
import os
import random
import sys

import pytest

from tacit.cli import main
from tacit.cli.app import AREAS, load_area
from tacit.privacy.errors import InvalidInput

ROWS = "".join(f"{20 + i},{i % 3},{'yes' if i % 3 else 'no'},{i % 7}\n" for i in range(60))
PLAN = '[data]\nfile = "t.csv"\nlabel = "ill"\n\n[[labels]]\nepsilon = 1\n'
RANGES = "--label ill --epsilon 1 --delta 1e-6 --features age --ranges *=0,100"
COMMANDS = {
    "labels protect": "t.csv --label ill --epsilon 1 --seed 0",
    "bags protect": "t.csv --label ill --epsilon 1 --by city --seed 0",
    "features protect": f"t.csv {RANGES} --seed 0",
    "scores protect": "t.csv --label ill --epsilon 1 --seed 0",
    "models protect": "t.csv --label ill --epsilon none --mechanism plain --features age --seed 0",
    "labels learn": "made.labels --data t.csv",
    "bags learn": "made.bags --data t.csv",
    "features learn": "made.features",
    "scores learn": "made.scores",
    "models learn": "made.safetensors",
    "labels attack": "made.labels --truth t.csv",
    "bags attack": "made.bags --data t.csv --truth t.csv",
    "features attack": "made.features --truth t.csv",
    "scores attack": "made.scores --truth t.csv",
    "models attack": "made.safetensors --truth t.csv",
    "scores plan": "--rows 10",
    "scores join": "code --name team",
    "scores submit": "t.csv",
    "scores host create": "titanic --data t.csv --truth t.csv",
    "init": "t.csv --label ill",
    "audit": "plan.toml",
    "ledger create": "more --table t.csv --unit label --epsilon 1 --ledger ledger.db",
    "ledger budget": "visits --ledger ledger.db",
    "ledger charge": "visits --unit label --epsilon 0.001 --purpose odd --ledger ledger.db",
    "ledger show": "--ledger ledger.db",
    "ledger export": "export.json --ledger ledger.db",
}
ODD = [
    *[
        "",
        " ",
        "-",
        "--",
        ".",
        "..",
        "/",
        "~",
        "*",
        "%",
        "=",
        ":",
        ",",
        ",,",
        "a,b",
        "a=",
        "=a",
        "*=",
        "*=1",
        "*=1,2,3",
    ],
    *["none", "nan", "inf", "-inf", "-1", "0", "1e400", "1e-400", "9" * 40, "1" * 5000, "0x10", "1_0", "1,2", "½", "१"],
    *["rr:", "rr:x=1", "random:size=0,bags=0", "rounded:decimals=99", "laplace:epsilon=nan", ":a=b", "best:within=x"],
    *["lone\udcffsurrogate", "line\nbreak", "tab\there", "🙂", "'quoted\"", "{}", "[1]", "<b>", "$HOME"],
    *["t.csv", "plan.toml", "ledger.db", "made.labels", "made.bags", "t.csv/below", "folder"],
    *["file:///t.csv", "s3:", "postgresql://", "postgresql://127.0.0.1:1/x#t", "sqlite:///t.csv", "http://127.0.0.1:1"],
]


def leaves(command, words):
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
    for name, child in (below or {}).items():
        yield from leaves(child, f"{words} {name}")


def options():
    """Each option and argument of each command, as (command, option or None, position)."""
    for area in AREAS:
        for words, command in leaves(load_area(area), area):
            for param in command.params:
                if param.param_type_name == "option" and not getattr(param, "is_flag", False):
                    yield words, param.opts[0]
                elif param.param_type_name == "argument":
                    yield words, None


def command_line(words, option, value):
    given = COMMANDS.get(words, "").split()
    if option is None:
        return [*words.split(), value, *given[1:]]
    if option in given:
        place = given.index(option)
        given[place : place + 2] = []
    return [*words.split(), *given, f"{option}={value}"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    (folder / "folder").mkdir()
    (folder / "t.csv").write_text(f"age,city,ill,days\n{ROWS}")
    (folder / "plan.toml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for surface in ("labels", "bags", "features", "scores", "models"):
            out = "made.safetensors" if surface == "models" else f"made.{surface}"
            assert run([surface, "protect", *COMMANDS[f"{surface} protect"].split(), "--out", out]) == 0
        create = "ledger create visits --table t.csv --unit label --epsilon 9 --ledger ledger.db"
        assert run(create.split()) == 0
    return folder


def run(arguments):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code


def stop(*_, **__):
    raise InvalidInput("nothing is started here")


SEED, VALUES = (int(os.environ.get(f"TACIT_ODD_{name}", usual)) for name, usual in (("SEED", 0), ("VALUES", 1)))


@pytest.mark.parametrize(("words", "option"), [case for case in options() if case[0] != "serve"])
def test_a_command_works_or_says_why_it_does_not(folder, monkeypatch, capsys, words, option):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tacit.audit.run_audit", stop)
    rng = random.Random(f"{SEED} {words} {option}")
    for value in rng.sample(ODD, VALUES):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        arguments = command_line(words, option, value)
        code = run(arguments)
        out, err = capsys.readouterr()
        assert code in (0, 2), (arguments, code, err)
        assert code == 0 or (out, err.count("\n")) == ("", 1), (arguments, out, err)
