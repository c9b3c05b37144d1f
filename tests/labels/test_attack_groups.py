"""Rows of one person: the attack combines their labels, the audit refuses them, a bound on rows per person helps."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.cli import main
from tacit.labels import Plan, attack, protect
from tacit.labels.attacks.groups import keys_of, with_groups
from tacit.labels.attacks.guess import guess_labels


def visits(rng, *, persons=300, each=10, same=True):
    """Visits of persons, in random order; each person's label is the same, or each visit's is drawn by itself."""
    person = rng.permutation(np.repeat(rng.permutation(10 * persons)[:persons], each))
    ill = (rng.random(10 * persons) < 0.3)[person] if same else rng.random(len(person)) < 0.3
    return pa.table({"who": person, "ill": np.where(ill, "yes", "no")})


def test_the_labels_of_one_persons_rows_reveal_each_other():
    rng = np.random.default_rng(0)
    table = visits(rng)
    leak = attack(protect(table, Plan(label="ill", epsilon=1.0), rng=rng), data=table, truth=table, rng=rng)
    assert leak.facts["same_value_of"] == "who"
    assert leak.changes[0].odds_interval.low > 10 > np.e
    assert any("--person" in note for note in leak.notes)
    table = visits(rng, persons=1000)
    alone = attack(protect(table, Plan(label="ill", epsilon=1.0, person="who"), rng=rng), truth=table, rng=rng)
    assert "same_value_of" not in alone.facts
    assert alone.changes[0].odds_interval.high < 10


def test_rows_that_share_a_value_by_chance_are_not_said_to_share_labels():
    rng, found = np.random.default_rng(1), 0
    for _ in range(40):
        table = visits(rng, persons=100, same=False).append_column("room", pa.array(rng.integers(0, 300, 1000)))
        release = protect(table, Plan(label="ill", epsilon=1.0), rng=rng)
        keys = keys_of(table.drop_columns("ill"))
        assert {"who", "room"} <= {*keys}
        guesses = guess_labels(release)
        found += with_groups(release.evidence, guesses.prior, keys) is not None
    assert found <= 1


@pytest.mark.parametrize(("same", "exit_code"), [(True, 1), (False, 0)])
def test_the_audit_refuses_rows_that_reveal_each_other(tmp_path, monkeypatch, capsys, same, exit_code):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(visits(np.random.default_rng(2), same=same), "visits.csv")
    (tmp_path / "tacit.toml").write_text(
        '[data]\nfile = "visits.csv"\nlabel = "ill"\n[audit]\nepsilons = []\n[[labels]]\nepsilon = 1.5\n'
    )
    with pytest.raises(SystemExit) as ended:
        main(["audit", "tacit.toml", "--seed", "0", "--fresh", "--json", "--fail-above", "odds=10"])
    assert (ended.value.code or 0) == exit_code
    found = json.loads(capsys.readouterr().out)["findings"][0]
    assert found["answer"] == ("no" if same else "yes")
    assert ("person" in found["remedy"]) == same
