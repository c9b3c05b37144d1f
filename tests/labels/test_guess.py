"""The best guess of each label: closed forms, the ceiling of the guarantee, features, and what is refused."""

import math
import time
from bisect import bisect_left

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit, softmax
from scipy.stats import binom, binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from papers.label_bags.theory import additive_advantage, bayes_accuracy
from tacit.labels import Plan, protect
from tacit.labels.attacks.guess import bayes_posterior, guess_labels, guess_labels_with_features
from tacit.labels.fitting.expect import calibrate
from tacit.labels.fitting.shares import shares_of_outputs, unfold
from tacit.labels.mechanisms import RandomizedResponse, RandomizedResponseOnBins
from tacit.labels.releases.release import Release
from tacit.leak import (
    ABSTAIN,
    advantage_limit,
    largest_accuracy,
    largest_advantage,
)
from tacit.privacy import InvalidInput, NoGuarantee
from tacit.privacy.releases import ReleaseHeader, TableMember

SURE, Z = 1e-6, 4.9
ROWS = 40_000


def draw_labels(prior, rng, rows=ROWS):
    """One label a row, from one prior for all or one a row."""
    cumulative = np.broadcast_to(np.cumsum(prior, axis=-1), (rows, np.shape(prior)[-1]))
    return np.minimum((rng.random((rows, 1)) > cumulative).sum(axis=1), cumulative.shape[1] - 1)


def released(labels, classes, rng, *, epsilon=1.0, prior=None, mechanism="rr", missing="refuse"):
    listed = [str(place) for place in range(classes)] if isinstance(classes, int) else classes
    asked = {"mechanism": mechanism, "classes": listed, "prior": prior, "missing": missing}
    return protect(pa.table({"y": labels}), Plan(label="y", epsilon=epsilon, **asked), rng=rng)


def table_release(column, settled, *, epsilon=1.0, guarantee=None, **asked):
    plan = Plan(label="y", epsilon=epsilon, **asked)
    header = ReleaseHeader(
        surface="labels", plan=plan.to_json(), settled=settled, guarantee=guarantee or plan.guarantee(), seeded=True
    )
    return Release(header=header, members={"rows": TableMember(pa.table({"label": column}))})


@pytest.mark.parametrize(("classes", "epsilon"), [(2, 1.0), (3, 0.5), (10, 1.0), (10, 3.0)])
def test_uniform_prior_is_exact(classes, epsilon):
    rng = np.random.default_rng(0)
    labels = draw_labels(np.full(classes, 1 / classes), rng)
    rr = RandomizedResponse(epsilon=epsilon, classes=classes)
    release = released(labels, classes, rng, epsilon=epsilon)
    attack = guess_labels(release, prior=np.full(classes, 1 / classes))
    assert attack.labels.to_pylist() == release.labels.to_pylist(), "the best guess is what was released"
    keep = rr.transition()[0, 0]
    leak = attack.leak(labels, baseline=1 / classes)
    assert binomtest(leak.right, leak.trials, keep).pvalue > SURE
    assert binomtest(leak.right, leak.trials, keep + 0.02).pvalue < SURE, "control: a mechanism that keeps more"
    assert attack.confidence == pytest.approx(np.full(ROWS, keep))
    assert attack.largest_advantage == pytest.approx(largest_advantage(np.full(classes, 1 / classes), epsilon=epsilon))
    assert leak.advantage == pytest.approx(keep - 1 / classes, abs=Z * math.sqrt(0.25 / ROWS))


@pytest.mark.parametrize(("prior", "advantage"), [(0.5, 0.231059), (0.6, 0.131059), (0.8, 0.0)])
def test_two_classes_with_a_prior(prior, advantage):
    rng = np.random.default_rng(1)
    labels = draw_labels([prior, 1 - prior], rng)
    attack = guess_labels(released(labels, 2, rng), prior=[prior, 1 - prior])
    leak = attack.leak(labels)
    assert attack.largest_advantage == pytest.approx(advantage, abs=5e-7)
    assert leak.advantage == pytest.approx(advantage, abs=Z * math.sqrt(1 / ROWS))
    assert leak.bound is None, "a rival proves nothing about epsilon"


