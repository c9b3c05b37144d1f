"""Labels that somebody else has randomized: event-level reports, counted outcome by outcome."""

from itertools import combinations_with_replacement

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from tacit import labels
from tacit.labels.mechanisms import EventReports
from tacit.labels.releases.elsewhere import release_made_elsewhere
from tacit.privacy.errors import InvalidInput


@pytest.mark.parametrize(("reports", "windows", "bits"), [(1, 1, 1), (1, 3, 2), (3, 3, 3)])
def test_outcomes_are_all_that_reports_can_say(reports, windows, bits):
    kinds = [(window, data) for window in range(windows) for data in range(2**bits)]
    listed = sum(len(list(combinations_with_replacement(kinds, sent))) for sent in range(reports + 1))
    assert EventReports(reports=reports, windows=windows, bits=bits).outcomes == listed


@pytest.mark.parametrize(("settings", "classes"), [({"reports": 1, "windows": 3, "bits": 2}, 5), ({}, 2)])
def test_odds_of_one_label_move_by_no_more_than_epsilon_and_draws_have_these_odds(settings, classes):
    mechanism = EventReports(epsilon=2.0, classes=classes, **settings)
    rows = np.array(mechanism.exact_transition())
    assert (rows.sum(axis=1) == 1).all()
    ratio = max(float(max(column) / min(column)) for column in rows.T)
    assert np.log(ratio) <= 2.0 + 1e-12
    assert np.log(ratio) > 1.9, "control: no noise is wasted"
    for label in range(classes):
        drawn = mechanism.randomize(np.full(20_000, label), rng=np.random.default_rng(label))
        counts = np.bincount(drawn, minlength=classes)
        assert chisquare(counts, rows[label].astype(float) * 20_000).pvalue > 1e-4
        uniform = np.full(classes, 20_000 / classes)
        assert chisquare(counts, uniform).pvalue < 1e-6, "control: one chance for all"


def made(rows=6000, epsilon=8.0):
    rng = np.random.default_rng(0)
    price = rng.uniform(1, 10, rows)
    table = pa.table({"price": price, "bought": np.where(rng.random(rows) < 0.8 / price, "yes", "no")})
    plan = labels.Plan(label="bought", epsilon=epsilon, classes=("no", "yes"), features=("price",), mechanism="reports")
    return table, plan, labels.protect(table, plan, rng=rng)


def test_what_a_platform_sent_is_a_release(tmp_path):
    table, plan, sent = made()
    release = release_made_elsewhere(sent.table.rename_columns({"label": "bought"}), plan)
    np.testing.assert_array_equal(release.evidence.likelihood, sent.evidence.likelihood)
    assert release.labels.equals(sent.labels)
    truth = np.array(table["bought"]) == "yes"
    unbiased = release.evidence.unbiased[:, 1]
    assert abs(unbiased.mean() - truth.mean()) < 4 * unbiased.std() / np.sqrt(len(truth))
    assert abs((np.array(sent.labels) == "yes").mean() - truth.mean()) > 0.1, "control: the reports as they are"
    assert release.guarantee == sent.guarantee
    release.write(tmp_path / "clicks.parquet")
    assert labels.Release.read(tmp_path / "clicks.parquet").evidence.likelihood.shape == (6000, 2)


@pytest.mark.parametrize(
    "changes",
    [{"classes": None}, {"mechanism": "prior"}, {"mechanism": "staged"}, {"mechanism": "reports:reports=1"}],
)
def test_a_plan_that_does_not_say_how_labels_were_made_is_rejected(changes):
    rows = made(rows=100)[2].table.rename_columns({"label": "bought"})
    classes = ("no", "yes", "other") if changes.get("mechanism") == "reports:reports=1" else ("no", "yes")
    given = {"label": "bought", "epsilon": 8, "classes": classes, "features": ("price",), **changes}
    plan = labels.Plan(**given)
    with pytest.raises(InvalidInput):
        release_made_elsewhere(rows, plan)
