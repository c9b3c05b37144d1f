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

[limits]
odds = 10

[[labels]]
epsilon = 1.0

[[bags]]
by = [["site"]]
min_size = 2
epsilon = "none"

[[bags]]
by = [["site"]]
epsilon = 2

[[scores]]
epsilon = "none"
policy = { name = "rounded", decimals = 5 }
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
    assert [" ".join(step.plan.to_options()) for step in plan.steps] == [
        "--label clicked --epsilon 1",
        "--label clicked --epsilon none --by site --min-size 2",
        "--label clicked --epsilon 2 --by site",
        "--label clicked --epsilon none --policy rounded:decimals=5 --submissions 100",
    ]
    assert (plan.epsilons, plan.delta, plan.limits.odds) == ((0.5, 2), 1e-5, 10)
    assert plan.steps[0].source.features == ("site", "age")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # an impossible epsilon, or another number
        ("epsilon = 1.0", "epsilon = -1", "line 13, labels.epsilon: epsilon must be a finite number > 0, .* got -1"),
        ("epsilon = 1.0", "epsilon = nan", "line 13, labels.epsilon: epsilon must be a finite number > 0, .* got nan"),
        ("epsilon = 1.0", "epsilon = inf", "line 13, labels.epsilon: epsilon must be a finite number > 0, .* got inf"),
        ("epsilon = 2", "epsilon = 0", "line 22, bags.epsilon: epsilon must be"),
        ("[[labels]]\nepsilon = 1.0", "[[labels]]", "line 12, labels: epsilon must be given"),
        ("epsilons = [0.5, 2]", "epsilons = [0.5, -2]", "line 6, audit.epsilons: epsilon must be a finite number > 0"),
        ("delta = 1e-5", "per_day = 0", "line 7, audit.per_day: per_day must be an integer >= 1, got 0"),
        ("delta = 1e-5", "delta = 2", "line 7, audit.delta: delta must be"),
        ("delta = 1e-5", "delta = 0.5", "line 7, audit.delta: delta must be below 1/40, for 40 rows, got 0.5"),
        (
            "[[labels]]\nepsilon = 1.0",
            "[[models]]\nepsilon = 1\ndelta = 0.1",
            "line 14, models.delta: delta must be below 1/40",
        ),
        ("odds = 10", "odds = 1", "line 10, limits.odds: odds must be a finite number above 1"),
        ("odds = 10", "advantage = 5", "line 10, limits.advantage: advantage must be a share"),
        ("odds = 10", 'period = "2027"', "line 10, limits.period: period requires epsilon"),
        ("odds = 10", "epsilon = -1", "line 10, limits.epsilon: epsilon must be"),
        (
            "submissions = 100",
            "submissions = 0",
            "line 27, scores.submissions: submissions must be an integer from 1 to 1,000,000",
        ),
        # a wrong type
        ("epsilon = 1.0", 'epsilon = "one"', "line 13, labels.epsilon: epsilon must be .*, got 'one'"),
        ("epsilon = 1.0", "epsilon = true", "line 13, labels.epsilon: epsilon must be .*, got True"),
        ("decimals = 5", "decimals = 5.5", "line 26, scores.policy: .*decimals must be an integer"),
        ("submissions = 100", "submissions = 1.5", "line 27, scores.submissions: submissions must be an integer"),
        ('by = [["site"]]\nmin', "by = 3\nmin", "line 16, bags.by: by must be a list"),
        ('label = "clicked"', 'label = ["clicked"]', "line 3, data.label: label must be one word"),
        ("epsilons = [0.5, 2]", 'epsilons = ["a"]', "line 6, audit.epsilons: epsilons must be"),
        # an unknown surface, table or key, with the nearest right one
        (
            "[[labels]]",
            "[[planets]]",
            "line 12, planets: unknown; a table is one of data, audit, limits, ledger, labels",
        ),
        ("[[labels]]", "[[label]]", "line 12, label: unknown, perhaps labels; a table is one of"),
        ("epsilon = 1.0", "epsilom = 1", "line 13, labels.epsilom: unknown, perhaps epsilon; a release of labels has"),
        ("epsilon = 1.0", "epsilon = 1\nrounds = 2", "line 14, labels.rounds: unknown; a release of labels has label"),
        (
            "odds = 10",
            "ods = 10",
            "line 10, limits.ods: unknown, perhaps odds; limits has odds, advantage, epsilon, period",
        ),
        ('label = "clicked"', 'labels = "clicked"', "line 3, data.labels: unknown, perhaps label"),
        ("[[labels]]", "[labels]", r"line 12, labels: a release is written \[\[labels\]\]"),
        ('name = "rounded"', 'name = "roundd"', "line 26, scores.policy: policy must be one of .*rounded.*got"),
        # what is not there
        ("clicks.csv", "cliks.csv", "line 2, data.file: .*cliks.csv does not exist"),
        (
            'label = "clicked"',
            'label = "clickd"',
            "line 3, data.label: label names no column 'clickd'; did you mean 'clicked'",
        ),
        (
            'label = "clicked"',
            'label = "clicked"\nfeatures = ["agge"]',
            "line 4, data.features: features names no column 'agge'; did you mean 'age'",
        ),
        ('label = "clicked"', "", "line 1, data: label must name the private column"),
        (
            'by = [["site"]]\nepsilon = 2',
            'by = [["sity"]]\nepsilon = 2',
            r"line 21, bags.by: by must name columns of the table \(site, age, clicked\), got 'sity'",
        ),
        # contradictions
        ('epsilon = "none"\npolicy', "epsilon = 1\npolicy", "line 25, scores.epsilon: epsilon must be none with round"),
        ('file = "clicks.csv"', 'file = "clicks.csv"\nbundled = "iris"', "line 3, data.bundled: there must be either"),
        ('file = "clicks.csv"', 'bundled = "iris"', "line 3, data.label: contradicts bundled"),
        (
            'label = "clicked"',
            'label = "clicked"\nfeatures = ["clicked"]',
            "line 3, data.label: features must not name",
        ),
        ("min_size = 2", 'mechanism = "random:size=3,bags=9"', "line 16, bags.by: by .*random"),
        (
            "[[labels]]\nepsilon = 1.0",
            '[[features]]\nepsilon = 1\nselect = 2\nranges = { "*" = [0, 1] }',
            "line 12, features: delta must be > 0",
        ),
        (
            "[[labels]]\nepsilon = 1.0",
            '[[models]]\nmechanism = "plain"\nepsilon = 1',
            "line 14, models.epsilon: epsilon must be none",
        ),
        # no TOML
        ("[data]", "[data", "line 1: this is not TOML"),
        ("epsilon = 1.0", "epsilon = 1.0\nepsilon = 2.0", "line 14, epsilon: this is not TOML: .*; a key may occur"),
        ("[limits]", "[audit]", "line 9, audit: this is not TOML: .*; a key may occur only once"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_key(write, old, new, said):
    assert old in GOOD
    with pytest.raises(InvalidInput, match=said) as refused:
        read_plan(write(GOOD.replace(old, new, 1)))
    assert str(refused.value).startswith("tacit.toml, line ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "tacit.toml is empty; tacit init writes one"),
        ("# only words\n\n", "tacit.toml is empty; tacit init writes one"),
        ("hello world", "tacit.toml, line 1: this is not TOML: Expected '=' after a key"),
        ("[[labels]]\nepsilon = 1\n", "tacit.toml, line 1, data: there must be either a file"),
        ("data = 3\n[[labels]]\nepsilon = 1\n", r"tacit.toml, line 1, data: must be a table, written \[data\]"),
    ],
)
def test_what_is_no_plan(write, text, said):
    with pytest.raises(InvalidInput, match=said):
        read_plan(write(text))