def test_a_prior_for_each_row():
    rng = np.random.default_rng(2)
    share = rng.random(ROWS)
    prior = np.stack([share, 1 - share], axis=1)
    labels = draw_labels(prior, rng)
    attack = guess_labels(released(labels, 2, rng), prior=prior)
    leak = attack.leak(labels)
    assert attack.largest_advantage == pytest.approx(0.053388, abs=0.002)
    assert leak.advantage == pytest.approx(0.053388, abs=Z * math.sqrt(1 / ROWS))
    blind = guess_labels(released(labels, 2, rng), prior=[0.5, 0.5]).leak(labels)
    assert leak.rate > blind.rate + 0.05, "control: the prior is used"


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("kind", ["rr", "prior", "laplace"])
def test_the_advantage_is_never_above_the_ceiling(kind, classes, epsilon):
    rng = np.random.default_rng(3)
    prior = rng.dirichlet(np.full(classes, 0.7))
    labels = draw_labels(prior, rng, rows=20_000)
    given = {"mechanism": "prior", "prior": prior.tolist()} if kind == "prior" else {"mechanism": kind}
    attack = guess_labels(released(labels, classes, rng, epsilon=epsilon, **given), prior=prior)
    leak = attack.leak(labels)
    error = Z * math.sqrt(1 / len(labels))
    assert leak.advantage <= attack.largest_advantage + error
    assert attack.largest_advantage <= advantage_limit(epsilon=epsilon, classes=classes) + 1e-12
    assert attack.largest_advantage <= math.tanh(epsilon / 4) + 1e-12
    if kind == "prior":
        assert leak.rate == pytest.approx(largest_accuracy(prior, epsilon=epsilon), abs=error), "the ceiling is reached"
    elif kind == "rr":
        channel = RandomizedResponse(epsilon=epsilon, classes=classes).transition()
        assert leak.rate == pytest.approx(bayes_accuracy(channel, prior), abs=error)
        assert leak.advantage == pytest.approx(additive_advantage(channel, prior), abs=error)


def test_control_a_mechanism_that_keeps_too_much_is_above_the_ceiling():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 3, 20_000)
    kept = RandomizedResponse(epsilon=2.0, classes=3).randomize(labels, rng=rng)
    release = table_release(kept, {"classes": [0, 1, 2]})
    attack = guess_labels(release, prior=np.full(3, 1 / 3))
    leak = attack.leak(labels, baseline=1 / 3)
    assert leak.advantage > attack.largest_advantage + Z * math.sqrt(1 / 20_000)
    assert leak.exceeds(release.guarantee)


def test_laplace_rates():
    rng, rates = np.random.default_rng(5), {2: 0.620918, 10: 0.163666}
    for classes, rate in rates.items():
        labels = rng.integers(0, classes, ROWS)
        leak = guess_labels(
            released(labels, classes, rng, mechanism="laplace"), prior=np.full(classes, 1 / classes)
        ).leak(labels)
        assert binomtest(leak.right, leak.trials, rate).pvalue > SURE
        assert binomtest(leak.right, leak.trials, rate + 0.02).pvalue < SURE, "control"


@pytest.mark.parametrize("classes", [2, 5])
def test_the_proved_epsilon_is_above_the_guarantee_in_few_runs(classes):
    """Exactly how few: what is proved depends on the number of right guesses alone, which is binomial."""
    rows, labels = 300, np.random.default_rng(6).integers(0, classes, 300)

    def is_above(right):
        kept = np.where(np.arange(rows) < right, labels, (labels + 1) % classes)
        release = table_release(kept, {"classes": list(range(classes))})
        attack = guess_labels(release, prior=np.full(classes, 1 / classes))
        leak = attack.leak(labels, baseline=1 / classes)
        assert leak.right == right
        return leak.exceeds(release.guarantee)

    least = bisect_left(range(rows + 1), True, key=is_above)
    above, caught = (
        binom.sf(least - 1, rows, RandomizedResponse(epsilon=epsilon, classes=classes).transition()[0, 0])
        for epsilon in (1.0, 2.0)
    )
    assert above <= 0.05
    assert above > 0.02, "and the bound is not idle"
    assert caught > 0.9, "control: labels kept too often are caught"


def test_the_release_alone_tells_the_class_shares():
    rng = np.random.default_rng(7)
    labels = draw_labels([0.9, 0.1], rng)
    release = released(labels, 2, rng)
    attack = guess_labels(release)
    assert attack.prior[0] == pytest.approx([0.9, 0.1], abs=0.03)
    assert attack.leak(labels).rate == pytest.approx(0.9, abs=0.01), "73% by trusting each released label"
    rare = guess_labels(released(np.zeros(2000, int), 3, rng)).prior
    assert rare.min() >= 0
    assert rare.sum() == pytest.approx(1)


