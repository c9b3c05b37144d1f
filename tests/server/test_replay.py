"""The replay: the real attack over HTTP against a copy, and a number that means something."""

import itertools
import socket

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from tacit.leak.prior import feature_prior
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.scores.attacks import AttackResult, attack_competition, attack_final_scores
from tacit.scores.metrics import Accuracy, LogLoss, Rmse
from tacit.scores.policies import Exact, Ladder, Laplace, Rounded, Thresholdout
from tacit.server import CompetitionTerms, ScoringEngine, ServerSettings
from tacit.server.app import running
from tacit.server.client import ServerClient, ServerUnreachable
from tacit.server.demo import create_titanic
from tacit.server.replay import prior_of, replay_attack
from tests.server.rules import rules_of

ROWS = 120
TRUTH = np.random.default_rng(0).integers(0, 2, ROWS)


def open_engine(folder, rules, *, truth=TRUTH):
    engine = ScoringEngine.open(ServerSettings(folder=folder))
    features = "id,size\n" + "".join(f"{i},{i % 3}\n" for i in range(len(truth)))
    labels = "label\n" + "".join(f"{label}\n" for label in truth)
    terms = CompetitionTerms(slug="coins", name="Coins", rules=rules)
    engine.create_competition(terms, features=features.encode(), labels=labels.encode())
    return engine


@pytest.fixture(scope="module")
def beliefs(tmp_path_factory):
    """What the features of the coins say of them, worked out once: the forest takes longer than an attack."""
    engine = open_engine(tmp_path_factory.mktemp("beliefs"), rules_of(policy=Exact(), public_fraction=1.0))
    board = engine.board("coins")
    engine.close()
    return prior_of(board)


@pytest.mark.parametrize(
    ("rules", "submissions", "least"),
    [
        (rules_of(metric=LogLoss(), policy=Exact(), public_fraction=1.0), 100, 1.0),
        (rules_of(metric=Accuracy(), policy=Rounded(decimals=1), public_fraction=1.0), 200, 0.85),
        (rules_of(metric=Rmse(), policy=Laplace(epsilon=5.0), public_fraction=1.0), 150, 0.95),
    ],
)
def test_what_leaks_is_found(tmp_path, beliefs, rules, submissions, least):
    engine = open_engine(tmp_path, rules)
    seen = []
    found = replay_attack(
        engine,
        "coins",
        serving=running,
        submissions=submissions,
        prior=None if least == 1 else beliefs,  # once as it is by default
        rng=np.random.default_rng(0),
        progress=seen.append,
    )
    assert found.recovered >= least
    assert found.baseline == (beliefs.argmax(axis=1) == TRUTH).mean()
    assert found.gained > 0.05
    assert 0 < found.submissions <= submissions
    assert [one.submissions for one in seen] == sorted(one.submissions for one in seen)
    assert seen[-1].recovered == found.recovered
    assert engine.teams("coins") == ()
    assert engine.spend("coins").spent == 0
    engine.close()


@pytest.mark.parametrize("classes", [2, 3])
def test_an_attacker_is_as_sure_of_the_features_as_they_are_right(tmp_path, classes):
    rng = np.random.default_rng(classes)
    engine = ScoringEngine.open(ServerSettings(folder=tmp_path))
    features = "size\n" + "".join(f"{size:.6f}\n" for size in rng.normal(size=300))
    labels = "label\n" + "".join(f"{label}\n" for label in rng.integers(0, classes, 300))
    terms = CompetitionTerms(
        slug="dice", name="Dice", rules=rules_of(metric=Accuracy(classes=classes), policy=Exact(), public_fraction=1.0)
    )
    engine.create_competition(terms, features=features.encode(), labels=labels.encode())
    board = engine.board("dice")
    engine.close()
    forest, prior = feature_prior(board.matrix, board.labels.codes, classes=classes), prior_of(board)
    right = max(1 / classes, (prior.argmax(axis=1) == board.labels.codes).mean())
    assert forest.max(axis=1).mean() > right + 0.1, "control: trees grown on dice believe themselves"
    assert prior.max(axis=1).mean() == pytest.approx(right, abs=1e-5)
    np.testing.assert_array_equal(prior.argmax(axis=1), forest.argmax(axis=1))


