"""On every surface: whatever dies between charge and release, nothing is paid twice and nothing paid is lost."""

import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, Ledger, Unit
from tacit.privacy.ledger import DataSetPart
from tacit.privacy.payment import Payment
from tests.killing import put_on_disk, run_and_kill, states_on_disk

PLANS = {
    "labels": {"epsilon": 1, "features": "age"},
    "bags": {"epsilon": 1, "by": [["city"]], "min_size": 1},
    "features": {
        "epsilon": 1,
        "delta": 1e-6,
        "features": "age,weight",
        "ranges": {"*": [0, 100]},
        "mechanism": "totals",
    },
    "scores": {"epsilon": 1, "metric": "accuracy"},
    "models": {"epsilon": 1, "features": "age,weight", "mechanism": "label_private"},
}
CASES = {surface: (surface, plan) for surface, plan in PLANS.items()} | {
    "dp_sgd": (
        "models",
        {
            "epsilon": 1,
            "delta": 1e-6,
            "features": "age,weight",
            "ranges": {"*": [0, 100]},
            "mechanism": "dp_sgd:epochs=1,width=2",
        },
    )
}


def make_table(rows):
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, rows)
    columns = {"age": rng.integers(20, 80, rows) + 10 * ill, "weight": rng.integers(50, 90, rows)}
    return pa.table({**columns, "city": rng.choice(["bonn", "ulm"], rows), "ill": np.array(["no", "yes"])[ill]})


@pytest.fixture(scope="module")
def table():
    return make_table(200)


def unit_of(surface):
    return Unit.RECORD if surface == "features" else Unit.LABEL


def predictions(surface, table):
    return table.select(["ill"]).rename_columns(["prediction"]) if surface == "scores" else None


def make_ledger(table, place, *, unit, parts=()):
    place.mkdir()
    ledger = Ledger.create(place / "ledger.db")
    budget = Guarantee(unit=unit, epsilon=1.0, delta=1e-5 if unit is Unit.RECORD else 0.0)
    ledger.register(table.select(["ill"]) if unit is Unit.LABEL else table, name="visits", budget=budget, parts=parts)


@pytest.fixture(params=list(CASES))
def asking(request, table, tmp_path):
    """A folder with a ledger, and a function that asks for a release with the ledger of a folder."""
    surface, fields = CASES[request.param]
    if request.param == "dp_sgd":
        pytest.importorskip("opacus")
    module = import_module(f"tacit.{surface}")
    plan = module.Plan(label="ill", **fields)

    def ask(place, name):
        payment = Payment(ledger=Ledger.open(place / "ledger.db"), dataset="visits")
        out = place / f"{name}{plan.suffix}"
        module.protect(table, plan, data=predictions(surface, table), out=out, payment=payment)
        return out

    make_ledger(table, tmp_path / "fresh", unit=Unit.RECORD if plan.delta else Unit.LABEL)
    ask(shutil.copytree(tmp_path / "fresh", tmp_path / "warm"), "out")  # imports happen here
    return tmp_path / "fresh", ask


def check_delivered(place, ask):
    """Ask again where something may have been paid for and even published: one charge, one release."""
    before = [path for path in place.iterdir() if path.name.startswith("out")]
    again = ask(place, "again")
    ledger = Ledger.open(place / "ledger.db")
    assert len([entry for entry in ledger.statement("visits").entries if entry.guarantee]) == 1
    for published in before:
        assert content(published) == content(again)


def test_whatever_a_kill_leaves_is_paid_once_and_delivered(asking, tmp_path):
    fresh, ask = asking
    place = shutil.copytree(fresh, tmp_path / "watched")
    states, statements = states_on_disk(lambda: ask(place, "out"), place)
    assert statements > 300, "control: the code that pays and delivers was watched"
    assert len(states) > 10, "control: and what it writes was seen"
    for number, state in enumerate(states):
        put_on_disk(state, tmp_path / f"{number}")
        check_delivered(tmp_path / f"{number}", ask)