def features_and_labels(rng, rows=6000):
    X = rng.normal(size=(rows, 4))
    logits = np.stack([np.zeros(rows), 2 * X[:, 0], 2 * X[:, 1] - 1], axis=1)
    P = softmax(logits, axis=1)
    return X, P, draw_labels(P, rng, rows)


def test_release_and_features_together():
    rng = np.random.default_rng(8)
    X, P, labels = features_and_labels(rng)
    rr = RandomizedResponse(epsilon=1.0, classes=3)
    release = released(labels, 3, rng)
    error = Z * math.sqrt(1 / len(labels))
    oracle = guess_labels(release, prior=P)
    assert oracle.leak(labels).advantage == pytest.approx(additive_advantage(rr.transition(), P), abs=error)
    assert oracle.leak(labels).advantage <= oracle.largest_advantage + error
    fitted = guess_labels_with_features(release, X, model=LogisticRegression(), rng=rng)
    alone, both = guess_labels(release).leak(labels), fitted.leak(labels)
    assert both.rate > alone.rate + 0.05
    assert both.rate > both.baseline + 0.02, "control: the released label of the row is used"
    assert both.rate == pytest.approx(oracle.leak(labels).rate, abs=0.02), "as good as knowing p(y|x)"
    assert both.advantage <= fitted.largest_advantage + error
    assert fitted.prior.shape == (len(labels), 3)


def test_the_model_sees_no_label_of_the_row_it_predicts():
    """With features that tell nothing, a model that remembers would repeat the released label in the prior."""
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(9)
    X, labels = rng.normal(size=(3000, 3)), rng.integers(0, 2, 3000)
    release = released(labels, 2, rng)
    attack = guess_labels_with_features(release, X, model=KNeighborsClassifier(1), rng=rng)
    given = np.asarray(release.labels)
    assert abs(np.mean(attack.baseline == given) - 0.5) < Z * math.sqrt(0.25 / 3000)


def test_labels_of_any_type_and_missing_ones():
    rng = np.random.default_rng(10)
    labels = ["no", "yes", None, "yes"] * 500
    release = released(labels, ["no", "yes"], rng, epsilon=3.0, missing="public")
    attack = guess_labels(release)
    assert list(attack.guesses[2::4]) == [ABSTAIN] * 500
    assert attack.labels.to_pylist()[2] is None
    leak = attack.leak(labels)
    assert leak.trials == 1500
    assert leak.rate > 0.9
    X = np.array([[label == "yes"] for label in labels], dtype=float)
    both = guess_labels_with_features(release, X, model=LogisticRegression(), rng=rng).leak(labels)
    assert both.rate > 0.995
    with pytest.raises(InvalidInput, match="must not be missing"):
        attack.leak([None, *labels[1:]])


NUMBERS = {"epsilon": 2.0, "mechanism": "bins", "values": (0.0, 1.0, 2.0, 3.0)}


def numbers_release(*, prior=(0.4, 0.3, 0.2, 0.1), outputs=None):
    """A release of numbers by bins, and the mechanism; ``outputs`` stand in its place for those computed here."""
    bins = RandomizedResponseOnBins(epsilon=2.0, values=np.arange(4.0), prior=prior)
    written = bins.outputs if outputs is None else outputs(bins.outputs)
    drawn = written[np.arange(40) % len(written)]
    settled = {**bins.describe(), "outputs": written.tolist()}
    return table_release(drawn, settled, prior=prior, **NUMBERS), bins


def test_a_release_of_one_number_tells_nothing():
    release, bins = numbers_release(prior=(1, 0, 0, 0))
    assert len(bins.outputs) == 1
    attack = guess_labels(release)
    assert (attack.guesses == attack.baseline).all()


def test_numbers_are_found_by_the_outputs_that_the_release_says():
    """The same release made on a machine whose dot product rounds the other way."""
    release, bins = numbers_release(outputs=lambda computed: np.nextafter(computed, np.inf))
    assert not np.isin(np.asarray(release.labels), bins.outputs).any()
    assert release.evidence.outputs.tolist() == (np.arange(40) % len(bins.outputs)).tolist()


