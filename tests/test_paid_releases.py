"""On every surface: whatever dies between charge and release, nothing is paid twice and nothing paid is lost."""

import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.data import load_table
from tacit.privacy import Guarantee, Ledger, Unit
from tacit.privacy.payment import Payment
from tests.killing import run_and_kill

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
SPREAD = 16  # kills over all statements, another spread on each surface
EVERY = pytest.param(None, marks=pytest.mark.slow, id="every statement")


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


def make_ledger(table, place, *, unit):
    place.mkdir()
    ledger = Ledger.create(place / "ledger.db")
    budget = Guarantee(unit=unit, epsilon=1.0, delta=1e-5 if unit is Unit.RECORD else 0.0)
    ledger.register(table.select(["ill"]) if unit is Unit.LABEL else table, name="visits", budget=budget)


@pytest.mark.parametrize("kills", [pytest.param(SPREAD, id="spread"), EVERY])
@pytest.mark.parametrize("surface", list(PLANS))
def test_killed_anywhere_it_is_paid_once_and_delivered(surface, kills, table, tmp_path):
    module = import_module(f"tacit.{surface}")
    plan = module.Plan(label="ill", **PLANS[surface])
    data = predictions(surface, table)

    def ask(place, name):
        payment = Payment(ledger=Ledger.open(place / "ledger.db"), dataset="visits")
        out = place / f"{name}{plan.suffix}"
        return module.protect(table, plan, data=data, out=out, payment=payment), out

    make_ledger(table, tmp_path / "fresh", unit=unit_of(surface))
    for name in ("whole", "counted"):
        shutil.copytree(tmp_path / "fresh", tmp_path / name)
    ask(tmp_path / "whole", "warm")  # imports happen here and not in a child
    statements = run_and_kill(lambda: ask(tmp_path / "counted", "out"))
    assert statements > 50, "control: the code that pays and delivers was watched"
    apart = statements // kills if kills else 1
    for at in range(1 + sum(map(ord, surface)) % apart, statements, apart):
        place = shutil.copytree(tmp_path / "fresh", tmp_path / str(at))
        assert run_and_kill(lambda place=place: ask(place, "out"), at=at) is None, "control: it was killed"
        before = [path for path in place.iterdir() if path.name.startswith("out")]
        _, again = ask(place, "again")
        ledger = Ledger.open(place / "ledger.db")
        assert len([entry for entry in ledger.statement("visits").entries if entry.guarantee]) == 1
        for published in before:
            assert content(published) == content(again)
        shutil.rmtree(place)


READS = {
    **PLANS,
    "bags": {"epsilon": 1, "by": [["city"], ["age"], ["city", "age"]], "min_size": 1},
    "features": {**PLANS["features"], "mechanism": "rows"},
}


@pytest.mark.parametrize("surface", list(READS))
def test_a_file_is_read_at_most_three_times(surface, tmp_path):
    """Opening it reads it once, for its types; what else there is to read takes two readings."""
    module = import_module(f"tacit.{surface}")
    plan = module.Plan(label="ill", **READS[surface])
    for rows in (100, 5000):  # imports read files too, the first time
        table = make_table(rows).append_column("note", pa.array(["x" * 400] * rows))
        place = tmp_path / str(rows)
        make_ledger(table, place, unit=unit_of(surface))
        pa.csv.write_csv(table, place / "visits.csv")
        payment = Payment(ledger=Ledger.open(place / "ledger.db"), dataset="visits")
        before = bytes_read()
        load_table(place / "visits.csv")
        opened = bytes_read()
        out = place / f"out{plan.suffix}"
        module.protect(place / "visits.csv", plan, data=predictions(surface, table), out=out, payment=payment)
        readings = (bytes_read() - opened - (opened - before)) / (place / "visits.csv").stat().st_size
    assert 0.9 < readings < 2.5


def bytes_read():
    """What this process has read so far, from whatever file."""
    return int(Path("/proc/self/io").read_text().split()[1])


def content(path):
    """The bytes of a release, a file or a folder."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [file.read_bytes() for file in files]
