"""The change of odds: bounded by the guarantee, found for rare labels, and honest about few rows."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.leak.flags import odds_changes, worst_first
from tacit.leak.odds import LeakVerdict, OddsChange, compare_odds
from tacit.privacy import InvalidInput

LIMIT = 10


def transition(epsilon, classes=2):
    kept = math.exp(epsilon)
    return np.where(np.eye(classes, dtype=bool), kept, 1.0) / (kept + classes - 1)


def randomized(truth, epsilon, rng, classes=2):
    cumulative = transition(epsilon, classes)[truth].cumsum(axis=1)
    return (rng.random((len(truth), 1)) > cumulative).sum(axis=1)


def measured(truth, epsilon, rng, *, prior=None, believed=None, classes=2):
    """The changes for an attacker who believes ``prior`` beforehand, and in ``believed`` as the mechanism's epsilon."""
    known = np.bincount(truth, minlength=classes) / len(truth) if prior is None else prior
    likelihood = transition(believed or epsilon, classes)[:, randomized(truth, epsilon, rng, classes)].T
    after = known * likelihood
    names = [f"class {code}" for code in range(classes)]
    return odds_changes(known, after / after.sum(axis=1, keepdims=True), truth, names=names)


def rare(rows, ill):
    return (np.arange(rows) < ill).astype(np.int64)


@pytest.mark.parametrize("epsilon", [5, 8, 40])
def test_a_rare_label_is_found_at_a_large_epsilon(epsilon):
    for seed in range(20):
        worst, *_ = changes = measured(rare(3000, 12), epsilon, np.random.default_rng(seed))
        assert compare_odds(changes, limit=LIMIT) is LeakVerdict.ABOVE
        assert worst.name == "class 1"
        assert worst.share == 0.004
        assert worst.suspicion > 0.2


def test_of_classes_that_are_exposed_alike_the_rarest_comes_first():
    for seed in range(20):
        assert measured(rare(3000, 30), 1, np.random.default_rng(seed))[0].name == "class 1"


def test_a_rare_class_of_which_little_is_known_does_not_hide_a_leak():
    sure = OddsChange.from_counts("many", found=500, rows=1000, mistaken=50, others=1000, share=0.5, level=0.95)
    unknown = OddsChange.from_counts("few", found=2, rows=10, mistaken=40, others=1000, share=0.01, level=0.95)
    assert unknown.odds_interval.high > sure.odds_interval.low > unknown.odds
    assert [change.name for change in worst_first([unknown, sure])] == ["many", "few"]


def test_suspicion_is_what_bayes_says():
    """Of 12 ill in 3,000 and epsilon 8, a person released as ill is ill with probability 92%."""
    found = [measured(rare(3000, 12), 8, np.random.default_rng(seed))[0] for seed in range(40)]
    mistaken, flagged = (np.mean([getattr(one, name) for one in found]) for name in ("falsely_flagged", "flagged"))
    after = 0.004 * flagged / (0.004 * flagged + 0.996 * mistaken)
    assert after == pytest.approx(0.92, abs=0.02)


def test_a_small_epsilon_is_below_the_limit_on_many_rows_and_unknown_on_few():
    many = measured(rare(100_000, 400), 0.5, np.random.default_rng(0))
    assert compare_odds(many, limit=LIMIT) is LeakVerdict.BELOW
    for seed in range(20):
        few = measured(rare(300, 1), 0.5, np.random.default_rng(seed))
        assert compare_odds(few, limit=LIMIT) is LeakVerdict.UNKNOWN


def test_at_the_limit_hardly_anything_is_decided():
    """The measure claims too much in at most 5% of runs; with epsilon a third larger it decides."""
    truth = rare(4000, 2000)
    verdicts = [
        compare_odds(measured(truth, math.log(LIMIT), np.random.default_rng(seed)), limit=LIMIT) for seed in range(100)
    ]
    assert sum(verdict is not LeakVerdict.UNKNOWN for verdict in verdicts) <= 5
    louder = [
        compare_odds(measured(truth, 1.33 * math.log(LIMIT), np.random.default_rng(seed)), limit=LIMIT)
        for seed in range(20)
    ]
    assert louder.count(LeakVerdict.ABOVE) >= 18


