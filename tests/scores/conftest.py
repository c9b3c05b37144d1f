"""Labels and submissions as files, with a ledger that knows the labels."""

import json
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pytest

from tacit.cli.app import main
from tacit.privacy import Guarantee, Unit
from tacit.privacy.ledger import Ledger

ROWS = 600
WORDS = np.array(["no", "yes"])
KINDS = np.array(["ash", "elm", "oak"])
Said = namedtuple("Said", ["stdout", "stderr"])


def write_csv(path, **columns):
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture(scope="session")
def arrays():
    rng = np.random.default_rng(0)
    y, kind = rng.integers(0, 2, ROWS), rng.integers(0, 3, ROWS)
    good, poor = (np.clip(0.5 + s * (2 * y - 1) + rng.normal(0, 0.1, ROWS), 0.02, 0.98) for s in (0.3, 0.1))
    table = np.exp(2.0 * np.eye(3)[kind] + rng.normal(size=(ROWS, 3)))
    return {"y": y, "kind": kind, "good": good, "poor": poor, "table": table / table.sum(axis=1, keepdims=True)}


@pytest.fixture
def folder(tmp_path, monkeypatch, arrays):
    monkeypatch.chdir(tmp_path)
    y, good, poor, table = (arrays[name] for name in ("y", "good", "poor", "table"))
    order = np.random.default_rng(1).permutation(ROWS)
    write_csv(tmp_path / "truth.csv", ill=WORDS[y])
    write_csv(tmp_path / "named.csv", id=np.arange(ROWS), ill=WORDS[y])
    write_csv(tmp_path / "again.csv", id=np.arange(ROWS) // 2, ill=WORDS[y])
    write_csv(tmp_path / "kinds.csv", kind=KINDS[arrays["kind"]], x=y)
    write_csv(tmp_path / "numbers.csv", days=good)
    write_csv(tmp_path / "good.csv", p=good)
    write_csv(tmp_path / "poor.csv", p=poor)
    write_csv(tmp_path / "shuffled.csv", p=good[order], id=order)
    write_csv(tmp_path / "words.csv", guess=WORDS[(good > 0.5).astype(int)])
    write_csv(tmp_path / "poor_words.csv", guess=WORDS[(poor > 0.5).astype(int)])
    write_csv(tmp_path / "table.csv", **{str(j): table[:, j] for j in range(3)})
    write_csv(tmp_path / "by_name.csv", **{KINDS[j]: table[:, j] for j in (2, 0, 1)})
    write_csv(tmp_path / "out_of_order.csv", **{str(j): table[:, j] for j in (2, 0, 1)})
    write_csv(tmp_path / "short.csv", p=good[1:])
    write_csv(tmp_path / "percent.csv", p=100 * good)
    write_csv(tmp_path / "wide.csv", p=good, q=1 - good, r=good)
    write_csv(tmp_path / "twice.csv", id=np.arange(ROWS) // 2, p=good)
    write_csv(tmp_path / "others.csv", id=np.arange(ROWS) + 1, p=good)
    write_csv(tmp_path / "same.csv", ill=["no"] * ROWS)
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(WORDS[y], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.5))
    return tmp_path


@pytest.fixture
def run(folder):
    """Run ``tacit scores`` in the folder, and return what it prints."""

    def run(arguments, *, code=0):
        out, err = StringIO(), StringIO()
        with pytest.raises(SystemExit) as end, redirect_stdout(out), redirect_stderr(err):
            main(["scores", *arguments.split()])
        assert (end.value.code or 0) == code, err.getvalue()
        return Said(out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def run_json(run):
    return lambda arguments: json.loads(run(f"{arguments} --json").stdout)