def test_a_safe_setting_passes(tmp_path, beliefs):
    engine = open_engine(tmp_path, rules_of(metric=LogLoss(), policy=Laplace(epsilon=0.001), public_fraction=1.0))
    found = replay_attack(engine, "coins", serving=running, submissions=20, prior=beliefs, rng=np.random.default_rng(0))
    assert found.submissions == 20
    assert abs(found.gained) < 0.1
    engine.close()


def test_numbers_of_a_range_cannot_be_replayed(tmp_path):
    engine = open_engine(
        tmp_path, rules_of(metric=Rmse(upper=3.0), policy=Exact(), public_fraction=1.0), truth=TRUTH * 2.5
    )
    with pytest.raises(InvalidInput, match="labels must be classes"):
        replay_attack(engine, "coins", serving=running, submissions=5, rng=np.random.default_rng(0))
    engine.close()


def test_the_copy_is_reached_over_http_and_keeps_its_budget(tmp_path):
    engine = open_engine(tmp_path, rules_of(metric=Accuracy(), policy=Exact(), public_fraction=1.0))
    with running(engine) as url, ServerClient(url=url) as client:
        assert client.call("GET", "/competitions/coins")["rows"] == ROWS
        with pytest.raises(Exception, match="only a team of this competition"):
            client.submit("coins", TRUTH)
    engine.close()


def simulated(rules, truth, rng):
    """A host in this process, with the state that a server would keep."""
    state, public = {}, np.ones(len(truth), dtype=bool)
    if rules.is_split:
        public = rules.public_rows(range(len(truth)), key=b"key")

    def submit(predictions):
        nonlocal state
        answer = rules.policy.release(
            rules.plan.metric.measure(truth[public], predictions[public]), state=state, rng=rng
        )
        state = answer.state
        return answer.text

    return submit, public


@pytest.mark.parametrize("metric", [Accuracy(), LogLoss()])
def test_unscored_rows_do_not_mislead(metric):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    rules = rules_of(metric=metric, policy=Exact(), public_fraction=0.5, final=None)
    submit, public = simulated(rules, truth, rng)
    found = attack_competition(
        submit,
        rules.plan.metric,
        rules.policy,
        public_fraction=rules.public_fraction,
        prior=np.full((300, 2), 0.5),
        submissions=600,
        rng=rng,
    )
    assert (found.labels == truth)[public].mean() > 0.95
    assert (found.labels == truth)[~public].mean() < 0.7


def test_a_ladder_with_small_steps_is_climbed():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    rules = rules_of(metric=Accuracy(), policy=Ladder(step=0.005), public_fraction=1.0)
    submit, _ = simulated(rules, truth, rng)
    found = attack_competition(
        submit,
        rules.plan.metric,
        rules.policy,
        public_fraction=rules.public_fraction,
        prior=np.full((200, 2), 0.5),
        submissions=1500,
        rng=rng,
    )
    assert (found.labels == truth).mean() > (truth == 0).mean() + 0.05  # the first guess is 0 for every row


def test_thresholdout_ends_the_attack_with_what_there_is():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    rules = rules_of(
        metric=Accuracy(), policy=Thresholdout(epsilon=1.0, threshold=0.0, refreshes=5), public_fraction=1.0
    )
    submit, _ = simulated(rules, truth, rng)

    def refused(predictions):
        from tacit.privacy.errors import BudgetExceeded
        from tacit.scores.attacks import OracleError

        try:
            return submit(predictions)
        except BudgetExceeded as error:
            raise OracleError(str(error)) from None

    found = attack_competition(
        refused, rules.plan.metric, rules.policy, prior=np.full((200, 2), 0.5), submissions=500, rng=rng
    )
    assert found.submissions < 500


def test_the_baseline_knows_the_features_alone():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 3))
    labels = (features[:, 0] > 0).astype(int)
    assert (feature_prior(features, labels, classes=2).argmax(axis=1) == labels).mean() > 0.95
    coins = rng.integers(0, 2, 600)  # not to be learned: a model that had seen its rows would be far above 1/2
    assert abs((feature_prior(features, coins, classes=2).argmax(axis=1) == coins).mean() - 0.5) < 0.1
    nothing = feature_prior(np.zeros((600, 0)), coins, classes=2)
    np.testing.assert_allclose(nothing[0], np.bincount(coins) / 600)