def test_what_features_reveal_cancels():
    """With beliefs that differ by row, the odds change is still that of the mechanism, and its interval covers it."""
    epsilon, covered, raw = 1.0, 0, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        chance = rng.beta(0.5, 4.0, 4000)
        truth = (rng.random(4000) < chance).astype(np.int64)
        prior = np.stack([1 - chance, chance], axis=1)
        ill = next(one for one in measured(truth, epsilon, rng, prior=prior) if one.name == "class 1")
        covered += ill.odds_interval.low <= math.e <= ill.odds_interval.high
        raw.append(ill.odds)
    assert covered >= 57
    assert np.mean(raw) == pytest.approx(math.e, rel=0.05)


def test_one_row_that_was_all_but_certain_does_not_outweigh_the_rest():
    rng = np.random.default_rng(3)
    truth = (rng.random(2000) < 0.3).astype(np.int64)
    chance = np.full(2000, 0.3)
    chance[np.flatnonzero(truth == 0)[0]] = 1 - 1e-9
    ill = next(
        one for one in measured(truth, 1.0, rng, prior=np.stack([1 - chance, chance], axis=1)) if one.rows < 1000
    )
    assert ill.others > 500
    assert ill.odds_interval.low < math.e < ill.odds_interval.high < 5


def test_a_flag_of_the_features_alone_is_no_leak():
    rng = np.random.default_rng(0)
    chance = rng.beta(0.5, 4.0, 20_000)
    truth = (rng.random(len(chance)) < chance).astype(np.int64)
    prior = np.stack([1 - chance, chance], axis=1)
    assert all(change.odds == 1.0 for change in odds_changes(prior, prior, truth, names=["no", "yes"]))


def test_a_wrong_belief_makes_a_flag_of_the_features_look_like_a_leak():
    """Why the bound e^epsilon is claimed only for calibrated beliefs: no release, epsilon 0, odds ninefold."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 20_000)
    truth = (rng.random(len(x)) < np.where(x == 1, 0.9, 0.1)).astype(np.int64)
    flagged = np.stack([0.5 - 0.1 * x, 0.5 + 0.1 * x], axis=1)
    wrong = odds_changes([0.5, 0.5], flagged, truth, names=["no", "yes"])
    assert max(change.odds for change in wrong) > 7
    known = np.where(x[:, None] == 1, [0.1, 0.9], [0.9, 0.1])
    nudged = known * np.where(x[:, None] == 1, [0.9, 1.1], [1.0, 1.0])
    right = odds_changes(known, nudged / nudged.sum(axis=1, keepdims=True), truth, names=["no", "yes"])
    assert max(change.odds for change in right) < 1.5


def test_equal_labels_are_revealed_at_a_small_epsilon():
    """Why the bound e^epsilon needs labels that are independent given the features."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 40)
    truth = np.repeat(groups, 500)
    shares = randomized(truth, 0.5, rng).reshape(40, 500).mean(axis=1)
    after = np.clip(np.repeat(shares > 0.5, 500).astype(float), 0.001, 0.999)
    changes = odds_changes([0.5, 0.5], np.stack([1 - after, after], axis=1), truth, names=["no", "yes"])
    assert min(change.odds for change in changes) > 100 > math.exp(0.5)


def test_classes_of_few_rows_are_pooled():
    truth = np.repeat([0, 1, 2, 3], [500, 400, 15, 5])
    changes = measured(truth, 3.0, np.random.default_rng(0), classes=4)
    assert {change.name for change in changes} == {"class 0", "class 1", "class 2 or class 3"}
    assert sum(change.rows for change in changes) == len(truth)


def test_few_rows_in_all_are_compared_class_by_class():
    truth = np.repeat([0, 1], [8, 5])
    assert {one.rows for one in measured(truth, 1.0, np.random.default_rng(0))} == {5, 8}
    assert odds_changes([1.0, 0.0], np.tile([1.0, 0.0], (9, 1)), np.zeros(9), names=["a", "b"]) == ()


