"""The commands of the documentation's first page, one after the other."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from tacit.audit import read_plan
from tacit.cli import main
from tacit.privacy.ledger import Ledger

PAGE = Path(__file__).parents[2] / "docs/index.md"


def test_the_commands_of_the_first_page_run_in_order(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    age, pulse = rng.integers(20, 90, 400), rng.integers(50, 110, 400)
    ill = np.where(rng.normal(55, 15, 400) < age, "yes", "no")
    lines = [f"{a},{p},{word}" for a, p, word in zip(age, pulse, ill, strict=True)]
    (tmp_path / "visits.csv").write_text("\n".join(["age,pulse,ill", *lines, ""]))
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    first, *commands, last = text[text.index("## From your own table") :].split("```")[1].strip().splitlines()
    monkeypatch.setenv(*first.removeprefix("export ").split("="))
    for command in commands:
        with pytest.raises(SystemExit) as end:
            main(shlex.split(command)[1:])
        assert end.value.code in (0, None), (command, capsys.readouterr().err)
    assert last == "tacit audit tacit.toml"
    assert read_plan("tacit.toml").surfaces == ("labels", "bags", "features", "scores", "models")
    ledger = Ledger.open("ledger.db")
    assert ledger.statement("visits").left == 2.0, "learning from a release is free"
    assert 1.9 < ledger.statement("records").left < 2.0, "a filter spares a little for what is chosen after looking"
