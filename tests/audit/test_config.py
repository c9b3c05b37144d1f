import re

import pytest

from tacit.audit import read_plan
from tacit.privacy import InvalidInput

GOOD = """\
[data]
file = "clicks.csv"
label = "clicked"

[audit]
epsilons = [0.5, 2]
delta = 1e-5

[fail]
leak = 0.05

[[labels]]
epsilon = 1.0

[[bags]]
by = [["site"]]
min_size = 2

[[bags]]
by = [["site"]]
epsilon = 2

[[scores]]
decimals = 5
submissions = 100
"""


@pytest.fixture
def write(tmp_path):
    rows = "".join(f"{k % 3},{k % 5},{'yes' if k % 4 else 'no'}\n" for k in range(40))
    (tmp_path / "clicks.csv").write_text("site,age,clicked\n" + rows)

    def put(text):
        path = tmp_path / "tacit.toml"
        path.write_text(text)
        return path

    return put


def test_a_plan_is_read(write):
    plan = read_plan(write(GOOD))
    assert [step.release.describe() for step in plan.steps] == [
        "randomized response, epsilon 1",
        "totals by site, at least 2 rows, exact",
        "totals by site, epsilon 2",
        "log loss to 5 decimals, 100 submissions",
    ]
    assert (plan.epsilons, plan.delta, plan.limits.leak) == ((0.5, 2), 1e-5, 0.05)
    assert plan.steps[0].source.features == ("site", "age")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[labels]]\nepsilon = 1.0", "[[labels]]\nepsilon = -1", "line 13, labels.epsilon: epsilon must be a finite"),
        ("[[labels]]\nepsilon = 1.0", "[[labels]]", "line 12, labels: "),
        ("[[labels]]\nepsilon = 1.0", "[[labels]]\nepsilon = 1\nrounds = 2", "line 14, labels.rounds: unknown"),
        ("[[labels]]", "[[moons]]", "line 12, moons: unknown; a table is one of"),
        ("[[labels]]", "[labels]", r"line 12, labels: a release is written \[\[labels\]\]"),
        ("epsilon = 2", "epsilon = 0", "line 21, bags.epsilon: "),
        ('by = [["site"]]\nepsilon = 2', 'by = [["sity"]]', "line 20, bags.by: column 'sity'"),
        ("decimals = 5", "decimals = 5\nepsilon = 1", "line 24, scores.decimals: decimals and epsilon contradict"),
        ("clicks.csv", "cliks.csv", "line 1, data: .*cliks.csv"),
        ('label = "clicked"', 'label = "clickd"', "line 1, data: column 'clickd' is not in clicks.csv"),
        ('label = "clicked"', "", "line 1, data: label must name the private column"),
        ('file = "clicks.csv"', 'file = "clicks.csv"\nbundled = "titanic"', "line 1, data: there must be either"),
        ('file = "clicks.csv"', "file = 3", "line 2, data.file: must be a str, got 3"),
        ("leak = 0.05", "leak = 5", "line 9, fail: leak must be a share"),
        ("leak = 0.05", "lek = 0.05", "line 10, fail.lek: unknown; fail has leak, epsilon"),
        ("delta = 1e-5", "delta = 2", "line 5, audit: delta"),
        ("[data]", "[data", "is not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_key(write, old, new, said):
    assert old in GOOD
    with pytest.raises(InvalidInput, match=said) as refused:
        read_plan(write(GOOD.replace(old, new, 1)))
    assert str(refused.value).startswith("tacit.toml")
    assert "\n" not in str(refused.value)


def test_a_plan_without_a_release_is_refused(write):
    with pytest.raises(InvalidInput, match="plans no release"):
        read_plan(write(re.sub(r"\[\[labels.*", "", GOOD, flags=re.S)))


def test_a_missing_plan_says_how_to_make_one(tmp_path):
    with pytest.raises(InvalidInput, match="tacit init writes one"):
        read_plan(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "clicks.csv is empty"),
        ("site,clicked\n", "clicks.csv has no rows"),
        ("site,clicked\n" + "1,0\n2,1\n" * 9, "20 rows or more to be audited, got 18"),
        ("site,clicked\n" + "1,yes\n2,yes\n" * 20, "classes must be at least two"),
        ("site,clicked\n" + "".join(f"1,c{k}\n" for k in range(101)), "'clicked' has 101 labels, more than 100"),
        ("site,clicked\n" + "".join(f"n{k},{k % 2}\n" for k in range(1001)), "column 'site' has 1001 values"),
        ("site,clicked\n" + "1,0\n2,1\n" * 20 + "inf,0\n", "column 'site' must hold finite numbers"),
        ("site,clicked\n" + "1,\n2,1\n" * 20, "a label in every row, 20 have none"),
        ("clicked\n" + "1\n0\n" * 20, "must have a column beside the label"),
    ],
)
def test_a_table_that_cannot_be_audited_is_refused_before_anything_runs(tmp_path, rows, said):
    (tmp_path / "clicks.csv").write_text(rows)
    (tmp_path / "tacit.toml").write_text(re.sub(r"\[\[bags.*", "", GOOD, flags=re.S))
    with pytest.raises(InvalidInput, match=said) as refused:
        read_plan(tmp_path / "tacit.toml")
    assert str(refused.value).startswith("tacit.toml, line 1, data: ")
    assert "\n" not in str(refused.value)


def test_missing_numbers_are_filled_without_a_word(tmp_path, recwarn):
    (tmp_path / "clicks.csv").write_text("site,age,clicked\n" + ",,no\n,3,yes\n" * 20)
    (tmp_path / "tacit.toml").write_text(re.sub(r"\[\[bags.*", "", GOOD, flags=re.S))
    X = read_plan(tmp_path / "tacit.toml").steps[0].source.X
    assert (X[:, -1] == 3).all()
    assert not [warning for warning in recwarn if warning.category is RuntimeWarning]
