"""All teams together: how much they learn from shared answers, and what the server does once these are used."""

import math

import numpy as np
import pytest

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics import Accuracy, Auc, LogLoss
from tacit.scores.policies import Exact, Laplace, Rounded
from tacit.server import CompetitionPlan, CompetitionTerms, Rules
from tacit.server.app import running
from tacit.server.coalition import answers_within, points_gained
from tacit.server.replay import replay_attack
from tests.server.rules import rules_of

ROWS, TEAMS = 600, 4
TRUTH = np.random.default_rng(1).integers(0, 2, ROWS)
FEATURES = ("size\n" + "".join(f"{row}\n" for row in range(ROWS))).encode()
LABELS = ("label\n" + "".join(f"{label}\n" for label in TRUTH)).encode()


def rules_together(**given):
    plan = CompetitionPlan(metric="accuracy", policy="exact", epsilon=None, submissions=10)
    given = {"public_fraction": 0.5, "teams": TEAMS, "together": 10, "rarest": 0.4, "per_day": None, **given}
    return Rules(**{"plan": plan, **given})


class TestTheLaw:
    @pytest.mark.parametrize(("rows", "points"), [(660, 3), (660, 10), (1930, 10), (14_653, 10)])
    def test_few_exact_answers_on_balanced_labels(self, rows, points):
        """About sqrt(2Q / (pi n)), as long as few labels are known."""
        expected = math.pi * rows * (points / 100) ** 2 / 2
        found = answers_within(points, Accuracy(), Exact(), rows=rows, rarest=0.5)
        assert expected * 0.95 - 1 <= found <= expected

    def test_best_linear_guess_of_coins(self):
        """Random halves, exact counts, and the sign of each row's sum of answers: nothing better is linear."""
        rng, rows, answers, runs = np.random.default_rng(3), 660, 10, 60
        gained = []
        for _ in range(runs):
            truth, asked = rng.choice([-1, 1], rows), rng.choice([-1, 1], (answers, rows))
            guess = np.sign(asked.T @ (asked @ truth) + 1e-9)
            gained.append(100 * float((guess * truth).mean()))
        expected = points_gained(answers, rows=rows, noise=0.0, rarest=0.5)
        error = np.std(gained) / math.sqrt(runs)
        assert abs(np.mean(gained) - expected) < 0.4 + 4 * error
        assert abs(np.mean(gained) - points_gained(2 * answers, rows=rows, noise=0.0, rarest=0.5)) > 2, "control"

    def test_rare_labels_gain_more_and_noise_helps(self):
        known = {"rows": 660, "noise": 0.0, "rarest": 0.5}
        assert points_gained(10, **known | {"rarest": 0.01}) > 4 * points_gained(10, **known)
        assert points_gained(10, **known | {"noise": 1000.0}) < points_gained(10, **known) / 2
        assert points_gained(0, **known) == 0
        assert points_gained(10**6, **known) == pytest.approx(100)

    def test_answers_of_many_digits_are_fewer(self):
        """An exact log loss spells out dozens of labels."""
        exact = answers_within(10, LogLoss(), Exact(), rows=660, rarest=0.5)
        rounded = answers_within(10, LogLoss(), Rounded(decimals=2), rows=660, rarest=0.5)
        assert exact == 1
        assert rounded == 10

    def test_answers_of_unknown_attacks_are_counted_by_their_bits(self):
        found = answers_within(10, Auc(), Rounded(decimals=3), rows=14_653, rarest=0.2)
        assert found == 6
        assert found < answers_within(10, Accuracy(), Rounded(decimals=3), rows=14_653, rarest=0.2) / 10
        with pytest.raises(InvalidInput, match="policy must be rounded for AUC"):
            answers_within(10, Auc(), Exact(), rows=660, rarest=0.5)

    @pytest.mark.parametrize("share", [0.5, 0.2])
    def test_no_function_of_few_bits_gains_more(self, share):
        """Every label set of eight rows; 300 random functions and the best known ones, of two bits."""
        rng, rows, bits = np.random.default_rng(0), 8, 2
        labels = (np.arange(2**rows)[:, None] >> np.arange(rows)) & 1
        chance = np.prod(np.where(labels == 1, share, 1 - share), axis=1)
        answers = [*rng.integers(0, 2**bits, (300, 2**rows)), labels[:, :bits] @ (1 << np.arange(bits))]
        answers += [np.digitize(labels.sum(axis=1), cuts) for cuts in ((2, 4, 6), (1, 2, 3), (3, 4, 5))]
        most = max(_mean_advantage(one, labels, chance) for one in answers)
        bound = math.sqrt(bits * math.log(2) / (2 * share * (1 - share) * rows))
        assert bound / 3 < most <= bound


