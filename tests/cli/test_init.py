"""tacit init: what it writes is read by tacit audit, and what it cannot know it asks for or names the flag of."""

import contextlib
import json
import sys
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.audit import read_plan
from tacit.audit.measure import measure
from tacit.audit.numeric_label import NumericLabel
from tacit.cli import main

pytestmark = pytest.mark.usefixtures("small_forests")


@pytest.fixture
def clicks(tmp_path):
    rng = np.random.default_rng(0)
    site, age = rng.integers(0, 3, 200), rng.integers(18, 70, 200)
    clicked = np.where(rng.random(200) < 0.2 + 0.3 * (site == 1), "yes", "no")
    lines = [f"u{k},{'abc'[s]},{a},{c}" for k, (s, a, c) in enumerate(zip(site, age, clicked, strict=True))]
    path = tmp_path / "clicks.csv"
    path.write_text("user,site,age,clicked\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def run(clicks, tmp_path):
    def call(*arguments, data=clicks, out=tmp_path / "tacit.toml"):
        with pytest.raises(SystemExit) as end:
            main(["init", str(data), "--out", str(out), *arguments])
        return end.value.code

    call.out = tmp_path / "tacit.toml"
    return call


def test_the_audit_reads_what_init_writes(run, tmp_path, capsys):
    assert run("--label", "clicked", "--surfaces", "labels,bags,features,scores", "--epsilon", "2") == 0
    assert "next: tacit audit" in capsys.readouterr().out
    quick = run.out.read_text().replace("[0.1, 0.3, 1, 3, 10]", "[]")
    run.out.write_text(quick)
    page = str(tmp_path / "page.html")
    with pytest.raises(SystemExit) as end:
        main(["audit", str(run.out), "--seed", "0", "--fresh", "--json", "--out", page])
    assert end.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert [finding["surface"] for finding in told["findings"]] == ["labels", "bags", "features", "scores"]
    assert told["totals"][0]["guarantee"]["epsilon"] <= 8.0


def test_every_surface_can_be_planned(run):
    assert run("--label", "clicked") == 0
    plan = read_plan(run.out)
    assert plan.surfaces == ("labels", "bags", "features", "scores", "models")
    assert plan.steps[0].source.features == ("site", "age"), "a name for every row tells nothing of others"


def test_no_bags_are_planned_by_a_column_of_rare_values(run, tmp_path, capsys):
    data = tmp_path / "rare.parquet"
    shared = [k % 3 for k in range(120)]
    pq.write_table(pa.table({"rare": [k % 9 for k in range(120)], "site": shared, "y": [0, 1] * 60}), data)
    assert run("--label", "y", "--surfaces", "bags", data=data) == 0
    plan = read_plan(run.out)
    assert plan.steps[0].plan.by == (("site",),)
    measure(plan.steps[0], seed=0, tell=lambda _: None)


def test_random_bags_are_planned_with_noise_where_no_column_makes_bags(run, tmp_path):
    data, rng = tmp_path / "two.parquet", np.random.default_rng(0)
    pq.write_table(pa.table({"weight": rng.normal(70, 9, 200), "y": [0, 1] * 100}), data)
    assert run("--label", "y", "--surfaces", "bags", data=data) == 0
    plan = read_plan(run.out)
    assert plan.steps[0].plan.epsilon == 1
    assert measure(plan.steps[0], seed=0, tell=lambda _: None).guarantee.epsilon == 1


def test_row_numbers_are_no_suggestion(run, tmp_path):
    data, rng = tmp_path / "rows.parquet", np.random.default_rng(0)
    amounts = rng.permutation(200) * 7  # whole numbers, each once, that count nothing
    table = {"id": rng.permutation(200) + 1000, "amount": amounts, "weight": np.arange(200.0), "y": [0, 1] * 100}
    pq.write_table(pa.table(table), data)
    assert run("--label", "y", data=data) == 0
    assert read_plan(run.out).steps[0].source.features == ("amount", "weight")


def test_a_plan_elsewhere_finds_the_data(run, tmp_path):
    (tmp_path / "plans").mkdir()
    assert run("--label", "clicked", "--surfaces", "labels", out=tmp_path / "plans" / "t.toml") == 0
    assert read_plan(tmp_path / "plans" / "t.toml").steps[0].source.rows == 200


def test_names_that_need_quoting(run, tmp_path):
    data = tmp_path / "odd.csv"
    data.write_text('"a ""b""",the label\n' + "".join(f"{k % 4},{k % 2}\n" for k in range(40)))
    assert run("--label", "the label", data=data) == 0
    assert read_plan(run.out).steps[0].source.features == ('a "b"',)


@pytest.mark.parametrize("name", ["income, yearly", " age ", "a\\b"])
def test_names_with_commas_and_blanks(run, tmp_path, name):
    data = tmp_path / "odd.parquet"
    pq.write_table(pa.table({name: [k % 4 for k in range(40)], "y": [0, 1] * 20}), data)
    assert run("--label", "y", data=data) == 0
    assert read_plan(run.out).steps[0].source.features == (name,)


def test_a_comma_in_a_name_is_written_with_a_backslash(run, tmp_path):
    data = tmp_path / "odd.csv"
    data.write_text('"a,b",c,y\n' + "".join(f"{k % 4},{k % 3},{k % 2}\n" for k in range(40)))
    assert run("--label", "y", "--features", r"a\,b", data=data) == 0
    assert read_plan(run.out).steps[0].source.features == ("a,b",)


def test_dates_are_suggested_and_lists_are_not(run, tmp_path, capsys):
    data = tmp_path / "odd.parquet"
    when = [datetime(2026, 1, 1) + timedelta(hours=k) for k in range(1200)]
    table = {
        "when": when,
        "vector": [[1.0, 2.0]] * 1200,
        "a": [k % 97 for k in range(1200)],
        "y": [k % 7 % 2 for k in range(1200)],
    }
    pq.write_table(pa.table(table), data)
    assert run("--label", "y", "--surfaces", "labels", data=data) == 0
    assert read_plan(run.out).steps[0].source.features == ("when", "a")
    assert "Left out: vector (list<" in capsys.readouterr().out
    assert run("--label", "y", "--features", "a,vector", "--force", data=data) == 2
    assert "column 'vector' is list" in capsys.readouterr().err
    assert run("--label", "vector", "--force", data=data) == 2
    assert "column 'vector' is list<l: double>; a label has numbers, text" in capsys.readouterr().err


def test_one_typing_error_does_not_decide_a_range(run, tmp_path, capsys):
    rng, data = np.random.default_rng(0), tmp_path / "ugly.csv"
    age, income, days = rng.integers(18, 90, 400), np.exp(rng.normal(10, 1, 400)), np.round(rng.gamma(2, 5, 400), 1)
    born = [f"{1930 + k % 80}-05-01" for k in range(400)]
    age[7], born[9], days[3] = 4000, "0202-05-01", 1e9
    rows = zip(age, income, born, days, ["yes", "no", "no"] * 133 + ["no"], strict=True)
    data.write_text("age,income,born,days,ill\n" + "".join(f"{a},{i:.2f},{b},{d},{y}\n" for a, i, b, d, y in rows))
    assert run("--label", "ill", data=data) == 0
    ranges = read_plan(run.out).steps[2].plan.ranges
    assert ranges["age"] == (0.0, 90.0)
    assert (ranges["born"][0].year, ranges["born"][1].year) == (1930, 2009)
    assert ranges["days"][1] <= 80
    assert np.exp(10 + 2) < ranges["income"][1] <= max(income) * 10, "a long tail is no typing error"
    assert "= [0, 90]  # without 1 value far from the rest, clipped: put the public range" in run.out.read_text()
    assert "Clipped: age (1 value far from the rest; declare its public range)." in capsys.readouterr().out
    assert run("--label", "days", "--force", data=data) == 0
    plan = read_plan(run.out).steps[0].plan
    assert plan.values[-1] <= 80
    assert read_plan(run.out).steps[3].plan.metric.upper >= 1e9, "scores are refused for labels outside their range"
    page = tmp_path / "report.html"
    run.out.write_text(run.out.read_text().replace("[0.1, 0.3, 1, 3, 10]", "[]"))
    with contextlib.suppress(SystemExit):
        main(["audit", str(run.out), "--surfaces", "labels,scores", "--seed", "0", "--fresh", "--out", str(page)])
    assert "What your data reveals" in page.read_text(), "the plan runs without changes"
    assert "read off the private rows, without 1 value far from the rest, which are clipped" in run.out.read_text()
    assert run("--label", "ill", "--public", str(data), "--force", data=data) == 0
    assert read_plan(run.out).steps[2].plan.ranges["age"] == (0.0, 4000.0), "a public table is taken at its word"


def test_a_code_for_a_gap_decides_no_range(run, tmp_path, capsys):
    data, rng = tmp_path / "codes.parquet", np.random.default_rng(0)
    weight = np.where(np.arange(300) % 20 == 3, -999, rng.normal(70, 9, 300))
    due = [date(9999, 12, 31) if k % 9 == 2 else date(2024, 1 + k % 12, 3) for k in range(300)]
    pq.write_table(pa.table({"weight": weight, "due": due, "y": [0, 1] * 150}), data)
    assert run("--label", "y", data=data) == 0
    plan = read_plan(run.out).steps[2].plan
    assert plan.ranges == {"weight": (0.0, 100.0), "due": (date(2024, 1, 1), date(2024, 12, 31))}
    said = capsys.readouterr().out
    assert "Far from the rest: -999 in weight (if it stands for a gap, leave it empty)." in said
    assert "Far from the rest: 9999-12-31 in due" in said
    assert "= [0, 100]  # without -999, which may stand for a gap, clipped: put the public" in run.out.read_text()


def test_words_among_numbers_are_listed_where_many_rows_share_them(run, tmp_path, capsys):
    data = tmp_path / "gaps.csv"
    age = ["refused" if k % 30 == 7 else "unknown, moved to Bern" if k == 9 else 18 + k % 60 for k in range(600)]
    rows = zip(age, ["none known" if k == 5 else k % 40 for k in range(600)], ["no", "yes"] * 300, strict=True)
    data.write_text("age,visits,ill\n" + "".join(f'"{a}",{v},{y}\n' for a, v, y in rows))
    assert run("--label", "ill", data=data) == 0
    said = capsys.readouterr().out
    leave = "leave those empty to use it as numbers)."
    assert f"Read as text: age (a few values are no numbers, such as 'refused'; {leave}" in said
    assert f"Read as text: visits (a few values are no numbers; {leave}" in said
    assert "Bern" not in said + run.out.read_text()
    assert "none known" not in said + run.out.read_text(), "a value of one row"
    assert run("--label", "ill", "--force", "--json", data=data) == 0
    assert json.loads(capsys.readouterr().out)["read_as_text"] == {"age": ["refused"], "visits": []}


def test_a_word_of_a_few_rows_is_not_in_the_plan(run, tmp_path):
    data, rng = tmp_path / "codes.parquet", np.random.default_rng(0)
    codes = [*rng.choice(["A", "B"], 199), "rare disease of one person"]
    pq.write_table(pa.table({"code": codes, "y": [0, 1] * 100}), data)
    assert run("--label", "y", data=data) == 0
    assert read_plan(run.out).steps[2].plan.categories == {"code": ("A", "B")}
    assert "rare disease" not in run.out.read_text()


def test_words_and_ranges_of_a_public_table(run, tmp_path):
    public = tmp_path / "public.csv"
    public.write_text("user,site,age,clicked\n" + "".join(f"u{k},{'abcd'[k % 4]},{k % 90},no\n" for k in range(400)))
    assert run("--label", "clicked", "--public", str(public)) == 0
    plan = read_plan(run.out).steps[2].plan
    assert (plan.categories["site"], plan.ranges["age"]) == (("a", "b", "c", "d"), (0.0, 90.0))
    assert "private rows" not in run.out.read_text()


@pytest.fixture
def amounts(tmp_path):
    path, rng = tmp_path / "amounts.csv", np.random.default_rng(0)
    rows = [f"{'ab'[k % 2]},{k % 9},{cost:.2f}" for k, cost in enumerate(rng.lognormal(6, 0.5, 200))]
    path.write_text("\n".join(["site,size,cost", *rows]) + "\n")
    return path


def test_two_numbers_other_than_0_and_1_are_planned_as_classes(run, tmp_path):
    rows = "".join(f"{'abc'[k % 3]},{1 + k * 7 % 3 % 2}\n" for k in range(120))
    (tmp_path / "codes.csv").write_text(f"site,sick\n{rows}")
    assert run("--label", "sick", "--surfaces", "bags", data=tmp_path / "codes.csv") == 0
    (bags,) = read_plan(run.out).steps
    assert bags.plan.totals.name == "classes"
    assert measure(bags, seed=0, tell=lambda _: None).utility is not None


@pytest.mark.parametrize("most", [0.0, 7.0, None])
def test_cuts_of_a_skewed_amount_leave_rows_in_each_class(most):
    """Whatever most labels are: the largest, one in the middle, or no one value."""
    amounts = -np.exp(np.random.default_rng(0).normal(5, 3, 600))
    if most is not None:
        amounts = np.where(np.arange(600) % 10 == 0, amounts + 2 * most, most)
    label = NumericLabel.of(pa.chunked_array([pa.array(amounts)]))
    rows = np.bincount(np.searchsorted(label.cuts, amounts, side="right"), minlength=len(label.cuts) + 1)
    assert len(rows) == 4
    assert rows.min() >= 10


def test_the_range_of_a_long_tail_leaves_out_its_last_hundredth():
    """Else a few huge amounts make all others one bin."""
    amounts = np.exp(np.random.default_rng(0).normal(6, 1.9, 3000)) * (np.arange(3000) % 2)
    amounts[[1, 3, 5]] = 9.5e6, 4.2e7, 1.1e6
    label = NumericLabel.of(pa.chunked_array([pa.array(amounts)]))
    assert np.quantile(amounts, 0.98) < label.high < 2 * np.quantile(amounts, 0.99)
    assert label.most >= 4.2e7, "scores are refused for labels outside their range"
    assert "29 values far from the rest, which are clipped" in label.origin


def test_an_amount_is_planned_as_a_number(run, amounts, capsys):
    assert run("--label", "cost", data=amounts) == 0
    told = "Treated as an amount: cost, from 100 to 1100, with classes cut at 300, 400, 600, read off the private rows"
    assert told in capsys.readouterr().out
    labels, bags, features, scores, models = (step.plan for step in read_plan(run.out).steps)
    assert (labels.mechanism.name, labels.values[0], labels.values[-1]) == ("bins", 100, 1100)
    assert (bags.totals.name, bags.lower, bags.upper) == ("squared", 100, 1100)
    assert (scores.metric.name, scores.metric.lower, scores.metric.upper) == ("mae", 100, 1100)
    assert features.cuts == models.cuts == (300, 400, 600)
    assert "# treated as an amount; its range and cuts are read off the private rows" in run.out.read_text()


def test_range_and_cuts_of_a_public_table(run, amounts, tmp_path, capsys):
    public = tmp_path / "public.csv"
    public.write_text("site,size,cost\n" + "".join(f"a,1,{k}\n" for k in range(0, 2001, 10)))
    assert run("--label", "cost", "--public", str(public), "--json", data=amounts) == 0
    told = json.loads(capsys.readouterr().out)["numeric_label"]
    assert (told["low"], told["high"], told["cuts"]) == (0, 2000, [500, 1000, 1500])
    assert told["origin"] == "read off the public table"
    public.write_text("site,size,cost\n" + "".join(f"a,1,{k}\n" for k in range(100)))
    assert run("--label", "cost", "--public", str(public), "--force", data=amounts) == 0
    assert "its range widened to the private rows: check that it is public" in run.out.read_text()


def test_an_existing_plan_is_kept(run, capsys):
    assert run("--label", "clicked") == 0
    before = run.out.read_text()
    capsys.readouterr()
    assert run("--label", "clicked") == 2
    assert "exists already" in capsys.readouterr().err
    assert run.out.read_text() == before
    assert run("--label", "clicked", "--force") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--label must be given without a terminal, perhaps --label clicked"),
        (("--label", "clickd"), "--label names no column 'clickd'; did you mean 'clicked'?"),
        (("--label", "clicked", "--features", "clicked"), "--features must not name the label"),
        (("--label", "clicked", "--surfaces", "moon"), "surfaces must be some of labels, bags"),
        (("--label", "clicked", "--epsilon", "0"), "epsilon must be a finite number > 0"),
    ],
)
def test_refusals_are_one_sentence_and_write_nothing(run, capsys, arguments, said):
    assert run(*arguments) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not run.out.exists()


