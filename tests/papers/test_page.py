"""The page of published tables and figures is what the results give, and its scripts run, resume and are at hand."""

import importlib
import json
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def package():
    return lambda name: importlib.import_module(f"papers.{name}")


def test_the_page_is_what_the_results_give(package, capsys, monkeypatch, tmp_path):
    page = package("page.__main__")
    assert page.main(["--check"]) == 0, "python -m papers.page"
    monkeypatch.setattr(page, "PAGE", tmp_path / "published.md")
    assert page.main(["--check"]) == 1
    assert "run python -m papers.page" in capsys.readouterr().err
    assert page.main([]) == 0
    assert page.main(["--check"]) == 0


def test_every_table_and_figure_is_listed(package):
    listed = {paper.short: [item.name for item in paper.items] for paper in package("page.__main__").papers()}
    assert listed["Retraining"][:12] == ["Figure 1", *(f"Table {number}" for number in range(1, 12))]
    assert listed["Bags"] == ["Figure 1", "Figure 2", "Figure 3(a)", "Figure 3(b)", "Figure 3(c)"]
    assert listed["Feature release"] == ["Figure 1", "Figure 2", *(f"Figure {n}({p})" for n in (3, 4) for p in "ab")]
    assert listed["Scores"] == [
        *("Table 1", "Figure 1(a)", "Figure 1(b)", "Figure 1(c)"),
        *("Figure 2, left", "Figure 2, right", "Figure 3"),
    ]
    assert listed["Networks"] == ["Figure 1(a)", "Figure 1(b)", "Figure 1(c)", "Figure 2"]


def test_what_the_page_names_is_there(package):
    for paper in package("page.__main__").papers():
        for item in paper.items:
            for name in item.files:
                assert (ROOT / "benchmarks" / "results" / name).exists(), name
            for command in item.commands:
                module = re.search(r"python (?:-m )?([\w./]+)", command)[1].removesuffix(".py").replace(".", "/")
                assert (ROOT / f"{module}.py").exists() or (ROOT / module / "__main__.py").exists(), command
        for statement in paper.statements:
            file, _, name = statement.test.partition("::")
            assert re.search(rf"def {name}\(", (ROOT / file).read_text(encoding="utf-8")), statement.test


def test_printed_values_are_those_that_the_runs_compare_with(package):
    """The same tables are typed beside the training code, which runs where this page's modules are not."""
    page = package("page.retraining_printed")
    printed = {(table.number, table.set): table for table in page.IMAGES}
    for table in package("label_retraining.images.tables").TABLES:
        if table.protocol == "clean":
            assert list(table.rows.values()) == [page.CLEAN[table.set][:1]]
            continue
        ours = printed[table.number.rstrip("b"), table.set]
        assert ours.depth == table.depth
        for epsilon, values in table.rows.items():
            mine = dict(zip(ours.columns, (mean for mean, _ in ours.rows[epsilon]), strict=True))
            assert [mine[column] for column in table.columns] == list(values)


def test_printed_values_on_texts_are_those_that_the_runs_compare_with(package):
    printed, runs = package("page.retraining_printed"), package("label_retraining.texts.tables")
    ours = {column: table for table in printed.AG_NEWS for column in table.columns}
    for (_, column), values in runs.PUBLISHED.items():
        place = ours[column].columns.index(column)
        assert [row[place][0] for row in ours[column].rows.values()] == list(values), column
    assert printed.CLEAN["ag_news"][0] == runs.WITHOUT_PRIVACY
    assert {**package("label_retraining.images.tables").GOALS, "ag_news": runs.GOALS} == printed.GOALS


SETTINGS = {"images": 90_000, "batch": 50, "rate": 0.25}


def numbers(**changes):
    found = dict.fromkeys(("predicted", "given", "consensus_right", "consensus_rows", "confidence"), 0.5)
    return found | {"baseline": 0.1, "full": 0.2, "consensus": 0.6, "seconds": 7.0, "settings": SETTINGS} | changes


@pytest.fixture
def with_points(package, monkeypatch):
    """Let the page see these points on images and no others."""

    def put(points, *, tried=(), own=()):
        items, real = package("page.items"), package("page.items").read
        seen = {"labels_images.json": {"points": points}, "labels_images_tried.json": {"points": dict(tried)}}
        seen["labels_own_images.json"] = {"points": dict(own)}
        for name in ("retraining_images", "retraining_goals"):
            module = package(f"page.{name}")
            monkeypatch.setattr(module, "read", lambda file: seen[file] if file in seen else real(file))
        monkeypatch.setattr(items, "date_of", lambda file: "2026-01-01")
        return {item.name: item for item in package("page.retraining").paper().items}

    return put


