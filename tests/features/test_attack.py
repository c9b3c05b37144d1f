"""Linkage and membership of released rows: found where there is little noise, gone where there is much."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.features import Plan, attack, protect
from tacit.features.attacks.canaries import canary_leak
from tacit.features.attacks.linkage import link_rows, linkage_leak
from tacit.features.attacks.matching import match_rows
from tacit.features.attacks.membership import membership_leak, membership_scores
from tacit.features.attacks.released_rows import ReleasedRows
from tacit.features.mechanisms.noisy_rows import NoisyRows
from tacit.leak import HeldOut, clopper_pearson, leak_from_scores
from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, Unit


def _release(rows, noise, *, rng):
    return ReleasedRows(rows + rng.normal(scale=noise, size=rows.shape), noise=noise)


@pytest.mark.parametrize(("noise", "least", "most"), [(0.05, 0.95, 1.0), (20.0, 0.0, 0.02)])
def test_linkage_finds_rows_where_the_noise_is_small(noise, least, most):
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(400, 6))
    order = rng.permutation(400)
    linked, _ = match_rows(_release(raw[order], noise, rng=rng), raw)
    leak = linkage_leak(linked, order, candidates=400)
    assert least <= leak.rate <= most
    assert leak.baseline == 1 / 400


def test_nearest_is_brute_force():
    rng = np.random.default_rng(1)
    raw, release = rng.normal(size=(50, 3)), _release(rng.normal(size=(30, 3)), 1.0, rng=rng)
    seen = release.rows
    assert (link_rows(release, raw) == [np.argmin(((row - raw) ** 2).sum(axis=1)) for row in seen]).all()


def test_intervals_of_links_made_together_cover():
    """Of the mean rate over releases of the same rows; the control takes the links as independent."""
    rng, order, n = np.random.default_rng(1), np.arange(100), 100
    known = rng.normal(size=(n, 20))
    leaks = [linkage_leak(match_rows(_release(known, 1.0, rng=rng), known)[0], order, candidates=n) for _ in range(200)]
    mean = np.mean([leak.rate for leak in leaks])
    assert 0.9 < mean < 0.99
    assert np.mean([leak.interval.low <= mean <= leak.interval.high for leak in leaks]) > 0.95
    narrow = [clopper_pearson(leak.right, n) for leak in leaks]
    assert np.mean([one.low <= mean <= one.high for one in narrow]) < 0.92


def _membership(released, inside, outside, rng):
    return membership_leak(membership_scores(released, inside), membership_scores(released, outside), rng=rng)


def test_membership_leak_falls_with_the_noise():
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(size=(2, 600, 8))
    loud, quiet = (_membership(_release(inside, noise, rng=rng), inside, outside, rng) for noise in (30.0, 0.1))
    assert quiet.advantage > 0.9 > 0.2 > loud.advantage


def test_outsiders_of_another_kind_violate_no_guarantee():
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(size=(600, 3)), 100 + rng.normal(size=(600, 3))
    guarantee = Guarantee(unit=Unit.RECORD, epsilon=1.0, delta=1e-5)
    release = _release(inside, 30.0, rng=rng)
    leak = _membership(release, inside, outside, rng)
    assert leak.advantage > 0.5  # of the two groups, not of the release
    assert leak.bound is None
    taken_as_runs = leak_from_scores(
        membership_scores(release, inside),
        membership_scores(release, outside),
        threshold=HeldOut(fraction=0.5, rng=rng),
        delta=1e-5,
    )
    assert taken_as_runs.exceeds(guarantee)  # the control: as if each row were a run, a true guarantee falls


class _TooLittleNoise:
    """The noise for one feature on all of them."""

    def __init__(self, mechanism):
        self.mechanism = mechanism

    def corner_scores(self, side, *, features, records, rng):
        rows = [self.mechanism.corner_scores(side, features=1, records=records, rng=rng) for _ in range(features)]
        return np.sum(rows, axis=0)


def test_canaries_bound_no_more_than_the_guarantee_and_catch_too_little_noise():
    noise = NoisyRows(epsilon=2.0, delta=1e-3, label_epsilon=1.0)
    given = {"features": 5, "records": 20_000, "delta": 1e-3}
    honest = canary_leak(noise, **given, rng=np.random.default_rng(4))
    assert 1.8 < honest.epsilon_lower_bound <= 2.0
    caught = canary_leak(_TooLittleNoise(noise), **given, rng=np.random.default_rng(5))
    assert caught.epsilon_lower_bound > 2.0


def _table(seed, rows=300):
    rng = np.random.default_rng(seed)
    return pa.table({**{f"x{j}": rng.normal(size=rows) for j in range(6)}, "y": np.tile([0, 1], rows // 2)})


def _plan(mechanism="rows", epsilon=8):
    delta = 0 if epsilon is None else 1e-5
    return Plan(label="y", epsilon=epsilon, delta=delta, ranges={"*": (-4, 4)}, mechanism=mechanism)


def test_rows_without_noise_are_linked_and_their_members_found():
    clear, noisy = (protect(_table(0), _plan(epsilon=epsilon)) for epsilon in (None, 8))
    assert attack(clear, truth=_table(0)).rate == 1.0
    assert attack(noisy, truth=_table(0)).rate < 0.05
    rng = np.random.default_rng(1)
    assert attack(clear, truth=_table(0), data=_table(1), rng=rng).advantage > 0.95
    assert attack(noisy, truth=_table(0), data=_table(1), rng=rng).advantage < 0.3


def test_each_guess_is_a_row():
    links = attack(protect(_table(0), _plan(epsilon=None)), truth=_table(0)).guesses
    assert links["linked_row"].to_pylist() == list(range(300))
    members = attack(protect(_table(0), _plan()), truth=_table(0), data=_table(1, rows=200)).guesses
    assert members.num_rows == 500
    assert sum(members["member"].to_pylist()) == 300


@pytest.mark.parametrize("mechanism", ["rows", "totals"])
def test_canaries_attack_the_noise_of_a_release(mechanism):
    release = protect(_table(0), _plan(mechanism))
    leak = attack(release, rng=np.random.default_rng(2))
    assert leak.notes[0].startswith("Canaries: records in opposite corners")
    assert 0.5 < leak.epsilon_lower_bound <= release.settled["epsilon"]["release"]
    assert leak.facts == {"epsilon_of_features": release.settled["epsilon"]["release"]}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"before": [[0.5, 0.5]]}, "before must not be given"),
        ({"method": "linkage", "truth": _table(0), "data": _table(1)}, "data has no use for linkage"),
        ({"method": "linkage"}, "truth must be given for this attack"),
        ({"method": "membership", "truth": _table(0)}, "data must be given for this attack"),
        ({"truth": _table(0, rows=30)}, "truth must have the 300 released rows, got 30"),
        ({"truth": _table(0).drop_columns(["x2"])}, "truth must have the feature column 'x2'"),
        ({"method": "guess"}, "method must be one of linkage, membership, canaries, got 'guess'"),
        ({"method": "canaries:records=1"}, "method canaries: records must be an integer >= 2"),
    ],
)
def test_bad_input_is_refused(given, sentence):
    release = protect(_table(0), _plan(), rng=np.random.default_rng(3))
    with pytest.raises(InvalidInput, match=sentence) as refused:
        attack(release, **given)
    assert refused.value.field == sentence.split()[0]


def test_totals_have_no_rows_to_link():
    release = protect(_table(0), _plan("totals"), rng=np.random.default_rng(3))
    with pytest.raises(InvalidRelease, match="class totals have no rows to attack; use the method canaries"):
        attack(release, truth=_table(0), method="linkage")
    assert "No table was read" in attack(release, truth=_table(0), rng=np.random.default_rng(3)).notes[1]


def test_rows_of_other_features_are_refused():
    rng = np.random.default_rng(4)
    with pytest.raises(InvalidInput, match="must have the 3 released features, got shape"):
        link_rows(_release(rng.normal(size=(5, 3)), 1.0, rng=rng), rng.normal(size=(5, 2)))