def test_four_questions_with_suggestions(run, monkeypatch):
    asked = []

    def answer(question, *, default, **_):
        asked.append((question, default))
        return default

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", answer)
    assert run() == 0
    assert [default for _, default in asked] == ["clicked", "site,age", "labels,bags,features,scores,models", 1.0]


def test_the_columns_answered_are_those_planned(run, monkeypatch):
    answers = {"Which columns may an attacker know": "age"}
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda question, *, default, **_: answers.get(question, default))
    assert run() == 0
    plan = read_plan(run.out)
    assert plan.steps[0].source.features == ("age",)
    assert plan.steps[2].plan.features == ("age",)


def rows_of(kind):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(200, 2)).round(2)
    if kind == "text labels, missing values and constant columns":
        words = ["low", "high", "none"]
        return "always,empty,a,city,y", [
            f"7,,{a if k % 5 else ''},{'st'[k % 2] if k % 7 else ''},{words[k % 3]}" for k, (a, _) in enumerate(numbers)
        ]
    if kind == "twenty classes":
        return "a,b,y", [f"{a},{b},c{k % 20}" for k, (a, b) in enumerate(numbers)]
    if kind == "thirty rows":
        return "a,b,y", [f"{a},{b},{k % 2}" for k, (a, b) in enumerate(numbers[:30])]
    if kind == "a rare value and a rare label":
        return "city,a,y", [
            f"c{k if k < 5 else 0},{a},{'odd' if k == 3 else 'ab'[k % 2]}" for k, (a, _) in enumerate(numbers)
        ]
    raise KeyError(kind)


