"""All fifteen cells from the command line, by every mechanism, on a table as hospitals have them."""

import json

import pytest

from tacit.cli import main
from tests.hospital import hospital  # noqa: F401

RANGES = (
    "--ranges age=0,100 --ranges weight=30,200 --ranges cost=0,20000 --ranges born=1930-01-01,2010-12-31 "
    "--ranges visit=2023-01-01,2024-12-31 --categories ward=A,B,C --gaps weight,note --delta 1e-5"
)
FEATURES = "--features born,visit,age,weight,ward,city,smoker,note,cost"
BY = "--by ward --by smoker"
CELLS = {
    "labels": {
        "rr": "--label severity --epsilon 2",
        "rr rare": "--label ill --epsilon 2",
        "prior": "--label severity --epsilon 2 --mechanism prior",
        "laplace": "--label severity --epsilon 2 --mechanism laplace",
        "staged": f"--label severity --epsilon 2 --mechanism staged {FEATURES}",
        "bins": "--label cost --epsilon 2 --mechanism bins --values 0:20000:1000",
        "unbiased": "--label cost --epsilon 2 --mechanism unbiased --values 0:20000:1000",
    },
    "bags": {
        "classes": f"--label severity --totals classes --epsilon 1 {BY}",
        "log": f"--label ill --epsilon 1 {BY}",
        "exact": f"--label ill --epsilon none {BY}",
        "gaussian": f"--label ill --epsilon 1 --delta 1e-5 {BY}",
        "squared": f"--label cost --totals squared --lower 0 --upper 20000 --epsilon 1 {BY}",
        "poisson": f"--label cost --totals poisson --upper 20000 --epsilon 1 {BY}",
        "random": "--label ill --epsilon none --mechanism random:size=5,bags=100",
    },
    "features": {
        "rows": f"--label severity --epsilon 8 --mechanism rows --select 5 {FEATURES} {RANGES}",
        "totals": f"--label severity --epsilon 1 --mechanism totals {FEATURES} {RANGES}",
        "totals rare": f"--label ill --epsilon 1 --mechanism totals --select 5 {FEATURES} {RANGES}",
    },
    "scores": {
        "laplace": "--label severity --epsilon 5 --submissions 20",
        "rare": "--label ill --epsilon 5 --submissions 20 --metric auc:class_floor=2",
        "accuracy": "--label severity --epsilon 5 --submissions 20 --metric accuracy --policy thresholdout",
        "ladder": "--label severity --epsilon none --submissions 20 --metric accuracy --policy ladder",
        "rounded": "--label ill --epsilon none --submissions 200 --policy rounded:decimals=5",
        "rmse": "--label ill --epsilon 5 --submissions 20 --metric rmse:lower=0,upper=1",
    },
    "models": {
        "dp_sgd": f"--label severity --epsilon 3 {FEATURES} {RANGES}",
        "dp_sgd rare": f"--label ill --epsilon 3 {FEATURES} {RANGES}",
        "label_private": f"--label severity --epsilon 3 --mechanism label_private {FEATURES}",
        "plain": f"--label severity --epsilon none --mechanism plain {FEATURES}",
        "margin": "--label smoker --epsilon none --mechanism margin:width=60,steps=600",
        "early_stop": "--label smoker --epsilon none --mechanism early_stop:width=50,steps=200 --features age,ward",
    },
}
WITH = {
    "labels": ("--data visits.csv --test later.csv", "--data visits.csv --truth visits.csv"),
    "bags": ("--data visits.csv --test later.csv", "--data visits.csv --truth visits.csv"),
    "features": ("--test later.csv", "--truth visits.csv --data later.csv"),
    "scores": ("", "--truth visits.csv"),
    "models": ("--test later.csv", "--truth visits.csv --data later.csv"),
}


@pytest.fixture
def run(capsys):
    """Run a command that must succeed, and return its JSON."""

    def run(command):
        with pytest.raises(SystemExit) as end:
            main([*command.split(), "--json"])
        said = capsys.readouterr()
        assert end.value.code == 0, f"{command}\n{said.err}"
        return json.loads(said.out)

    return run


@pytest.mark.parametrize(
    ("surface", "options"),
    [
        pytest.param(surface, options, id=f"{surface} {name}")
        for surface in CELLS
        for name, options in CELLS[surface].items()
    ],
)
def test_protect_learn_attack(hospital, run, surface, options):  # noqa: F811
    few = "margin" in options or "early_stop" in options  # they separate the rows they are trained on
    table, (learn, attack) = "few.csv" if few else "visits.csv", WITH[surface]
    made = run(f"{surface} protect {table} {options} --seed 0")
    assert ("epsilon" in made["guarantee"]) == ("--epsilon none" not in options)
    if surface != "scores":  # an offer has no scores to learn from
        assert run(f"{surface} learn {made['path']} {learn} --seed 0")
    assert run(f"{surface} attack {made['path']} {attack.replace('visits.csv', table)} --seed 0")["rate"] >= 0
