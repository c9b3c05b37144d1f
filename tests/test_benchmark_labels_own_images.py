"""The benchmark on CIFAR-10's own images: a tiny run on made-up ones, and what the page says of the real one."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks import labels_own_images as benchmark

PAGE = Path(__file__).parents[1] / "docs" / "labels_images.md"


def test_it_measures_and_keeps_every_epsilon(tmp_path, capsys):
    out, kept = tmp_path / "out.json", tmp_path / "representation.pt"
    small = ["--made-up", "40", "--quick", "--width", "1", "--representation-epochs", "1", "--epochs", "0.5"]
    for epsilon in ("1", "inf"):
        files = ["--representation", str(kept), "--out", str(out), "--device", "cpu"]
        benchmark.main([*small, *files, "--epsilon", epsilon])
    assert "cifar10|inf|0: " in capsys.readouterr().out
    points = json.loads(out.read_text())["points"]
    assert set(points) == {"cifar10|1|0", "cifar10|inf|0"}
    for point in points.values():
        assert 0 <= point["accuracy"] <= 1
        assert point["renewals"]
        assert str(tmp_path) not in point["command"]
    assert points["cifar10|inf|0"]["released_right"] == 1
    assert points["cifar10|1|0"]["representation"] == points["cifar10|inf|0"]["representation"], "learned once"


def test_it_trains_for_as_long_as_it_may_and_starts_again_where_it_diverges(tmp_path, capsys, monkeypatch):
    files = ["--representation", str(tmp_path / "kept.pt"), "--out", str(tmp_path / "out.json"), "--device", "cpu"]
    small = ["--made-up", "40", "--quick", "--width", "1", "--representation-seconds", "0.5"]
    benchmark.main([*files, *small])
    assert not (tmp_path / "out.json").exists(), "the representation, no more"
    told, watch = [], benchmark._Watch.__call__

    def diverging(self, targets, opinions):
        told.append(targets)
        watch(self, targets, opinions)
        if len(told) == 1:
            raise benchmark.Diverged

    monkeypatch.setattr(benchmark._Watch, "__call__", diverging)
    benchmark.main(
        [*files, *small, "--seconds", "1", "--epsilon", "3", "--held", "5", "--weights", str(tmp_path / "w")]
    )
    assert "diverged; again at rate 0.1" in capsys.readouterr().out
    (point,) = json.loads((tmp_path / "out.json").read_text())["points"].values()
    assert point["settings"]["rate"] == pytest.approx(0.1)
    assert point["held_likelihood"] < 0
    assert (tmp_path / "w").exists()


def test_points_from_elsewhere_join_the_results(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "OUT", tmp_path / "all.json")
    for name in ("a", "b"):
        (tmp_path / name).write_text(json.dumps({"points": {name: {"accuracy": 0.5}}}))
    benchmark.main(["--merge", str(tmp_path / "a")])
    benchmark.main(["--merge", str(tmp_path / "b")])
    assert set(json.loads((tmp_path / "all.json").read_text())["points"]) == {"a", "b"}


def test_the_page_says_what_was_measured():
    points = json.loads(benchmark.OUT.read_text(encoding="utf-8"))["points"]
    for point in points.values():
        first, last = point["renewals"][0], point["renewals"][-1]
        shares = (point["released_right"], first["votes_right"], last["targets_right"], last["targets"])
        start = f"| {point['epsilon']:g} | {100 * point['accuracy']:.1f} ("
        (line,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(start))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[2:] == [f"{point['seconds']:.0f}", *(f"{100 * share:.1f}" for share in shares)]
