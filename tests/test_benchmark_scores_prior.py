"""The benchmark on the attacker's first beliefs runs, keeps what it has measured, and makes its table of that alone."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "server.md"
RESULTS = ROOT / "benchmarks" / "results" / "scores_prior.json"


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.scores_prior")


def test_a_run_goes_on_where_it_stopped_and_quick_numbers_stay_off_the_page(benchmark, tmp_path):
    out = tmp_path / "quick.json"
    benchmark.main(["--quick", "--out", str(out)])
    first = json.loads(out.read_text())
    kept, again = [f"coins, 400 rows/{policy}/0" for policy in ("3", "default")]
    assert set(first["cells"]) == {kept, again}
    measured = first["cells"].pop(again)
    first["cells"][kept]["rows"] = 7
    out.write_text(json.dumps(first))
    benchmark.main(["--quick", "--out", str(out)])
    second = json.loads(out.read_text())["cells"]
    assert second[kept]["rows"] == 7
    assert second[again] == measured, "the same draws again"
    with pytest.raises(SystemExit, match="quick"):
        benchmark.write_table(PAGE, out, name="scores_prior", make=benchmark.table)


def test_the_page_says_what_the_measurements_say(benchmark, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_bytes(PAGE.read_bytes())
    benchmark.write_table(copy, RESULTS, name="scores_prior", make=benchmark.table)
    assert copy.read_bytes() == PAGE.read_bytes(), "run python -m benchmarks.scores_prior --table"
    cells = json.loads(RESULTS.read_text())["cells"].values()
    places = sorted({(cell["set"], cell["policy"]) for cell in cells})
    gains = [
        np.array([c["tempered"] - c["forest"] for c in cells if (c["set"], c["policy"]) == place]) for place in places
    ]
    clear = [np.sign(gain.mean()) for gain in gains if abs(gain.mean()) > 2 * gain.std(ddof=1) / len(gain) ** 0.5]
    assert (len(gains), clear.count(1), clear.count(-1)) == (60, 17, 1)
    assert round(100 * min(gain.mean() for gain in gains), 1) == -0.2