def test_numbers_that_are_no_outputs():
    release, _ = numbers_release()
    strange = table_release([0.123] * 3, release.settled, **NUMBERS)
    with pytest.raises(InvalidInput, match=r"among the mechanism's outputs .*, got 0\.123"):
        guess_labels(strange)


def test_numbers():
    rng = np.random.default_rng(11)
    values, prior = np.arange(5.0), np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    labels = values[draw_labels(prior, rng)]
    plan = Plan(label="y", epsilon=2, mechanism="bins", values=tuple(values), prior=tuple(prior))
    release = protect(pa.table({"y": labels}), plan, rng=rng)
    bins = RandomizedResponseOnBins(epsilon=2.0, values=values, prior=prior)
    attack = guess_labels(release)
    channel = np.array(bins.exact_transition(), dtype=float)
    assert attack.leak(labels).rate == pytest.approx(bayes_accuracy(channel, prior), abs=Z * math.sqrt(0.25 / ROWS))
    assert attack.leak(labels).advantage <= attack.largest_advantage + Z * math.sqrt(1 / ROWS)
    ones = rng.integers(0, 2, 2000).astype(float)
    release = protect(pa.table({"y": ones}), Plan(label="y", epsilon=1, mechanism="unbiased"), rng=rng)
    assert guess_labels(release).leak(ones).rate == pytest.approx(expit(1.0), abs=0.06)


def test_a_prior_for_all_rows_is_read_from_the_header():
    shared = table_release(
        [0, 1], {"classes": [0, 1], "prior": [0.6, 0.4]}, mechanism="prior", classes=["0", "1"], prior=[0.6, 0.4]
    )
    assert shared.evidence.prior.tolist() == [[0.6, 0.4]]


def test_bayes_posterior_by_enumeration():
    rng = np.random.default_rng(13)
    likelihood, prior = rng.random((500, 6)), rng.dirichlet(np.ones(6), 500)
    beliefs = bayes_posterior(likelihood, prior=prior)
    guesses, confidence = beliefs.argmax(axis=1), beliefs.max(axis=1)
    for i in range(500):
        posterior = [prior[i, y] * likelihood[i, y] for y in range(6)]
        assert guesses[i] == posterior.index(max(posterior))
        assert confidence[i] == pytest.approx(max(posterior) / sum(posterior))
    assert bayes_posterior([[0.0, 0.3]], prior=[1.0, 0.0])[0].argmax() == 1, (
        "what the prior holds impossible and the release proves"
    )


def test_unfolding_takes_the_channel_off():
    rng = np.random.default_rng(15)
    p, T = rng.dirichlet(np.ones(4), 200), RandomizedResponse(epsilon=2.0, classes=4).transition()
    assert unfold(p @ T, transition=T, start=np.full((1, 4), 0.25)) == pytest.approx(p, abs=0.02)
    assert np.abs(p @ T - p).max() > 0.1, "control: without it"
    # two labels with one output: only the start tells them apart
    merged = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = unfold(np.array([[0.6, 0.4]]), transition=merged, start=np.array([[0.3, 0.1, 0.6]]))
    assert found[0] == pytest.approx([0.45, 0.15, 0.4])


def test_shares_under_randomized_response_have_a_closed_form(monkeypatch):
    rng = np.random.default_rng(17)
    labels, rr = rng.choice(6, 3000, p=[0.5, 0.3, 0.15, 0.05, 0, 0]), RandomizedResponse(epsilon=1.5, classes=6)
    given, start = rr.randomize(labels, rng=rng), np.full(6, 1 / 6)
    closed = shares_of_outputs(given, transition=rr.transition(), start=start)
    monkeypatch.setattr("tacit.labels.fitting.shares.uniform_channel", lambda _: None)
    by_steps = shares_of_outputs(given, transition=rr.transition(), start=start)
    assert closed == pytest.approx(by_steps, abs=1e-3)
    assert np.abs(np.bincount(given) / len(given) - by_steps).max() > 0.05, "control: without taking the channel off"


def test_many_classes_take_no_time_of_the_square_of_their_number():
    rng, K = np.random.default_rng(18), 3000
    labels = rng.integers(0, 5, 400)
    release = released(labels, K, rng, epsilon=8.0)
    start = time.process_time()
    found = guess_labels(release)
    assert time.process_time() - start < 3, "by 2,000 steps of K^2 each it takes minutes"
    kept = RandomizedResponse(epsilon=8.0, classes=K).transition()[0, 0]
    assert binomtest(int((found.guesses == labels).sum()), 400, kept).pvalue > SURE
    assert kept > 0.4, "control: chance is 1/3000"