def _mean_advantage(answers, labels, chance):
    """Return the mean over rows of the largest difference of hit and alarm rates that a guess by the answer has."""
    found = []
    for label in labels.T:
        ones, zeros = (
            np.bincount(answers, chance * (label == value), minlength=4) / chance[label == value].sum()
            for value in (1, 0)
        )
        found.append(np.abs(ones - zeros).sum() / 2)
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"plan": CompetitionPlan(metric="accuracy", policy="laplace", epsilon=20)}, "policy must be exact or rounded"),
        ({"plan": CompetitionPlan(metric="mae:lower=0,upper=1", policy="exact", epsilon=None)}, "no classes"),
        ({"public_fraction": 1.0}, "public_fraction must be below 1 with together"),
        ({"together": None, "live": "spent"}, "together must be given"),
        ({"together": 100}, "together must be a number above 0 and below 100"),
    ],
)
def test_rules_that_do_not_fit_are_refused(given, named):
    with pytest.raises(InvalidInput, match=named):
        rules_together(**given)


def create(engine, **given):
    terms = CompetitionTerms(slug="coins", name="Coins", rules=rules_together(**given))
    return engine.create_competition(terms, features=FEATURES, labels=LABELS)


def guess(seed):
    return np.random.default_rng(seed).integers(0, 2, ROWS)


class TestShared:
    def test_the_teams_share_the_answers_and_the_rest_is_kept(self, sqlite_engine):
        engine = sqlite_engine
        found = create(engine)
        assert found.answers == 1
        assert "A team gets 1 live score, 4 in all" in found.rules[-2]
        assert "at most 10 points of balanced advantage" in found.rules[-1]
        teams = [engine.register(engine.invite("coins"), name=f"Team {number}").team for number in range(3)]
        first = engine.submit(teams[0], guess(0)).result()
        assert first.released is not None
        kept = engine.submit(teams[0], guess(1), id="again").result()
        assert (kept.released, kept.text) == (None, "")
        assert engine.submit(teams[0], guess(1), id="again").result() == kept, "the same id, the same answer"
        assert engine.remaining(teams[0]).live == 0
        assert engine.submit(teams[1], guess(0)).result().text == first.text, "an answer that was given costs nothing"
        assert engine.remaining(teams[1]).live == 1
        for seed in (2, 3, 4):
            engine.submit(teams[1], guess(seed)).result()
        assert [one.number for one in engine.history("coins")] == [1, 1, 2]
        assert {place.team for place in engine.leaderboard("coins")} == {"Team 0", "Team 1"}

    def test_kept_submissions_are_ranked_at_the_end(self, sqlite_engine):
        engine = sqlite_engine
        create(engine, public_fraction=0.3, final_epsilon=50)
        good, bad = (engine.register(engine.invite("coins"), name=name).team for name in ("Good", "Bad"))
        assert engine.remaining(good).live == 0
        for team, predictions in ((good, TRUTH), (bad, 1 - TRUTH)):
            assert engine.submit(team, predictions).result().released is None
        assert engine.leaderboard("coins") == ()
        assert [(place.team, place.public_rank) for place in engine.finish("coins")] == [("Good", None), ("Bad", None)]

    def test_labels_that_are_given_away_are_answered_always(self, sqlite_engine):
        engine = sqlite_engine
        found = create(engine, live="spent")
        assert "are revealed" in found.rules[-2]
        team = engine.register(engine.invite("coins"), name="One").team
        assert all(engine.submit(team, guess(seed)).result().released is not None for seed in range(10))
        assert engine.remaining(team).live is None

    def test_too_many_final_scores_are_refused(self, sqlite_engine):
        with pytest.raises(InvalidInput, match="teams must be at most 4 with together: the final scores of more"):
            create(sqlite_engine, teams=5)

    def test_a_rarer_class_is_refused(self, sqlite_engine):
        with pytest.raises(InvalidInput, match="a smaller one gives fewer answers"):
            create(sqlite_engine, rarest=0.5)


class TestTheReplay:
    """All teams that may join, over HTTP, against the labels of coins, of which features tell nothing."""

    def attack(self, engine, **given):
        coins = np.full((ROWS, 2), 0.5)
        return replay_attack(engine, "coins", serving=running, prior=coins, rng=np.random.default_rng(0), **given)

    def test_teams_that_share_answers_stay_within_their_points(self, sqlite_engine):
        create(sqlite_engine)
        found = self.attack(sqlite_engine, teams=TEAMS)
        assert found.submissions == 2 * TEAMS
        assert found.attack.endswith("and over the final ones")
        assert abs(100 * (2 * found.recovered - 1)) <= 11 + 8, "10 points, and two deviations of 600 coins"

    def test_teams_without_a_limit_learn_more_together(self, sqlite_engine):
        """The control: the same attack on teams of 30 noisy scores each."""
        rules = rules_of(policy=Laplace(epsilon=2.0), submissions=30, per_day=None, public_fraction=0.5, teams=10)
        terms = CompetitionTerms(slug="coins", name="Coins", rules=rules)
        sqlite_engine.create_competition(terms, features=FEATURES, labels=LABELS)
        alone, together = (self.attack(sqlite_engine, teams=teams) for teams in (1, 10))
        assert together.submissions == 300
        assert together.recovered > alone.recovered + 0.05
        assert together.exposed > alone.exposed + 10