def test_killed_in_the_middle_it_is_paid_once_and_delivered(asking, tmp_path):
    """Control: a process that is really killed."""
    fresh, ask = asking
    counted = shutil.copytree(fresh, tmp_path / "counted")
    _, statements = states_on_disk(lambda: ask(counted, "out"), tmp_path / "nothing")
    place = shutil.copytree(fresh, tmp_path / "killed")
    assert run_and_kill(lambda: ask(place, "out"), at=statements * 2 // 3)
    check_delivered(place, ask)


READS = {
    **PLANS,
    "bags": {"epsilon": 1, "by": [["city"], ["age"], ["city", "age"]], "min_size": 1},
    "features": {**PLANS["features"], "mechanism": "rows"},
}


@pytest.mark.parametrize(("rows", "kept", "person"), [(100, True, None), (3000, True, "who"), (3000, False, "who")])
@pytest.mark.parametrize("surface", list(READS))
def test_a_file_is_read_at_most_three_times(surface, rows, kept, person, tmp_path, monkeypatch):
    """Once for its types, and at most twice to be charged and released; what is opened and looked at counts too."""
    if not kept:  # as if it had more than 32 MB, beside which the look at its start is as little as here
        for what, value in {"csv_file._KEPT": -1, "csv_file._BUFFER": 1 << 16, "table.SAMPLE": 10}.items():
            monkeypatch.setattr(f"tacit.data.{what}", value)
    table = make_table(rows).append_column("note", pa.array(["x" * 600] * rows))
    for name, cells in {"who": map(str, range(rows)), "cost": [f"${one}.50" for one in range(rows)]}.items():
        table = table.append_column(name, pa.array(cells, pa.string()))
    module = import_module(f"tacit.{surface}")
    plan = module.Plan(label="ill", **READS[surface], person=person)
    pa.csv.write_csv(table, tmp_path / "visits.csv")
    read = []
    for name, source in (("first", table), ("memory", table), ("file", tmp_path / "visits.csv")):
        make_ledger(table, tmp_path / name, unit=unit_of(surface), parts=[DataSetPart(name="spring", rows=range(rows))])
        payment = Payment(ledger=Ledger.open(tmp_path / name / "ledger.db"), dataset="visits", parts=["spring"])
        out, before = tmp_path / name / f"out{plan.suffix}", bytes_read()
        module.protect(source, plan, data=predictions(surface, table), out=out, payment=payment)
        read.append(bytes_read() - before)  # the first time, imports read files too, and always a ledger does
    readings = (read[2] - read[1]) / (tmp_path / "visits.csv").stat().st_size
    assert 0.9 < readings < 3.2 - kept


MANY = {
    "labels": {"epsilon": 1},
    "bags": {"epsilon": 1, "by": [["city"]], "totals": "classes"},
    "features": PLANS["features"],
    "scores": {"epsilon": 1, "metric": "accuracy"},
    "models": {"epsilon": None, "features": "age,weight", "mechanism": "plain"},
}


@pytest.mark.parametrize("surface", list(MANY))
def test_more_classes_than_a_reader_takes_are_never_written_or_read(surface, tmp_path):
    module = import_module(f"tacit.{surface}")
    names = [f"c{number:05}" for number in range(10_001)]
    with pytest.raises(InvalidInput, match=r"classes must be a list of .* and at most 10,000"):
        module.Plan(label="ill", **MANY[surface], classes=names)
    table, plan = make_table(10_001), module.Plan(label="ill", **MANY[surface])
    many = table.set_column(3, "ill", pa.array(names))
    with pytest.raises(InvalidInput, match=r"label must name a column of at most 10?,000 "):
        module.protect(many, plan, data=predictions(surface, many))
    made = module.protect(make_table(200), plan, data=predictions(surface, make_table(200)))
    crowded = replace(made.header, settled={**made.settled, "classes": names * 6})
    replace(made, header=crowded).write(tmp_path / f"crowded{plan.suffix}")
    with pytest.raises(InvalidRelease, match=f"a release of {surface} must have at most 10,000 classes"):
        module.Release.read(tmp_path / f"crowded{plan.suffix}")
    odd = replace(made.header, settled={**made.settled, "classes": [["no"], {}]})
    replace(made, header=odd).write(tmp_path / f"odd{plan.suffix}")
    with pytest.raises(InvalidRelease, match="must have names or numbers as classes"):
        module.Release.read(tmp_path / f"odd{plan.suffix}")


def bytes_read():
    """What this process has read so far, from whatever file."""
    return int(Path("/proc/self/io").read_text().split()[1])


def content(path):
    """The bytes of a release, a file or a folder."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [file.read_bytes() for file in files]