def test_calibration_sets_timid_and_bold_models_right():
    rng = np.random.default_rng(16)
    p = rng.dirichlet(np.ones(3), 20_000)
    labels, rr = draw_labels(p, rng, 20_000), RandomizedResponse(epsilon=1.5, classes=3)
    likelihood = rr.likelihood(rr.randomize(labels, rng=rng))
    best = np.mean(bayes_posterior(likelihood, prior=p).argmax(axis=1) == labels)
    for power in (0.2, 1.0, 5.0):
        off = p**power / (p**power).sum(axis=1, keepdims=True)
        right = calibrate(off, likelihood=likelihood)
        assert np.abs(right - p).max() < 0.05
        assert np.mean(bayes_posterior(likelihood, prior=right).argmax(axis=1) == labels) > best - 0.005
        if power != 1:
            assert np.mean(bayes_posterior(likelihood, prior=off).argmax(axis=1) == labels) < best - 0.005, "control"


def test_without_a_guarantee_everything_may_leak():
    release = table_release([0, 1], {"classes": [0, 1]}, guarantee=NoGuarantee(reason="exact"))
    assert guess_labels(release, prior=[0.7, 0.3]).largest_advantage == pytest.approx(0.3)


def test_bad_input_is_refused():
    rng = np.random.default_rng(14)
    labels = np.arange(60) % 3
    release = released(labels, 3, rng)
    X = rng.normal(size=(60, 2))
    nothing = table_release(pa.array([None, None], pa.int64()), release.settled)
    model = LogisticRegression()
    cases = {
        "at least one label": lambda: guess_labels(nothing),
        "one entry for each of 3 classes": lambda: guess_labels(release, prior=[0.5, 0.5]),
        "sum to 1": lambda: guess_labels(release, prior=[0.5, 0.4, 0.4]),
        "one row, or one for each": lambda: guess_labels(release, prior=np.full((7, 3), 1 / 3)),
        "truth must have one label": lambda: guess_labels(release).leak(labels[:10]),
        "labels must be among": lambda: guess_labels(release).leak(labels + 1),
        "features must have 60 rows": lambda: guess_labels_with_features(release, X[:5], model=model, rng=rng),
        "with predict_proba": lambda: guess_labels_with_features(release, X, model=LinearSVC(), rng=rng),
        "folds must be": lambda: guess_labels_with_features(release, X, model=model, folds=1, rng=rng),
        "likelihood must be": lambda: bayes_posterior([[-1.0, 1.0]], prior=[0.5, 0.5]),
    }
    for message, call in cases.items():
        with pytest.raises(InvalidInput, match=message):
            call()


def guess_rates(rows, *, useful, seed, epsilon=1.0, noise_columns=10, mechanism="rr"):
    """Correct guesses from a release alone, and with a column that may tell the label among others that do not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 1 + noise_columns))
    labels = (rng.random(rows) < expit(useful * X[:, 0] - 1.4)).astype(int)
    release = released(labels.astype(str), 2, rng, epsilon=epsilon, mechanism=mechanism)
    both = guess_labels_with_features(release, X, model=LogisticRegression(max_iter=1000), rng=rng)
    return [float(np.mean(one.beliefs.argmax(axis=1) == labels)) for one in (guess_labels(release), both)]


@pytest.mark.parametrize(("rows", "runs"), [(100, 8), (3000, 2)])
@pytest.mark.parametrize("mechanism", ["rr", "laplace"])
def test_features_do_no_harm_and_help_where_rows_are_many(rows, runs, mechanism):
    for useful in (0, 3):
        rates = [guess_rates(rows, useful=useful, seed=seed, mechanism=mechanism) for seed in range(runs)]
        alone, both = np.mean(rates, axis=0)
        assert both > alone - 0.01
    assert rows < 1000 or both > alone + 0.06


def test_control_unweighted_features_do_harm(monkeypatch):
    seeds = range(8)
    monkeypatch.setattr("tacit.labels.attacks.learn_prior.weigh", lambda learned, *, common, likelihood: learned)
    alone, both = np.mean([guess_rates(100, useful=0, seed=seed) for seed in seeds], axis=0)
    assert both < alone - 0.03
