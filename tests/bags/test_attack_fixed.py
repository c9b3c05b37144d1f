"""Labels that totals fix: against all labelings of small cases, and what each step finds."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from tacit.bags.attacks import SearchLimits, determined, labels_from_sums, labels_from_totals
from tacit.bags.attacks.components import solve
from tacit.bags.attacks.propagation import propagate
from tacit.bags.attacks.row_space import fix_by_row_space
from tacit.bags.attacks.search import search
from tacit.bags.attacks.system import collapse, membership_of, system_of
from tacit.bags.losses import CategoricalLoss, LogisticLoss, PoissonLoss, SquaredLoss
from tacit.bags.partition import BagTotals, KeyColumn, Partition, RandomBags
from tacit.privacy import Guarantee, InvalidInput, NoGuarantee, Unit


def random_case(rng, *, rows=8):
    """A 0/1 membership matrix: partitions, some bags not published, or random bags."""
    n = int(rng.integers(2, rows + 1))
    if rng.random() < 0.3:
        bags = int(rng.integers(1, 6))
        return (rng.random((n, bags)) < rng.uniform(0.2, 0.8)).astype(np.int64)
    columns = []
    for _ in range(int(rng.integers(1, 5))):
        number = int(rng.integers(1, n + 1))
        of_row = rng.integers(0, number, n)
        columns.append(np.eye(number, dtype=np.int64)[of_row])
    membership = np.hstack(columns)
    return membership[:, rng.random(membership.shape[1]) < 0.9]


def statistic(labels, classes):
    return np.eye(classes, dtype=np.int64)[labels] if classes > 2 else labels[..., None]


def brute_force(membership, low, high, *, values, classes):
    """The label of each row, NaN unless every labeling with these totals agrees."""
    n = len(membership)
    labelings = np.array(list(itertools.product(range(values), repeat=n)))
    totals = np.einsum("nb,lnt->lbt", membership, statistic(labelings, classes))
    fits = labelings[((totals >= low) & (totals <= high)).all(axis=(1, 2))]
    return np.where((fits == fits[0]).all(axis=0), fits[0], np.nan)


def check_cases(cases, *, seed, effort, rows=8, most=1, classes=2, ranged=False):
    """Compare with brute force; return how many labels propagation and the row space alone do not find."""
    rng = np.random.default_rng(seed)
    missed = found_in_all = 0
    for _ in range(cases):
        membership = random_case(rng, rows=rows)
        values = classes if classes > 2 else most + 1
        labels = rng.integers(0, values, len(membership))
        totals = np.einsum("nb,nt->bt", membership, statistic(labels, classes))
        wider = rng.integers(0, 2, (2, *totals.shape)) if ranged else np.zeros((2, *totals.shape), dtype=np.int64)
        low, high = totals - wider[0], totals + wider[1]
        expected = brute_force(membership, low, high, values=values, classes=classes)
        got = labels_from_totals(membership, low, greatest=high, most=most, effort=effort)
        np.testing.assert_array_equal(got.labels, expected, err_msg=f"{membership.tolist()} {totals.tolist()}")
        assert not got.undecided.any()
        without_search = labels_from_totals(membership, low, greatest=high, most=most, effort=SearchLimits(variables=0))
        known = without_search.known
        np.testing.assert_array_equal(without_search.labels[known], expected[known])
        assert (without_search.known | without_search.undecided | np.isnan(expected)).all()
        missed += int((~np.isnan(expected) & ~known).sum())
        found_in_all += int((~np.isnan(expected)).sum())
    return missed, found_in_all


@pytest.mark.parametrize("points", [4096, 0], ids=["enumerated", "branched"])
def test_exact_against_brute_force(points):
    cases = 500 if points else 120
    missed, found = check_cases(cases, seed=points, effort=SearchLimits(points=points))
    assert found > 3 * cases
    assert missed > 0  # the search is not idle


@pytest.mark.parametrize("points", [4096, 0], ids=["enumerated", "branched"])
def test_exact_for_counted_labels(points):
    check_cases(60, seed=1, effort=SearchLimits(points=points), rows=6, most=2)


@pytest.mark.parametrize("points", [4096, 0], ids=["enumerated", "branched"])
def test_exact_for_classes(points):
    check_cases(60, seed=2, effort=SearchLimits(points=points), rows=6, classes=3)


@pytest.mark.parametrize("points", [4096, 0], ids=["enumerated", "branched"])
def test_exact_for_ranges(points):
    check_cases(100, seed=3, effort=SearchLimits(points=points), ranged=True)


def partitioned_case(rng, *, partitions, rows=8):
    n = int(rng.integers(2, rows + 1))
    assigned = [rng.integers(-1 if rng.random() < 0.4 else 0, int(rng.integers(1, 4)), n) for _ in range(partitions)]
    return membership_of(assigned, bags=[3] * partitions).toarray(), np.repeat(np.arange(partitions), 3)


def test_two_partitions_are_decided_at_any_size_by_a_flow():
    rng = np.random.default_rng(0)
    for _ in range(300):
        membership, groups = partitioned_case(rng, partitions=2)
        totals = (membership.T @ rng.integers(0, 2, len(membership)))[:, None]
        found = labels_from_totals(membership, totals, groups=groups, effort=SearchLimits(variables=0))
        expected = brute_force(membership, totals, totals, values=2, classes=2)
        np.testing.assert_array_equal(found.labels, expected)
        assert not found.undecided.any()


@pytest.mark.parametrize(("classes", "rows"), [(2, 8), (3, 6)])
def test_a_witness_opens_most_of_what_is_open_and_nothing_else(classes, rows):
    rng = np.random.default_rng(1)
    opened = could = 0
    for _ in range(80):
        membership, groups = partitioned_case(rng, partitions=3, rows=rows)
        labels = rng.integers(0, classes, len(membership))
        totals = np.einsum("nb,nt->bt", membership, statistic(labels, classes))
        found = labels_from_totals(membership, totals, groups=groups, witness=labels, effort=SearchLimits(variables=0))
        expected = brute_force(membership, totals, totals, values=classes, classes=classes)
        known = found.known
        np.testing.assert_array_equal(found.labels[known], expected[known])
        settled = ~known & ~found.undecided
        assert np.isnan(expected[settled]).all()
        opened, could = opened + int(settled.sum()), could + int(np.isnan(expected).sum())
    assert opened > 0.9 * could


def test_a_wrong_witness_is_refused():
    square = membership_of([[0, 0, 1, 1], [0, 1, 0, 1]], bags=[2, 2])
    settings = {"groups": [0, 0, 1, 1], "effort": SearchLimits(variables=0)}
    with pytest.raises(InvalidInput, match="witness must have the published totals"):
        labels_from_totals(square, [[1]] * 4, witness=[1, 1, 0, 0], **settings)
    with pytest.raises(InvalidInput, match="one label for each of 4 rows"):
        labels_from_totals(square, [[1]] * 4, witness=[1, 1], **settings)


def nested():
    """All of a city is published, and the ages there that have two rows or more: one row is the rest."""
    return membership_of([[0, 0, 0, 0, 0], [0, 0, 1, 1, -1]], bags=[1, 2]).toarray()


def test_a_bag_too_small_to_publish_is_the_rest_of_a_larger_one():
    assert labels_from_totals(nested(), [[3], [1], [1]], effort=SearchLimits(variables=0)).labels[4] == 1
    assert labels_from_sums(nested(), [[3.25], [1.5], [1.0]]).labels[4] == pytest.approx(0.75)


def test_a_rest_of_several_rows_is_fixed_where_it_is_all_zeros():
    membership = membership_of([[0, 0, 0, 0, 0, 0], [0, 0, 1, 1, -1, -1]], bags=[1, 2]).toarray()
    found = labels_from_totals(membership, [[2], [1], [1]], effort=SearchLimits(variables=0))
    assert found.labels[4:].tolist() == [0, 0]
    assert np.isnan(found.labels[:4]).all()


def test_the_row_space_finds_what_propagation_does_not():
    # a + b, b + c and a + c: half their sum less one of them
    triangle = collapse(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]))
    system = propagate(system_of(triangle, low=[[5], [6], [5]], high=[[5], [6], [5]], most=9))
    assert (system.lower < system.upper).all()
    fixed, value = fix_by_row_space(system)
    assert fixed.all()
    assert sorted(value.tolist()) == [2, 3, 3]


def test_what_is_too_large_to_search_is_undecided_and_never_guessed():
    membership = membership_of([[0, 0, 1, 1], [0, 1, 0, 1]], bags=[2, 2]).toarray()
    # without groups it is not known that the bags are two partitions
    found = labels_from_totals(membership, [[1]] * 4, effort=SearchLimits(variables=3))
    assert found.undecided.all()
    assert found.count == 0
    assert "4 in components too large to search stay undecided" in str(found)
    whole = labels_from_totals(membership, [[1]] * 4)
    assert not whole.undecided.any()
    assert (whole.components, whole.searched) == (1, 1)


def test_a_search_out_of_steps_decides_nothing():
    rng = np.random.default_rng(0)
    membership = (rng.random((30, 12)) < 0.4).astype(np.int64)
    totals = membership.T @ rng.integers(0, 2, 30)
    cells = collapse(membership)
    system = propagate(system_of(cells, low=totals[:, None], high=totals[:, None], most=1))
    found = search(system, nodes=0, most_points=0)
    assert not (found.fixed & (system.lower < system.upper)).any()


def test_totals_that_no_labels_have_are_refused():
    for membership, totals in ((nested(), [[5], [0], [0]]), ([[1, 0, 1], [1, 1, 0], [0, 1, 1]], [[1]] * 3)):
        for effort in (SearchLimits(), SearchLimits(points=0)):
            with pytest.raises(InvalidInput, match="no labels have them"):
                labels_from_totals(membership, totals, effort=effort)


def test_bad_totals_are_refused():
    with pytest.raises(InvalidInput, match="must be integers"):
        labels_from_totals([[1]], [[0.5]])
    with pytest.raises(InvalidInput, match="a row for each of 1 bags"):
        labels_from_totals([[1]], [1])
    with pytest.raises(InvalidInput, match="groups must put disjoint bags together"):
        labels_from_totals([[1, 1]], [[1], [1]], groups=[0, 0])
    with pytest.raises(InvalidInput, match="once or not at all"):
        labels_from_totals([[2]], [[1]])


def test_progress_counts_components():
    seen = []
    square = membership_of([[0, 0, 1, 1], [0, 1, 0, 1]], bags=[2, 2]).toarray()
    membership = np.kron(np.eye(5, dtype=np.int64), square)
    labels_from_totals(membership, [[1]] * 20, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i, 5) for i in range(1, 6)]


def test_many_rows_of_few_cells_are_quick():
    rng = np.random.default_rng(0)
    assigned = [rng.integers(0, 4, 200_000) for _ in range(3)]
    labels = (assigned[0] == 0) & (assigned[1] < 2)
    membership = membership_of(assigned, bags=[4, 4, 4])
    found = labels_from_totals(membership, (membership.T @ labels)[:, None], groups=np.repeat([0, 1, 2], 4))
    assert found.cells == 64
    assert not found.undecided.any()
    np.testing.assert_array_equal(found.labels[found.known], labels[found.known])
    assert found.known[(assigned[0] > 0)].all()


PEOPLE = pa.table({"city": ["bonn", "bonn", "bonn", "rome", "rome", None], "age": [20, 30, 40, 20, 30, 50]})


def partition_of(columns, labels, *, targets=1, edges=None, keep=lambda count: count > 0):
    features = tuple(KeyColumn(name, edges=(edges or {}).get(name)) for name in columns)
    codes = [feature.codes(PEOPLE[feature.name]).to_pylist() for feature in features]
    keys = sorted(set(zip(*codes, strict=True)), key=str)
    statistics = np.asarray(labels, dtype=np.float64).reshape(len(PEOPLE), targets)
    members = [[row == key for row in zip(*codes, strict=True)] for key in keys]
    kept = [(key, member) for key, member in zip(keys, members, strict=True) if keep(sum(member))]
    table = pa.table({f.name: [key[i] for key, _ in kept] for i, f in enumerate(features)})
    counts = np.array([sum(member) for _, member in kept])
    return Partition(
        features=features,
        keys=table,
        counts=counts,
        totals=np.array([statistics[member].sum(axis=0) for _, member in kept]),
    )


def released(*partitions, loss=None, guarantee=None, rows=None):
    return BagTotals(
        partitions=partitions,
        loss=loss or LogisticLoss(),
        guarantee=guarantee or NoGuarantee(reason="exact"),
        seeded=False,
        label="y",
        mechanism={"name": "m"},
        rows=rows,
    )


def test_a_release_of_partitions():
    labels = [1, 0, 0, 1, 1, 0]
    release = released(partition_of(["city"], labels), partition_of(["age"], labels, edges={"age": (35,)}), rows=6)
    assert determined(release, PEOPLE).labels.tolist()[2:] == [0, 1, 1, 0]
    with pytest.raises(InvalidInput, match="the 6 rows that the bags were made from, got 5"):
        determined(release, PEOPLE.slice(1))
    with pytest.raises(InvalidInput, match="the bag city = bonn has 3 rows, got 2"):
        determined(released(partition_of(["city"], labels)), PEOPLE.slice(1))


def test_a_release_of_classes_and_counts():
    labels = np.array([2, 2, 2, 0, 1, 1])
    release = released(partition_of(["city"], np.eye(3)[labels], targets=3), loss=CategoricalLoss(classes=3))
    np.testing.assert_array_equal(determined(release, PEOPLE).labels, [2, 2, 2, np.nan, np.nan, 1])
    visits = released(partition_of(["city"], [3, 3, 3, 0, 0, 7]), loss=PoissonLoss(most=9))
    np.testing.assert_array_equal(determined(visits, PEOPLE).labels, [np.nan] * 3 + [0, 0, 7])
    unbounded = released(partition_of(["city"], [3, 3, 3, 0, 0, 7]), loss=PoissonLoss())
    np.testing.assert_array_equal(determined(unbounded, PEOPLE).labels, [np.nan] * 3 + [0, 0, 7])


def test_a_release_of_real_numbers():
    loss = SquaredLoss(lower=-1.0, upper=4.0)
    release = released(partition_of(["city"], [4, 4, 4, 0.5, 0, 1.25]), loss=loss)
    np.testing.assert_array_equal(determined(release, PEOPLE).labels, [np.nan] * 5 + [1.25])
    whole = released(partition_of(["city"], [4, 4, 4, -1, -1, 1]), loss=loss)
    assert determined(whole, PEOPLE, whole=True).labels.tolist() == [4, 4, 4, -1, -1, 1]
    with pytest.raises(InvalidInput, match="declared integer bounds"):
        determined(released(partition_of(["city"], [1] * 6), loss=SquaredLoss()), PEOPLE, whole=True)


def test_noised_totals_fix_nothing():
    exact = partition_of(["city"], [1, 1, 1, 0, 0, 1])
    noised = Partition(
        features=exact.features, keys=exact.keys, counts=exact.counts, totals=exact.totals + 0.0, variance=2.0
    )
    found = determined(released(noised, guarantee=Guarantee(unit=Unit.LABEL, epsilon=1.0)), PEOPLE)
    assert found.count == 0
    assert not found.undecided.any()
    assert determined(released(exact), PEOPLE).count == 6


def random_release(rows, labels, **settings):
    bags = RandomBags(rows=np.array(rows), labels=np.array(labels, dtype=np.float64)[:, None], **settings)
    return BagTotals(
        random=bags,
        loss=LogisticLoss(),
        guarantee=NoGuarantee(reason="exact"),
        seeded=False,
        label="y",
        mechanism={"name": "m"},
    )


def test_a_release_of_random_bags():
    release = random_release([[0, 1, 2], [0, 1, 3], [3, 4, 5]], [1 / 3, 2 / 3, 1 / 3])
    assert determined(release, PEOPLE).labels.tolist()[2:4] == [0, 1]
    with pytest.raises(InvalidInput, match="the 6 rows that the bags name, got 5"):
        determined(release, PEOPLE.slice(1))


def test_bernoulli_draws_fix_only_what_they_must():
    one = random_release([[0], [3]], [1, 0], bernoulli=True)
    assert determined(one, PEOPLE).labels.tolist()[0] == 1
    assert determined(one, PEOPLE).count == 2
    assert determined(random_release([[0, 1], [0, 1]], [1, 1], bernoulli=True), PEOPLE).count == 0


def test_solve_reduces_large_components_by_their_row_space():
    rng = np.random.default_rng(1)
    assigned = [rng.integers(0, 3, 40), rng.integers(0, 4, 40), np.arange(40) // 2]
    membership = membership_of(assigned, bags=[3, 4, 20])
    labels = rng.integers(0, 2, 40)
    totals = (membership.T @ labels)[:, None]
    system = system_of(collapse(membership), low=totals, high=totals, most=1)
    few, all_found = solve(system, effort=SearchLimits(variables=0)), solve(system)
    fixed = few.lower == few.upper
    assert (all_found.lower[fixed] == few.lower[fixed]).all()
    assert all_found.decided.all()
