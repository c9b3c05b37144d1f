"""Figure 1 of the retraining paper, drawn again from a few training sets."""

import re

from papers.label_retraining import figure1


def test_it_draws_and_prints_four_pairs(tmp_path, capsys):
    assert figure1.main(["--quick", "--out", str(tmp_path)]) == 0
    pairs = re.findall(r"(\d\d\.\d)% -> (\d\d\.\d)% \(sd", capsys.readouterr().out)
    assert [float(after) > float(before) for before, after in pairs] == [True, True, True, False]
    assert (tmp_path / "labels_figure1_quick.svg").read_text(encoding="utf-8").startswith("<?xml")
