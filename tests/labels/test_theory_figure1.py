"""The example that draws Figure 1."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "labels_figure1.py"


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *map(str, arguments)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")


def test_it_draws_and_prints_four_pairs(monkeypatch, tmp_path, capsys):
    picture = tmp_path / "figure1.svg"
    run(monkeypatch, "--quick", "--out", picture)
    printed = capsys.readouterr().out
    pairs = re.findall(r"(\d\d\.\d)% -> (\d\d\.\d)% \(sd", printed)
    assert len(pairs) == 4
    assert [float(after) > float(before) for before, after in pairs] == [True, True, True, False]
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    with pytest.raises(SystemExit) as refused:
        run(monkeypatch, "--quick", "--out", picture)
    assert refused.value.code == 2
    assert "exists already" in capsys.readouterr().err


def test_it_refuses_other_formats(monkeypatch, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "--out", tmp_path / "figure1.bmp")
    assert "must end in .svg or .png" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