def test_bytes_are_no_plan(tmp_path):
    (tmp_path / "tacit.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match=r"tacit\.toml is not TOML"):
        read_plan(tmp_path / "tacit.toml")


def test_the_second_table_and_many_lines_have_their_own_numbers(write):
    spread = GOOD.replace('by = [["site"]]\nmin_size = 2', 'by = [\n  ["site"],\n  ["age"]\n]\nmin_size = 2')
    with pytest.raises(InvalidInput, match=r"line 25, bags\.epsilon"):
        read_plan(write(spread.replace("epsilon = 2", "epsilon = -2")))
    with pytest.raises(InvalidInput, match=r"line 20, bags\.min_size"):
        read_plan(write(spread.replace("min_size = 2", "min_size = 0")))


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
        ("site,clicked\n" + "1,yes\n2,yes\n" * 20, "has one value, .*, in all rows; a label has two or more"),
        ("site,clicked\n" + "".join(f"{k % 2},c{k}\n" for k in range(101)), "'clicked' has 101 labels, more than 100"),
        (
            "site,clicked\n" + "".join(f"n{k},{k % 2}\n" for k in range(1001)),
            r"Left out: site \(1,001 values",
        ),
        ("site,clicked\n" + "1,\n2,1\n" * 20, "column 'clicked' has one value, 1, in all rows"),
        ("clicked\n" + "1\n0\n" * 20, "must have a column beside the label"),
    ],
)
def test_a_table_that_cannot_be_audited_is_refused_before_anything_runs(tmp_path, rows, said):
    (tmp_path / "clicks.csv").write_text(rows)
    (tmp_path / "tacit.toml").write_text(re.sub(r"\[\[bags.*", "", GOOD, flags=re.S))
    with pytest.raises(InvalidInput, match=said) as refused:
        read_plan(tmp_path / "tacit.toml")
    assert re.match(r"tacit.toml, line [23], data.(file|label): ", str(refused.value))
    assert "\n" not in str(refused.value)


def test_missing_numbers_are_filled_without_a_word(tmp_path, recwarn):
    (tmp_path / "clicks.csv").write_text("site,age,clicked\n" + ",,no\n,3,yes\n" * 20)
    (tmp_path / "tacit.toml").write_text(re.sub(r"\[\[bags.*", "", GOOD, flags=re.S))
    X = read_plan(tmp_path / "tacit.toml").steps[0].source.X
    assert (X[:, 0] == 0).all()
    assert X[:, 1].sum() == 20, "age is missing"
    assert not [warning for warning in recwarn if warning.category is RuntimeWarning]
