"""One sentence of advice a release, with the plan's numbers, also for odd plans."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tacit.audit.bags import BagsRelease
from tacit.audit.features import FeaturesRelease
from tacit.audit.labels import LabelsRelease
from tacit.audit.scores import ScoresRelease

from tacit.audit import Plan, State, Step, judge, run_audit
from tacit.audit.source import Source, bundled_source
from tacit.audit.utility import Utility, share_utility
from tacit.audit.words import in_plain_words
from tacit.leak import clopper_pearson
from tacit.privacy import Guarantee, Unit


@pytest.fixture(scope="module")
def tiny():
    """Thirty rows whose features say nothing."""
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.normal(size=30), "b": rng.integers(0, 3, 30), "y": rng.integers(0, 2, 30)})
    return Source(name="tiny, 30 rows", table=table, label="y", features=("a", "b"))


def run(source, *releases):
    return run_audit(Plan(steps=tuple(Step(source=source, release=r) for r in releases), epsilons=()), seed=0)


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (LabelsRelease(epsilon=0.01), "allow more than epsilon 0.01"),
        (
            LabelsRelease(epsilon=50.0),
            "at epsilon 50 a label is nearly public, and epsilon 1 lets nobody gain more than",
        ),
        (BagsRelease(random=2, bags=300), "300 bags of 2 are too many or too small"),
        (BagsRelease(by=(("petal_width",),)), "with noise, such as epsilon 1 for one label"),
        (BagsRelease(by=(("petal_width",),), epsilon=0.01), "allow more than epsilon 0.01"),
        (FeaturesRelease(), "release class totals with noise"),
        (FeaturesRelease(epsilon=0.01, keep=4, bound=8.0), "allow more than epsilon 0.01"),
        (ScoresRelease(decimals=5, submissions=1, per_day=1), "With scores to 5 decimals and 1 submission a day"),
        (ScoresRelease(epsilon=50.0, submissions=40), "With noise and 5 submissions a day"),
        (FeaturesRelease(epsilon=50.0, keep=2, bound=8.0, totals=True), "lower epsilon 50"),
        (ScoresRelease(epsilon=0.0001, submissions=10), "allow fewer than 10 submissions, with a larger epsilon each"),
    ],
)
def test_three_classes_and_extreme_settings(release, said):
    result = run(bundled_source("iris"), release)
    (found,) = result.findings
    assert said in found.advice
    assert found.advice.endswith(".")
    assert not re.search(r"[.:] [A-Z]|\.\.|nan|inf\b", found.advice), "one sentence"
    assert judge(result).headline.endswith(".")
    assert not found.broken


def test_thirty_rows_say_how_little_they_tell(tiny):
    result = run(tiny, LabelsRelease(epsilon=1.0))
    verdict = judge(result)
    assert result.findings[0].state is State.QUIET
    assert "chance explains it, but so would a leak of" in verdict.told
    assert "among only 15 guesses" in verdict.told


def test_the_rival_is_never_worse_than_the_commonest_label(tiny):
    shares = np.bincount(tiny.codes) / tiny.rows
    assert (tiny.prior.argmax(axis=1) == tiny.codes).mean() >= shares.max()


def test_the_worst_is_what_leaks_though_another_gained_more_by_chance():
    source = bundled_source("titanic")
    result = run(source, LabelsRelease(epsilon=1.0), BagsRelease(by=(("class", "sex", "age"),)))
    quiet, certain = result.findings
    assert quiet.leak.advantage > certain.leak.advantage
    assert result.worst is certain, "30 labels are certain"
    assert judge(result).headline == "Bags leak most: totals by class, sex and age, exact."


def test_a_seed_repeats_noised_scores_whichever_thread_asks_first():
    release = ScoresRelease(epsilon=1.0, submissions=30)
    one, two = (run(bundled_source("titanic"), release).findings[0] for _ in range(2))
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [(0.01, "at most 1.02-fold"), (3.0, "at most 21-fold"), (50.0, "protects nobody"), (5000.0, "protects nobody")],
)
def test_promises_in_plain_words_never_stronger_than_they_are(epsilon, said):
    assert said in in_plain_words(Guarantee(unit=Unit.LABEL, epsilon=epsilon))


def test_what_is_had_without_data_is_estimated_too_and_older_files_are_read():
    use = share_utility("accuracy", [True] * 10, [True] * 10, truth=[0] * 7 + [1] * 3)
    assert use.blind_interval == clopper_pearson(7, 10)
    older = {name: part for name, part in use.to_json().items() if name != "blind_interval"}
    assert Utility.from_json(older).blind_interval.high == use.blind


def test_draws_that_agree_are_not_called_exact():
    result = run(bundled_source("iris"), ScoresRelease(epsilon=1e7, submissions=2))
    use = result.findings[0].utility
    assert use.protected == 1.0
    assert use.interval.low < 0.9
    assert "draws of the noise agree" in use.method
    control = run(bundled_source("iris"), ScoresRelease(decimals=9, submissions=2)).findings[0].utility
    assert control.interval.low == control.interval.high, "without noise it is exact"


def test_halves_hold_half_of_every_label():
    iris = bundled_source("iris")
    one, two = iris.halves(np.random.default_rng(0))
    assert not set(one) & set(two)
    assert len(one) + len(two) == 150
    assert (np.bincount(iris.codes[one]) == 25).all()


def test_a_refused_label_is_named():
    source = bundled_source("iris")
    rare = replace(source, table=source.table.slice(0, 101))
    with pytest.raises(ValueError, match="label 'virginica' has 1 row, and half of the rows are released"):
        Step(source=rare, release=FeaturesRelease(epsilon=1.0, keep=2, bound=8.0))
