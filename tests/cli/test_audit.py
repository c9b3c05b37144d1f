import json

import pytest

from tacit.cli import main


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main(["audit", *arguments])
    return end.value.code


def test_summary_and_page(tmp_path, capsys):
    out = tmp_path / "report.html"
    assert run("--only", "scores", "--seed", "0", "--out", str(out)) == 0
    assert "all 2,201" in capsys.readouterr().out
    assert out.read_text().startswith("<!doctype html>")


def test_json_alone_on_stdout(tmp_path, capsys):
    assert run("--only", "scores", "--seed", "0", "--json", "--out", str(tmp_path / "report.html")) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 0


def test_unknown_surface(tmp_path, capsys):
    assert run("--only", "moon", "--out", str(tmp_path / "report.html")) == 2
    assert "only must name surfaces among" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
