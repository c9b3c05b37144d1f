"""Every number has the command that gives it again: the commands on a user's page are run, and do."""

import contextlib
import html
import io
import json
import re
import shlex
from importlib.util import find_spec

import numpy as np
import pytest

from tacit.audit.measure import measure
from tacit.cli import main

PLAN = """\
[data]
file = "data/the visits.csv"
label = "the outcome"

[audit]
epsilons = []

[[labels]]
epsilon = 1.0

[[bags]]
by = [["ward"], ["age"]]
epsilon = 1

[[bags]]
mechanism = "random:size=5,bags=30"
epsilon = "none"

[[features]]
epsilon = 8
delta = 1e-7
select = 2
ranges = { "*" = [0, 100] }

[[features]]
epsilon = "none"
ranges = { "*" = [0, 100] }

[[scores]]
epsilon = 1
submissions = 10

[[scores]]
epsilon = "none"
policy = { name = "rounded", decimals = 4 }
submissions = 40
"""
MODELS = """
[[models]]
epsilon = 3
delta = 1e-7
mechanism = "dp_sgd:epochs=2"
ranges = { "*" = [0, 100] }
"""


def call(*arguments):
    with pytest.raises(SystemExit) as end:
        main([*arguments])
    return end.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_forests):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("user")
    (folder / "data").mkdir()
    ward, age, pulse = rng.integers(0, 3, 240), rng.integers(2, 9, 240) * 10, rng.normal(70, 9, 240).round()
    outcome = np.where(rng.random(240) < 0.7, ward, rng.integers(0, 3, 240))
    lines = [f"{w},{a},{p},{'gfp'[o]}" for w, a, p, o in zip(ward, age, pulse, outcome, strict=True)]
    (folder / "data" / "the visits.csv").write_text("ward,age,pulse,the outcome\n" + "\n".join(lines) + "\n")
    (folder / "tacit.toml").write_text(PLAN + (MODELS if find_spec("opacus") else ""))
    return folder


@pytest.fixture(scope="module", autouse=True)
def first(folder):
    """The first run; commands are typed in the plan's folder."""
    told = io.StringIO()
    with contextlib.chdir(folder):
        with contextlib.redirect_stdout(told):
            assert call("audit", "tacit.toml", "--seed", "7", "--cache", "kept", "--json", "--out", "page.html") == 0
        yield json.loads(told.getvalue())


def numbers(document, surface=None):
    """All findings without the time that they took."""
    both = [*document["findings"], *document["curve"]]
    return [{**finding, "seconds": 0} for finding in both if surface in (None, finding["surface"])]


def test_the_commands_on_the_page_give_the_numbers_again(first, folder, capsys, monkeypatch):
    shown = re.findall(r"<pre[^>]*>(.*?)</pre>", (folder / "page.html").read_text(), flags=re.S)
    commands = list(dict.fromkeys(line for text in shown for line in html.unescape(text).splitlines()))
    again = [command for command in commands if command.startswith("tacit audit")]
    by_hand = [command for command in commands if not command.startswith("tacit audit")]
    surfaces = {finding["surface"] for finding in first["findings"]}
    assert len(again) == len(surfaces) + 1, "one for each surface, and one for the total"
    assert {finding["command"] for finding in numbers(first)} < set(again)
    made = {}

    def once(step, *, seed, **options):
        """Measure each release once; the command for the total is the last, and measures the same ones."""
        key = repr(step.plan), seed
        if key not in made:
            made[key] = measure(step, seed=seed, **options)
        return made[key]

    monkeypatch.setattr("tacit.audit.run.measure", once)
    for command in sorted(again, key=lambda command: "--surfaces" not in command):
        assert call(*shlex.split(command)[1:]) == 0
        repeated = json.loads(capsys.readouterr().out)
        only = re.search(r"--surfaces (\w+)", command)
        assert numbers(repeated) == numbers(first, only[1] if only else None)
        if not only:
            assert repeated["totals"] == first["totals"]
            assert len(made) == len(first["findings"]), "the same plans with the same seeds"
    assert set(by_hand) == {command for finding in first["findings"] for command in finding["commands"]}


def test_a_cached_run_agrees_and_a_changed_surface_reruns_alone(first, folder, capsys, monkeypatch):
    again = ("audit", "tacit.toml", "--seed", "7", "--cache", "kept", "--json", "--out", "page.html")
    made = []

    def watched(step, **options):
        made.append(step.surface)
        return measure(step, **options)

    monkeypatch.setattr("tacit.audit.run.measure", watched)
    assert call(*again) == 0
    assert numbers(json.loads(capsys.readouterr().out)) == numbers(first)
    assert made == []
    plan = (folder / "tacit.toml").read_text()
    (folder / "tacit.toml").write_text(plan.replace("size=5", "size=6"))
    assert call(*again) == 0
    (folder / "tacit.toml").write_text(plan)
    assert made == ["bags"]


def test_the_cache_is_for_its_owner_and_holds_no_private_column(folder):
    """Codes, words and order of the labels: none is in a kept file."""
    rows = (folder / "data" / "the visits.csv").read_text().splitlines()[1:]
    labels = [row.rpartition(",")[2] for row in rows]
    codes = ["fgp".index(label) for label in labels]
    files = [path for path in (folder / "kept").iterdir() if path.suffix == ".json"]
    assert len(files) > 4
    for path in files:
        assert path.stat().st_mode & 0o777 == 0o600
        held = path.read_bytes()
        for column in (labels, codes):
            for joined in (",", ", ", "", " "):
                assert joined.join(map(str, column[:12])).encode() not in held
        assert np.array(codes).tobytes()[:96] not in held
        assert b"the visits" not in held.replace(b"the visits.csv, 240 rows", b""), "not the file's place"
        longest = max((len(run) for run in re.findall(rb"\[[-\d., e]*\]", held)), default=0)
        assert longest < 240, "no list is as long as the table"