def test_a_reason_stands_until_the_points_do(with_points):
    empty = with_points({})
    assert {empty[f"Table {number}"].status for number in (1, 2, 3, 4, 5, 8, 9, 10, 11)} == {"not reproduced"}
    assert "no run of ResNet-18 on CIFAR-100N" in empty["Table 11"].because
    part = with_points({"cifar100|resnet34|published|3|0": numbers(), "cifar100|resnet34|no_validation|5|0": numbers()})
    assert part["Table 4"].status == part["Table 10"].status == "measured in part"
    assert "at epsilon 4, 5" in part["Table 4"].because
    assert part["Table 5"].status == "not reproduced"
    protocols = (("published", 34), ("no_validation", 34), ("forward_first", 34), ("published", 18))
    every = {
        f"cifar100|resnet{depth}|{protocol}|{epsilon}|{seed}": numbers(baseline=0.1 + 0.01 * seed)
        for protocol, depth in protocols
        for epsilon in (3, 4, 5)
        for seed in (0, 1)
    }
    whole = with_points({**every, "cifar100|resnet18|human|inf|0": numbers()})
    for number in (2, 4, 5, 9, 11):
        item = whole[f"Table {number}"]
        assert (item.status, item.because) == ("measured", ""), number
        assert item.seen == "yes"
    assert whole["Table 10"].because.startswith("a training of ours lasts 2 epochs and the paper's 100")
    long = {key: numbers(settings={**SETTINGS, "images": 4_500_000}) for key in every}
    assert with_points(long)["Table 10"].status == "measured", "control: as long as the paper's"
    line = "| 5 | ours, first stage corrected | 10.50 ± 0.71 | 20.00 ± 0.00 | **60.00 ± 0.00** | 2 |"
    assert line in whole["Table 5"].body
    assert "GPU seconds: 14 for 2 points." in whole["Table 5"].origin


def test_commands_and_notes_say_how_each_point_was_trained(with_points):
    longer = numbers(settings={**SETTINGS, "images": 4000})
    points = {"cifar10|resnet18|published|1|0": numbers(), "cifar10|resnet18|no_validation|1|0": longer}
    item = with_points(points | {"cifar10|resnet18|clean|inf|0": numbers()})["Table 1"]
    assert "labels_images_tried.json" not in item.files
    own, blind = item.commands
    assert own.endswith("--tables 1 --images 90000 --batch 50 --rate 0.25")
    assert blind.endswith("--tables 1 --protocol no_validation --images 4000 --batch 50 --rate 0.25")
    seen = "90,000 images in batches of 50 at rate 0.25 (as published); 4,000 images in batches of 50 at rate 0.25 (no"
    assert seen in item.body[-1]
    points = {"cifar10|resnet18|published|1|0": longer, "cifar10|resnet18|published|2|0": numbers()}
    item = with_points(points)["Table 1"]
    first, second = item.commands
    assert first.endswith("--tables 1 --epsilons 1 --images 4000 --batch 50 --rate 0.25")
    assert second.endswith("--tables 1 --epsilons 2 --images 90000 --batch 50 --rate 0.25")
    assert "at rate 0.25 at epsilon 1, 90,000 images in batches of 50 at rate 0.25 at epsilon 2; the" in item.body[-1]
    clean = with_points({"cifar10|resnet18|clean|inf|0": numbers()})["Appendix G"]
    assert (clean.status, clean.because) == ("measured in part", "there is no run of CIFAR-100 with true labels.")
    assert clean.commands[0].endswith("--set cifar10 --tables G --images 90000 --batch 50 --rate 0.25")


def test_settings_that_were_tried_stand_below_the_table_not_in_it(with_points):
    tried = {f"cifar10|resnet18|published|1|{seed}|4000|50|0.5": numbers(baseline=0.3) for seed in (0, 1)}
    item = with_points({"cifar10|resnet18|published|1|0": numbers()}, tried=tried)["Table 1"]
    assert "| 1 | ours, as published | 10.00 | 20.00 | 60.00 | 1 |" in item.body
    assert item.body[-1] == "| 1 | 4,000 | 50 | 0.5 | 30.00 ± 0.00 | 20.00 ± 0.00 | 60.00 ± 0.00 | 2 |"
    assert item.files == ("labels_images.json", "labels_images_tried.json")


def test_no_point_is_left_out(package):
    tables, names = package("page.retraining_printed").IMAGES, package("page.retraining_images").PROTOCOLS
    for key in package("page.items").read("labels_images.json")["points"]:
        name, network, *rest = key.split("|")
        if network.startswith("resnet") and rest[0] != "clean":
            assert rest[0] in names, key
            wanted = [(table.set, f"resnet{table.depth}") for table in tables if rest[0] in table.protocols]
            assert (name, network) in wanted, key


def test_goals_are_reached_by_means_and_not_by_a_seed(with_points):
    def reached(*values):
        points = {f"cifar10|recipe|1|{seed}": {"accuracy": value, "seconds": 3.0} for seed, value in enumerate(values)}
        (line,) = (line for line in with_points(points)["past the tables"].body if line.startswith("| CIFAR-10 | 1 |"))
        return line

    assert "| 90.00 | yes | 1 | 3 (GPU) |" in reached(0.9)
    assert "| 86.50 ± 4.95 | no | 2 | 3 (GPU) |" in reached(0.9, 0.83)
    assert "| not measured |" in reached()


