"""The example of the surface runs and prints what its text says."""

import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "features.py"


def test_rows_need_a_large_epsilon_and_totals_do_not(capsys):
    runpy.run_path(str(EXAMPLE))["main"]()
    lines = capsys.readouterr().out.splitlines()[1:]
    accuracy = {line[:22].strip(): float(line[22:31].strip().rstrip("%")) for line in lines}
    assert accuracy["totals, epsilon 1"] > 50 > accuracy["rows, epsilon 1"]
    assert abs(accuracy["36 bands in clear"] - accuracy["totals, epsilon 4"]) < 15