def test_an_attacker_never_flags_everyone():
    """To flag everyone changes no odds, so that few rows of a weak release would look safe."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        changes = measured(rng.integers(0, 2, 30), 1.0, rng)
        assert all(change.falsely_flagged < 1 for change in changes)


def test_many_numbers_are_compared_by_quartiles():
    values = np.arange(40)
    truth = np.random.default_rng(0).integers(0, 40, 2000)
    changes = odds_changes(np.full(40, 1 / 40), np.eye(40)[truth], truth, names=values.tolist())
    assert {one.name for one in changes} == {"0 to 9", "10 to 19", "20 to 29", "30 to 39"}
    assert all(one.flagged == 1.0 for one in changes)


def test_exact_labels_are_certain():
    truth = rare(3000, 12)
    ill = odds_changes([0.996, 0.004], np.eye(2)[truth], truth, names=["well", "ill"])[0]
    assert (ill.name, ill.odds, ill.suspicion, ill.flagged) == ("ill", math.inf, 1.0, 1.0)
    assert str(ill).startswith("ill: suspicion goes from 0.4% to 100% (")
    assert "the odds change at least" in str(ill)


def test_json_round_trip():
    change = measured(rare(3000, 12), 8, np.random.default_rng(1))[0]
    for scope in ("", "of this release"):
        change = replace(change, scope=scope)
        document = json.loads(json.dumps(change.to_json(), allow_nan=False))
        assert OddsChange.from_json(document) == change
        assert (" for a flagged row of this release; " in str(change)) == bool(scope)
    del document["scope"]  # as older files
    assert OddsChange.from_json(document).scope == ""


def test_shapes_are_checked():
    with pytest.raises(InvalidInput, match="must have the shape"):
        odds_changes([0.5, 0.5], np.eye(3), [0, 1, 2], names=["a", "b"])


@pytest.mark.parametrize("belief", [0.5, 2.0])
def test_rounding_errors_do_not_tell_rows_apart_by_their_features(belief):
    """Ratios that are equal but for rounding would be split by the prior, whose strength is wrong here."""
    true = np.random.default_rng(0).uniform(0.05, 0.95, size=40)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        chance = rng.choice(true, 20_000)
        wrong = chance**belief / (chance**belief + (1 - chance) ** belief)
        truth = (rng.random(20_000) < chance).astype(np.int64)
        changes = measured(truth, 0.5, rng, prior=np.column_stack([1 - wrong, wrong]))
        assert max(change.odds_interval.low for change in changes) <= math.exp(0.5)


def test_capped_weights_do_not_make_a_leak_of_the_features():
    """A flag of rows that are likely anyway: the cap of one side alone would let it change the odds."""
    above = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        sure = np.arange(5_000) < 100
        chance = np.where(sure, 0.8, 0.05)
        truth = (rng.random(5_000) < chance).astype(np.int64)
        flagged = sure & (rng.random(5_000) < np.where(truth, 0.6, 0.5))
        odds = chance / (1 - chance) * np.exp(2.0 * flagged - 1)
        after = odds / (1 + odds)
        changes = odds_changes(
            np.column_stack([1 - chance, chance]), np.column_stack([1 - after, after]), truth, names=["no", "yes"]
        )
        (change,) = (one for one in changes if one.name == "yes")
        above += change.odds_interval.low > 0.6 / 0.5
    assert above <= 5


def test_beliefs_and_labels_must_be_possible():
    even = np.full((40, 2), 0.5)
    with pytest.raises(InvalidInput, match="after must be probabilities"):
        odds_changes(even, np.where(np.arange(80).reshape(40, 2) == 3, np.nan, even), rare(40, 20), names="ab")
    for codes in (rare(40, 20) + 1, rare(40, 20) - 1):
        with pytest.raises(InvalidInput, match="truth must be from 0 to 1"):
            odds_changes(even, even, codes, names="ab")


@pytest.mark.parametrize("beliefs", [[-1.0, 2.0], [0.0, 0.0], [1.5, 1.5], [np.nan, 0.5]])
def test_beliefs_that_are_no_probabilities_are_refused(beliefs):
    """What is clipped would measure no change, and pass a gate."""
    truth = np.tile([0, 1], 50)
    for before, after in (([0.5, 0.5], beliefs), (beliefs, [0.5, 0.5])):
        with pytest.raises(InvalidInput, match="must be probabilities"):
            odds_changes(before, np.tile(after, (100, 1)), truth, names=["no", "yes"])