@pytest.mark.parametrize(
    "kind",
    [
        "text labels, missing values and constant columns",
        pytest.param("twenty classes", marks=pytest.mark.slow),
        "thirty rows",
        "a rare value and a rare label",
    ],
)
def test_what_is_written_runs_as_it_is(run, tmp_path, capsys, kind):
    head, rows = rows_of(kind)
    (tmp_path / "odd.csv").write_text("\n".join([head, *rows]) + "\n")
    surfaces = "labels,bags,features,scores"
    assert run("--label", "y", "--surfaces", surfaces, data=tmp_path / "odd.csv") == 0
    run.out.write_text(run.out.read_text().replace("[0.1, 0.3, 1, 3, 10]", "[]"))
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["audit", str(run.out), "--seed", "0", "--fresh", "--json", "--out", str(tmp_path / "page.html")])
    told = capsys.readouterr()
    assert end.value.code == 0, told.err
    found = [finding["surface"] for finding in json.loads(told.out)["findings"]]
    assert found == surfaces.split(",")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,y\n" + "".join(f"{k % 7},c{k}\n" for k in range(199)), "column 'y' has 199 labels, more than 100"),
        ("a,y\n" + "1,0\n2,1\n" * 5, "a table must have 20 rows or more to be audited, got 10"),
        (
            "y\n" + "0\n1\n" * 20,
            "--features must name a column besides 'y' that is no id, name or constant",
        ),
        ("a,y\n" + "1,0\n2,0\n" * 20, "column 'y' has one value, 0, in all rows; a label has two or more"),
        ("a,y\n" + "1,0\n2,0\n" * 20 + "3,1\n", "column 'y' must have two labels or more of 2 rows or more"),
    ],
)
def test_a_table_that_cannot_be_audited_is_refused_at_once(run, tmp_path, capsys, text, said):
    (tmp_path / "odd.csv").write_text(text + "\n")
    assert run("--label", "y", data=tmp_path / "odd.csv") == 2
    assert said in capsys.readouterr().err
    assert not run.out.exists()


def test_what_was_decided_as_json(run, capsys):
    assert run("--label", "clicked", "--surfaces", "labels", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["path"], told["label"], told["surfaces"], told["epsilon"]) == (
        str(run.out),
        "clicked",
        ["labels"],
        1.0,
    )
