"""Rows that two data sets share are told to the owner, and nobody else."""

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tacit.cli.ledger import app
from tacit.privacy import Guarantee, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.sketch import DataSetSketch, SketchedRows

BUDGET = Guarantee(unit=Unit.LABEL, epsilon=1.0)
SHARES = {2: None, 3: (0.985, 0.01, 0.005), 10: None}
RNG = np.random.default_rng(0)


def people(rows):
    return pa.table(
        {
            "age": RNG.integers(18, 90, rows),
            "zip": [str(v) for v in RNG.integers(0, 100_000, rows)],
            "pay": RNG.normal(size=rows),
            "ill": RNG.integers(0, 2, rows),
        }
    )


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """One with the same secret in every run, so that the same rows are sketched."""
    monkeypatch.setattr("secrets.token_bytes", bytes)
    return Ledger.create(tmp_path / "ledger.db")


@pytest.fixture(autouse=True)
def same_rows():
    """The same tables, whichever tests ran before."""
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state


@pytest.mark.parametrize("classes", SHARES)
def test_labels_in_a_row_are_found_in_other_data_sets(ledger, classes):
    labels = RNG.choice(classes, 3000, p=SHARES[classes])
    ledger.register(labels, name="first", budget=BUDGET)
    changed = labels.copy()
    changed[5] = (changed[5] + 1) % classes
    copies = {
        "changed": changed,
        "shorter": labels[:-1].astype(float),
        "longer": np.append(0, labels),
        "backward": labels[::-1],
        "recoded": [f"class {label}" for label in labels],
        "recoded and backward": [f"c{label}" for label in labels[::-1]],
        "half": labels[:1500],
    }
    for name, data in copies.items():
        ledger.register(data, name=name, budget=BUDGET)
        found = {overlap.data_set: overlap.share for overlap in ledger.overlaps(name)}
        assert found["first"] > 0.9
    ledger.register(RNG.choice(classes, 3000, p=SHARES[classes]), name="others", budget=BUDGET)
    assert ledger.overlaps("others") == []  # control


def test_rows_are_found_by_their_other_columns(ledger):
    table = people(4000)
    order = RNG.permutation(4000)
    copies = {
        "in another order": table.take(pa.array(order)),
        "a tenth": table.take(pa.array(order[:400])),
        "a hundredth": table.take(pa.array(order[:40])),
        "other labels": table.set_column(3, "ill", pa.array(RNG.permutation(4000))),
        "other names": table.set_column(1, "z", pa.array([float(z) for z in table["zip"].to_pylist()]))
        .select([2, 1, 0, 3])
        .take(pa.array(RNG.permutation(4000))),
        "half of both": pa.concat_tables([table.slice(0, 2000), people(2000)]),
    }
    ledger.register(table, name="first", budget=BUDGET, private=["ill"])
    for name, copy in copies.items():
        ledger.register(copy, name=name, budget=BUDGET, private=["ill"])
        (share,) = [overlap.share for overlap in ledger.overlaps(name) if overlap.data_set == "first"]
        assert abs(share - (0.5 if name == "half of both" else 1)) < 0.2
    ledger.register(people(4000), name="others", budget=BUDGET, private=["ill"])
    assert ledger.overlaps("others") == []


def test_batches_and_the_secret_make_the_sketch():
    table = people(1000)

    def sketch(size, secret=b"key"):
        passing = SketchedRows(secret, private=["ill"])
        passed = list(passing.pass_private(table.to_batches(max_chunksize=size)))
        assert passed[0].schema.names == ["ill"]
        return passing.sketch()

    assert sketch(1000) == sketch(7) == sketch(1) == DataSetSketch.of_row(sketch(7).to_columns())
    assert len(sketch(9).rows.marks) == 1000
    assert not sketch(9).rows.marks & sketch(9, b"other").rows.marks


def test_a_copy_is_registered_with_a_note_and_the_sketch_is_not_exported(tmp_path):
    import pyarrow.csv as csv

    table, place = people(300), tmp_path / "ledger.db"
    csv.write_csv(table, tmp_path / "a.csv")
    csv.write_csv(table.take(pa.array(RNG.permutation(300))), tmp_path / "b.csv")
    for name in ("a", "b"):
        words = ["create", name, "--table", str(tmp_path / f"{name}.csv"), "--column", "ill", "--unit"]
        made = CliRunner().invoke(app, [*words, "label", "--epsilon", "1", "--ledger", str(place)])
        assert made.exit_code == 0
    assert "Note: b shares rows with a: about 100% of the smaller of the two." in made.stderr
    Ledger.open(place).export(tmp_path / "export.json")
    document = json.loads((tmp_path / "export.json").read_text())
    assert not {"rows", "labels", "runs", "sketch"} & set(document["data_sets"][0]) - {"rows"}
    assert document["data_sets"][0]["rows"] == 1  # per person
