"""Plans that were written to hurt: each ends in one short sentence and exit code 2, before anything long begins."""

import time

import pytest

from tacit.cli import main

ROWS = "".join(f"{20 + i},{i % 3},{'yes' if i % 3 else 'no'},{i % 7}\n" for i in range(60))
DATA = '[data]\nfile = "t.csv"\nlabel = "ill"\n'
HUGE = 10**12
FEATURES = '[[features]]\nepsilon = 1\ndelta = 1e-7\nfeatures = ["age"]\n'
MODELS = '[[models]]\nepsilon = 1\ndelta = 1e-7\nfeatures = ["age"]\nranges."*" = [0, 100]\n'
NUMBERS = ", ".join(map(str, range(100_000)))
WORDS = ", ".join(f'"{number}"' for number in range(100_000))
DEEP = ".".join(["a"] * 20_000)

PLANS = {
    "nested lists": (f"{DATA}x = {'[' * 5000}{']' * 5000}\n", "brackets are nested too deeply"),
    "nested tables": (f"{DATA}x = {'{a = ' * 5000}1{'}' * 5000}\n", "brackets are nested too deeply"),
    "deep key": (f"{DATA}{DEEP} = 1\n", "line 4: a key must have fewer than 10 parts between dots"),
    "deep head": (f"{DATA}[[{DEEP}]]\nx = 1\n", "line 4: a key must have fewer than 10 parts between dots"),
    "quoted deep key": (f"""{DATA}{'"a". ' * 500}'b' = 1\n""", "line 4: a key must have fewer than 10 parts"),
    "megabytes": (f"{DATA}note = '{'x' * 5_000_000}'\n", "must be a plan of at most 1,000,000 bytes"),
    "long name": (
        f"[data]\nfile = 't.csv'\nlabel = '{'x' * 900_000}'\n[[labels]]\nepsilon = 1\n",
        "label names no column",
    ),
    "many digits": (f"{DATA}rows = {'9' * 9000}\n", "Exceeds the limit (4300 digits)"),
    "many releases": (DATA + "[[labels]]\nepsilon=1\n" * 20_000, "must plan at most 100 releases, got 20,000"),
    "many epsilons": (f"{DATA}[audit]\nepsilons = [{NUMBERS}]\n[[labels]]\nepsilon = 1\n", "at most 100 numbers"),
    "no number": (f"{DATA}[[labels]]\nepsilon = nan\n", "line 5, labels.epsilon: epsilon must be a finite number"),
    "infinity": (f"{DATA}[[labels]]\nepsilon = -inf\n", "line 5, labels.epsilon: epsilon must be a finite number"),
    "no delta": (f"{DATA}[audit]\ndelta = nan\n[[labels]]\nepsilon = 1\n", "delta must be in [0, 1), got nan"),
    "no limit": (
        f"{DATA}[limits]\nodds = nan\n[[labels]]\nepsilon = 1\n",
        "odds must be a finite number above 1, such as 10, got nan",
    ),
    "no rows": (f"{DATA}rows = nan\n[[labels]]\nepsilon = 1\n", "rows must be an integer, got nan"),
    "classes": (f"{DATA}[[labels]]\nepsilon = 1\nclasses = [{WORDS}]\n", "classes, and at most 10,000"),
    "values": (f"{DATA}[[labels]]\nepsilon = 1\nmechanism = 'bins'\nvalues = [{NUMBERS}]\n", "order and at most 2,001"),
    "stages": (
        f"{DATA}[[labels]]\nepsilon = 1\nmechanism = 'staged:stages={HUGE}'\n",
        "stages must be an integer >= 2",
    ),
    "edges": (f"{DATA}[[bags]]\nepsilon = 1\nby = [['age']]\nedges.age = [{NUMBERS}]\n", "with at most 10,000 numbers"),
    "bags": (f"{DATA}[[bags]]\nepsilon = 'none'\nmechanism = 'random:size=3,bags={HUGE}'\n", "at most 10,000,000"),
    "joins": (f"{DATA}[[bags]]\nepsilon = 1\nmechanism = 'random:size=3,bags=9,joins={HUGE}'\n", "at most 10,000,000"),
    "size": (
        f"{DATA}[[bags]]\nepsilon = 'none'\nmechanism = 'random:size={HUGE},bags=9'\n",
        "size must be at most 30",
    ),
    "least bag": (f"{DATA}[[bags]]\nepsilon = 1\nby = [['city']]\nmin_size = {HUGE}\n", "no bag would have"),
    "range": (
        f"{DATA}[[bags]]\nepsilon = 1\nby = [['city']]\ntotals = 'squared'\nlower = -1e308\nupper = 1e308\n",
        "lower must be a finite number of at most 1e+150 in size",
    ),
    "categories": (f"{DATA}{FEATURES}categories.age = [{WORDS}]\n", "with different words, at most 10,000"),
    "columns": (f"{DATA}{FEATURES}ranges.age = [0, 9]\nselect = {HUGE}\n", "select must be at most the number"),
    "cuts": (
        f"{DATA}{MODELS}cuts = [{NUMBERS}]\n",
        "cuts must be finite numbers in ascending order, fewer than 10,000",
    ),
    "width": (
        f"{DATA}{MODELS}mechanism = 'dp_sgd:width={HUGE}'\n",
        "width must be an integer >= 1 and at most 100,000",
    ),
    "epochs": (f"{DATA}{MODELS}mechanism = 'dp_sgd:epochs={HUGE}'\n", "epochs must be > 0 and at most 1e+06"),
    "steps": (f"{DATA}[[models]]\nepsilon = 'none'\nmechanism = 'margin:steps={HUGE}'\n", "at most 10,000,000"),
}


@pytest.mark.parametrize(("text", "said"), PLANS.values(), ids=PLANS)
def test_a_hostile_plan_ends_at_once_in_one_sentence(tmp_path, monkeypatch, capsys, text, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(f"age,city,ill,days\n{ROWS}")
    (tmp_path / "hostile.toml").write_text(text)
    started = time.process_time()
    with pytest.raises(SystemExit) as end:
        main(["audit", "hostile.toml", "--fresh"])
    assert time.process_time() - started < 10
    out, err = capsys.readouterr()
    assert (end.value.code, out, err.count("\n")) == (2, "", 1), err
    assert said in err
    assert len(err) < 1100
    assert sorted(file.name for file in tmp_path.iterdir()) == ["hostile.toml", "t.csv"]


def test_a_command_that_needs_too_much_memory_says_so(monkeypatch, capsys):
    def exhaust(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tacit.cli.options.check_source", exhaust)
    with pytest.raises(SystemExit) as end:
        main(["labels", "protect", "t.csv", "--label", "ill", "--epsilon", "1"])
    assert (end.value.code, capsys.readouterr().err.partition(";")[0]) == (2, "this needs more memory than there is")