def test_goals_that_need_outside_data_are_counted_apart(with_points):
    points = {
        "cifar10|recipe|1|0": {"accuracy": 0.8, "seconds": 3.0},
        "cifar10|given|1|0": {"accuracy": 0.9, "seconds": 3.0, "settings": {"encoder": "lite2"}},
        "cifar10|recipe|2|0": {"accuracy": 0.93, "seconds": 3.0},
    }
    product = {"cifar10|1|0": {"accuracy": 0.91, "seconds": 3.0, "representation": {"seconds": 2.0}}}
    for own, counts in (({}, "1 of 2"), (product, "2 of 2")):
        body = with_points(points, own=own)["past the tables"].body
        (words,) = (line for line in body if line.startswith("Goals reached"))
        assert f"5 of 5 measured; without outside data {counts}." in words  # with the three on texts


def test_the_width_figure_divides_by_n_less_1_and_adds_up_no_shared_seconds(package):
    """Its points ran side by side, each timed as if alone: their sum is no time of a GPU."""
    points = package("page.items").read("models_dpsgd_width.json")["points"]
    values = [100 * p["accuracy"] for p in points if (p["shape"], p["epsilon"], p["rate"]) == ("26k", 1.0, 1.0)]
    item = package("page.features").figure_1()
    (line,) = (line for line in item.body if line.startswith("| 1 | 1 |"))
    assert line.split(" | ")[2] == f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"
    assert not re.search(r"GPU seconds: \d", item.origin)


@pytest.mark.parametrize("last", [0, 1])
def test_bags_of_the_figure(last):
    """Figure 2 of the bags paper: rows as its text gives them; the last one's label is not in it."""
    import pyarrow as pa

    from papers.label_bags.bags import curate
    from tacit.bags.losses import LogisticLoss

    rows = {"F1": ["apple"] * 3 + ["banana"], "F2": ["High", "Low", "Low", "High"], "F3": ["CA", "NY", "NY", "CA"]}
    release = curate(
        pa.table({**rows, "y": [0, 1, 1, last]}), by=[("F1",), ("F2", "F3")], label="y", loss=LogisticLoss()
    )
    bags = [
        (tuple(key.values()), count, total / count)
        for partition in release.partitions
        for key, count, total in zip(partition.keys.to_pylist(), partition.counts, partition.totals[:, 0], strict=True)
    ]
    assert bags == [
        (("apple",), 3, pytest.approx(2 / 3)),  # (T(0) + 2 T(1)) / 3
        (("banana",), 1, last),
        (("High", "CA"), 2, last / 2),
        (("Low", "NY"), 2, 1),
    ]


FIGURES = [
    ("label_retraining.figure1", "labels_figure1", 4),
    ("score_attacks.table1", "scores_table1", 8),
    ("label_bags.figure3", "bags_figure3", 12),
]


@pytest.mark.parametrize(("module", "name", "points"), FIGURES)
def test_a_figure_s_script_runs_and_resumes(package, tmp_path, monkeypatch, module, name, points):
    script = package(module)
    if name == "bags_figure3":
        pytest.importorskip("torch")
        monkeypatch.setitem(script.SETS, "generated", lambda: script.generated_rows(2000, 500))
    page = (ROOT / "docs" / "bags_learn.md").read_bytes()
    assert script.main(["--quick", "--out", str(tmp_path)]) == 0
    path = tmp_path / f"{name}_quick.json"
    document = json.loads(path.read_text())
    assert len(document["points"]) == points
    first = next(iter(document["points"]))
    document["points"][first]["kept"] = True
    del document["points"][list(document["points"])[-1]]
    path.write_text(json.dumps(document))
    assert script.main(["--quick", "--out", str(tmp_path)]) == 0
    again = json.loads(path.read_text())["points"]
    assert len(again) == points
    assert [key for key, point in again.items() if "kept" in point] == [first], "what was measured is kept"
    assert (ROOT / "docs" / "bags_learn.md").read_bytes() == page, "quick numbers stay off the page"


def test_points_of_other_settings_are_not_kept(package, tmp_path):
    measure = package("kept").measure_missing
    tasks = {"one": lambda: {"value": 1}, "two": lambda: {"value": 2}}
    measure(tmp_path / "kept.json", {"one": tasks["one"]}, settings={"draws": 5})
    whole = measure(tmp_path / "kept.json", tasks, settings={"draws": 5})
    assert {key: point["value"] for key, point in whole["points"].items()} == {"one": 1, "two": 2}
    assert set(measure(tmp_path / "kept.json", {"two": tasks["two"]}, settings={"draws": 6})["points"]) == {"two"}