def test_the_default_gives_titanic_away_to_all_teams_by_no_more_than_two_points(tmp_path):
    engine = ScoringEngine.open(ServerSettings(folder=tmp_path))
    create_titanic(engine)
    rules = rules_of(metric=LogLoss(floor=0.01), policy=Rounded(), together=10, teams=4, rarest=0.25)
    assert engine.board("titanic").rules == rules
    found = replay_attack(engine, "titanic", serving=running, teams=4, rng=np.random.default_rng(0))
    assert found.gained <= 0.02
    assert found.submissions == 4 * (1 + 1), "live scores and a final one for each"
    assert found.attack.endswith("and over the final ones")
    engine.close()


def test_the_final_score_is_attacked_over_http(tmp_path, beliefs):
    rules = rules_of(metric=LogLoss(), policy=Laplace(epsilon=0.001), public_fraction=0.3, final=None)
    engine = open_engine(tmp_path, rules)
    found = replay_attack(engine, "coins", serving=running, submissions=1, prior=beliefs, rng=np.random.default_rng(0))
    assert "final" not in found.attack  # the only submission asks the live scores
    found = replay_attack(engine, "coins", serving=running, submissions=3, prior=beliefs, rng=np.random.default_rng(0))
    assert (found.submissions, found.attack) == (3, "Bayes' rule over all scores, and over the final one")
    assert not engine.competition("coins").finished
    engine.close()


@pytest.mark.parametrize("metric", [LogLoss(), Accuracy()])
@pytest.mark.parametrize(("policy", "least", "most"), [(Exact(), 0.9, 1.0), (Laplace(epsilon=0.001), 0.2, 0.8)])
def test_one_final_score_tells_one_label_in_doubt(metric, policy, least, most):
    public, prior, right = np.arange(60) < 18, np.tile([0.9999, 0.0001], (60, 1)), []
    prior[-1] = 0.5
    before = AttackResult(
        labels=prior.argmax(axis=1),
        submissions=9,
        attack="all",
        after=prior,
        beliefs=np.concatenate([prior * public[:, None], ~public[:, None]], axis=1),
    )
    for seed in range(30):
        rng, truth = np.random.default_rng(seed), np.zeros(60, dtype=int)
        truth[-1] = seed % 2

        def submit(asked, truth=truth, rng=rng):
            (predictions,) = asked
            return [policy.release(metric.measure(truth[~public], predictions[~public]), state={}, rng=rng).text]

        found = attack_final_scores(submit, metric, policy, private_fraction=0.7, before=before, prior=prior, rng=rng)
        right.append(found.labels[-1] == truth[-1])
    assert least <= np.mean(right) <= most


@pytest.mark.parametrize("policy", [Exact(), Laplace(epsilon=5.0)])
def test_an_attack_that_breaks_off_is_an_error_and_no_small_number(tmp_path, monkeypatch, beliefs, policy):
    engine = open_engine(tmp_path, rules_of(metric=Accuracy(), policy=policy, public_fraction=1.0))
    send, made = ServerClient._send, itertools.count()

    def break_off(self, method, *rest):
        if method == "POST" and next(made) >= 5:
            raise ServerUnreachable("the connection is lost")
        return send(self, method, *rest)

    monkeypatch.setattr(ServerClient, "_send", break_off)
    with pytest.raises(TacitError, match="was interrupted and has no result"):
        replay_attack(engine, "coins", serving=running, submissions=60, prior=beliefs, rng=np.random.default_rng(0))
    engine.close()


def test_a_submission_whose_connection_was_closed_is_sent_again_and_counts_once(tmp_path):
    engine = open_engine(tmp_path, rules_of(metric=Accuracy(), policy=Exact(), public_fraction=1.0))
    joined = engine.register(engine.invite("coins"), name="A")
    with running(engine) as url, ServerClient(url=url, token=joined.token) as client:
        first = client.submit("coins", TRUTH)
        client._connection().sock.shutdown(socket.SHUT_RDWR)  # as a server does with an idle connection
        assert client.submit("coins", TRUTH) == first
        client._connection().sock.shutdown(socket.SHUT_RDWR)
        with pytest.raises(ServerUnreachable, match="closed the connection"):
            client.call("POST", "/competitions/coins/submissions", {"predictions": TRUTH.tolist()})
    assert engine.remaining(joined.team).total == 98
    engine.close()
