"""One sentence of advice per release, with the plan's numbers, also for odd plans."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacit.audit import AuditPlan, ReleaseState, judge, run_audit
from tacit.audit.source import AuditedTable, bundled_source
from tacit.audit.utility import Utility, share_utility
from tacit.audit.words import in_plain_words
from tacit.leak import clopper_pearson
from tacit.privacy import Guarantee, Unit


@pytest.fixture(scope="module")
def tiny():
    """Thirty rows whose features say nothing."""
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.normal(size=30), "b": rng.integers(0, 3, 30), "y": rng.integers(0, 2, 30)})
    return AuditedTable(name="tiny, 30 rows", table=table, label="y", features=("a", "b"))


@pytest.fixture(scope="module")
def run(step_of):
    """Audit releases of a table, each a surface and its keys."""

    def make(source, *releases):
        steps = tuple(step_of(source, surface, **keys) for surface, keys in releases)
        return run_audit(AuditPlan(steps=steps, epsilons=()), seed=0)

    return make


EXACT = {"epsilon": None, "by": [["petal_width"]], "min_size": 1}
NUMBERS = {"delta": 1e-6, "ranges": {"*": [0, 8]}}


@pytest.mark.parametrize(
    ("surface", "keys", "said"),
    [
        ("labels", {"epsilon": 0.005}, "allow more than epsilon 0.005, or release totals of groups"),
        ("labels", {"epsilon": 50}, "epsilon 50 guarantees next to nothing, so lower it to 1 or so"),
        (
            "bags",
            {"epsilon": None, "mechanism": "random:size=2,bags=300"},
            "add noise, such as epsilon 1 for one label",
        ),
        ("bags", EXACT, "add noise, such as epsilon 1 for one label"),
        ("bags", {**EXACT, "epsilon": 0.01}, "allow more than epsilon 0.01, or form larger bags"),
        ("features", {"epsilon": None, "ranges": {"*": [0, 8]}}, "release class totals with noise"),
        ("features", {"epsilon": 0.01, **NUMBERS}, "allow more than epsilon 0.01"),
        ("features", {"epsilon": 50, "mechanism": "totals", **NUMBERS}, "epsilon 50 guarantees next to nothing"),
        (
            "scores",
            {"epsilon": None, "policy": "rounded:decimals=5"},
            "answer with Laplace noise, at epsilon 1 for all",
        ),
        ("scores", {"epsilon": 200, "submissions": 40}, "epsilon 200 guarantees next to nothing"),
        ("scores", {"epsilon": 0.001, "submissions": 10}, "or answer fewer submissions"),
    ],
)
def test_three_classes_and_extreme_settings(run, surface, keys, said):
    result = run(bundled_source("iris"), (surface, keys))
    (found,) = result.findings
    assert said in found.advice
    assert found.advice.endswith(".")
    assert not re.search(r"[.:] [A-Z]|\.\.|nan|inf\b", found.advice), "one sentence"
    assert judge(result).headline.endswith(".")
    assert not found.broken


def test_thirty_rows_say_how_little_they_tell(run, tiny):
    one, four = (run(tiny, ("labels", {"epsilon": epsilon})) for epsilon in (1, 4))
    assert one.findings[0].state is ReleaseState.GUARANTEED
    assert judge(one).told.endswith("there are too few rows to check it.")
    assert four.findings[0].state is ReleaseState.UNKNOWN
    assert judge(four).headline == f"Not known yet whether to hand out labels: {four.findings[0].setting}."
    assert judge(four).told.startswith("Too few rows to tell: suspicion of y = ")
    assert "Audit more rows, or lower epsilon from 4 to below 2.3" in judge(four).action


def test_the_worst_is_what_does_harm_though_another_has_a_larger_advantage(run):
    by = {"epsilon": None, "by": [["class", "sex", "age"]], "min_size": 1}
    result = run(bundled_source("titanic"), ("labels", {"epsilon": 1}), ("bags", by))
    quiet, certain = result.findings
    assert quiet.leak.advantage > certain.leak.advantage
    assert result.worst is certain, "some labels are certain"
    assert judge(result).headline == f"Do not hand out bags: {certain.setting}."


def test_a_seed_repeats_noisy_scores_whichever_thread_asks_first(run):
    release = ("scores", {"epsilon": 30, "submissions": 30})
    one, two = (run(bundled_source("titanic"), release).findings[0] for _ in range(2))
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [(0.01, "at most 1.02-fold"), (3.0, "at most 21-fold"), (50.0, "protects nobody"), (5000.0, "protects nobody")],
)
def test_guarantees_in_plain_words_never_stronger_than_they_are(epsilon, said):
    assert said in in_plain_words(Guarantee(unit=Unit.LABEL, epsilon=epsilon))


def test_what_is_had_without_data_is_estimated_too_and_older_files_are_read():
    use = share_utility("accuracy", [True] * 10, [True] * 10, truth=[0] * 7 + [1] * 3)
    assert use.blind_interval == clopper_pearson(7, 10)
    older = {name: part for name, part in use.to_json().items() if name != "blind_interval"}
    assert Utility.from_json(older).blind_interval.high == use.blind


def test_a_label_of_one_row_is_no_reason_to_refuse(run):
    source = bundled_source("iris")
    rare = replace(source, table=source.table.slice(0, 101))
    assert len(run(rare, ("features", {"epsilon": 1, **NUMBERS})).findings) == 1
