"""Linkage and membership of released rows: found where there is little noise, gone where there is much."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacit.features.attack import link_rows, linkage_leak, membership_leak, membership_scores
from tacit.leak import HeldOut, leak_from_scores
from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, NoGuarantee, Unit
from tacit.privacy.release import Release


def _release(rows, noise, *, rng, guarantee=None):
    noised = rows + rng.normal(scale=noise, size=rows.shape)
    names = [f"x{j}" for j in range(rows.shape[1])]
    return Release(
        value=pa.table({**{n: noised[:, j] for j, n in enumerate(names)}, "label": np.zeros(len(rows))}),
        guarantee=guarantee or NoGuarantee(reason="a test"),
        surface="features",
        mechanism={"name": "noised_rows", "features": names, "noise": [noise] * len(names)},
        seeded=True,
    )


@pytest.mark.parametrize(("noise", "least", "most"), [(0.05, 0.95, 1.0), (20.0, 0.0, 0.02)])
def test_linkage_finds_rows_where_the_noise_is_small(noise, least, most):
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(400, 6))
    order = rng.permutation(400)
    linked = link_rows(_release(raw[order], noise, rng=rng), raw)
    leak = linkage_leak(linked, order, candidates=400)
    assert least <= leak.rate <= most
    assert leak.baseline == 1 / 400


def test_nearest_is_brute_force():
    rng = np.random.default_rng(1)
    raw, release = rng.normal(size=(50, 3)), _release(rng.normal(size=(30, 3)), 1.0, rng=rng)
    seen = np.column_stack([release.value[f"x{j}"].to_numpy() for j in range(3)])
    assert (link_rows(release, raw) == [np.argmin(((row - raw) ** 2).sum(axis=1)) for row in seen]).all()


def test_membership_scores_are_the_likelihood_of_a_mixture():
    rng = np.random.default_rng(2)
    release, targets = _release(rng.normal(size=(20, 2)), 0.5, rng=rng), rng.normal(size=(7, 2))
    seen = np.column_stack([release.value[f"x{j}"].to_numpy() for j in range(2)])
    direct = [np.log(np.exp(-((seen - x) ** 2).sum(axis=1) / (2 * 0.25)).sum()) for x in targets]
    assert membership_scores(release, targets) == pytest.approx(direct)


def test_membership_leak_falls_with_the_noise():
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(size=(2, 600, 8))
    loud = membership_leak(_release(inside, 30.0, rng=rng), members=inside, nonmembers=outside, rng=rng)
    quiet = membership_leak(_release(inside, 0.1, rng=rng), members=inside, nonmembers=outside, rng=rng)
    assert quiet.advantage > 0.9 > 0.2 > loud.advantage


def test_outsiders_of_another_kind_refute_no_promise():
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(size=(600, 3)), 10 + rng.normal(size=(600, 3))
    promise = Guarantee(unit=Unit.RECORD, epsilon=1.0, delta=1e-5)
    release = _release(inside, 30.0, rng=rng, guarantee=promise)
    leak = membership_leak(release, members=inside, nonmembers=outside, rng=rng)
    assert leak.advantage > 0.5  # of the two groups, not of the release
    assert leak.bound is None
    taken_as_runs = leak_from_scores(
        membership_scores(release, inside),
        membership_scores(release, outside),
        threshold=HeldOut(fraction=0.5, rng=rng),
        delta=1e-5,
    )
    assert taken_as_runs.exceeds(promise)  # the control: as if each row were a run, a true promise falls


def test_bad_input_is_refused():
    rng = np.random.default_rng(4)
    with pytest.raises(InvalidInput, match="must have the 3 released features, got shape"):
        link_rows(_release(rng.normal(size=(5, 3)), 1.0, rng=rng), rng.normal(size=(5, 2)))
    totals = Release(
        value={"counts": [1]},
        guarantee=NoGuarantee(reason="x"),
        surface="features",
        mechanism={"name": "class_totals"},
        seeded=True,
    )
    with pytest.raises(InvalidRelease, match="class totals have none to link"):
        link_rows(totals, [[0.0]])
    with pytest.raises(InvalidRelease, match="the release must be of features, got one of labels"):
        link_rows(replace(totals, surface="labels"), [[0.0]])
