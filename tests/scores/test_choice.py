import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from tacit.data import satellite
from tacit.privacy import BudgetExceeded, InvalidInput, NoGuarantee, Unit
from tacit.privacy.noise import DiscreteLaplace
from tacit.scores.learners import choose
from tacit.scores.metrics import Accuracy, Brier, LogLoss
from tacit.scores.policies import Exact, Laplace, Rounded
from tacit.scores.policies.holdout import ReusableHoldout
from tacit.scores.policies.several import (
    BoundedRegret,
    NoiseRegret,
    NoisyMeans,
    difference_tail,
    expected_maximum,
)

LEVEL = 1e-6


def choose_by(policy, exact, *, models=None, **options):
    """Choose by the scores that a policy releases for exact Brier scores."""
    rng, given = np.random.default_rng(0), np.sqrt(np.asarray(exact, dtype=float))
    shown = [policy.release(Brier().measure([0], [loss]), state={}, rng=rng).released for loss in given]
    regret = policy.regret(Brier(), rows=1)
    return choose(range(len(shown)) if models is None else models, shown, regret=regret, **options)


class TestNoisyMeans:
    def test_pins_of_the_sensitivity_and_scale(self):
        """h1: eta = .01 gives R = 4.595120; h2: n = 1000, epsilon = 1 gives scale .004595."""
        metric = LogLoss(floor=0.01)
        assert metric.sensitivity(1) == pytest.approx(4.595120, abs=5e-7)
        assert Laplace(epsilon=1.0).scale(metric, rows=1000) == pytest.approx(0.004595, abs=5e-7)

    @pytest.mark.parametrize(("epsilon", "pin"), [(1.0, 0.696735), (0.1, 0.524385)])
    def test_best_attack_on_one_label(self, epsilon, pin):
        """h2: asked with the full range, a label is guessed right with probability 1 - e^(-epsilon/2)/2."""
        means = NoisyMeans(epsilon=epsilon, step=Fraction(1, 2**16))
        k = np.arange(-40 * int(means.noise.scale), means.sensitivity // 2)
        assert means.noise.pmf(k).sum() == pytest.approx(pin, abs=2e-5)
        # by doing it: the label costs 0 or all of the range, the other rows cost 0
        low, high = binom.ppf([LEVEL / 2, 1 - LEVEL / 2], 40_000, pin)
        assert low <= self.guessed_right(means.noise, means.sensitivity) <= high
        weaker = NoisyMeans(epsilon=2 * epsilon, step=means.step)  # control: half the noise
        assert self.guessed_right(weaker.noise, weaker.sensitivity) > high

    @staticmethod
    def guessed_right(noise, sensitivity, runs=40_000):
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 2, size=runs)
        sums = labels * sensitivity + noise.draw(runs, rng=rng)
        return int(((sums > sensitivity / 2) == labels).sum())

    def test_law_by_enumeration_and_by_sampling(self):
        means = NoisyMeans(epsilon=0.7, step=Fraction(1, 3))
        k = np.arange(-200, 201)
        p, q = means.noise.pmf(k), means.noise.pmf(k - means.sensitivity)  # neighbors: one label moves the sum by 3
        assert np.abs(np.log(p / q)).max() == pytest.approx(0.7, abs=1e-12)
        drawn = np.array(means.draw(np.full((30_000, 4), 2 / 3), rng=np.random.default_rng(1)))
        values = np.rint(drawn * 12 - 8)
        assert self.fit(values, means.noise) > LEVEL
        assert self.fit(values, DiscreteLaplace(scale=means.noise.scale * Fraction(11, 10))) < LEVEL

    @staticmethod
    def fit(values, noise):
        edges = np.arange(-15, 16)
        seen = np.array([(values <= edges[0]).sum(), *((values == e).sum() for e in edges[1:-1])])
        seen = np.append(seen, len(values) - seen.sum())
        law = np.array([noise.pmf(np.arange(-2000, edges[0] + 1)).sum(), *noise.pmf(edges[1:-1])])
        law = np.append(law, 1 - law.sum())
        return chisquare(seen, law * len(values)).pvalue

    def test_losses_beyond_the_bounds_are_clipped(self):
        means = NoisyMeans(epsilon=1000.0, step=Fraction(1, 1024))
        assert means.draw(np.array([[50.0, -3.0]]), rng=np.random.default_rng(0))[0] == pytest.approx(0.5, abs=0.01)


class TestRegretOfNoise:
    @pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
    def test_formulas_against_enumeration(self, scale):
        k = np.arange(-400, 401)
        p = DiscreteLaplace(scale=Fraction(str(scale))).pmf(k)
        difference = np.convolve(p, p[::-1])
        for least in (1, 2, 5, 20):
            assert difference_tail(least, scale=scale) == pytest.approx(difference[800 + least :].sum(), rel=1e-9)
        for models in (2, 3, 10, 100):
            survival = 1 - np.cumsum(p)[400:-1] ** models  # P(max >= k), k = 1, 2, ...
            losing = np.cumsum(p)[:400] ** models  # P(max <= -k)
            exact_mean = survival.sum() - losing.sum()
            bound = expected_maximum(models, scale=scale)
            assert exact_mean <= bound <= 2.2 * exact_mean + 1

    @pytest.mark.parametrize("models", [2, 10, 50])
    def test_probability_and_mean_of_regret_by_simulation(self, models):
        rows, runs = 400, 20_000
        means = NoisyMeans(epsilon=0.2, step=Fraction(1, 1024))
        scale = means.scale(rows=rows)
        gap = scale * math.log(4 * models)
        exact = np.full(models, 0.3 + gap)
        exact[models // 2] = 0.3  # the worst case for "within just under gap": all others are that far off
        bound = NoiseRegret(means=means, rows=rows)
        wrong, regrets = self.simulate(means, exact, rows, runs, np.random.default_rng(models))
        tail = bound.tail(gap * 0.999, models=models)
        assert wrong <= binom.ppf(1 - LEVEL, runs, tail)
        assert wrong >= 0.2 * runs * tail  # the bound is not idle
        assert regrets.mean() <= bound.expected(models=models)
        loud = NoisyMeans(epsilon=0.05, step=means.step)  # control: four times the noise the bound was made for
        wrong, _ = self.simulate(loud, exact, rows, runs, np.random.default_rng(models))
        assert wrong > binom.ppf(1 - LEVEL, runs, tail)

    @staticmethod
    def simulate(means, exact, rows, runs, rng):
        steps = np.round(exact / float(means.step)).astype(np.int64) * rows
        chosen = (steps + means.noise.draw((runs, len(exact)), rng=rng)).argmin(axis=1)
        regrets = exact[chosen] - exact.min()
        return int((regrets > 0).sum()), regrets

    def test_one_model_has_no_regret(self):
        choice = choose_by(Laplace(epsilon=1.0), [0.5])
        assert choice.probability_within == 1.0
        assert choice.expected_regret <= 2**-10


class TestRounding:
    @given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.integers(0, 4))
    @settings(max_examples=200, deadline=None)
    def test_regret_is_surely_bounded(self, exact, decimals):
        choice = choose_by(Rounded(decimals=decimals), exact)
        assert exact[choice.index] - min(exact) <= choice.expected_regret + 1e-12
        assert choice.index in choice.tied

    def test_bound_is_nearly_reached(self):
        choice = choose_by(Rounded(decimals=1), [0.1499, 0.0501], models=["worse", "best"], within=0.09)
        assert choice.model == "worse"
        assert choice.probability_within == 0.0  # nothing is guaranteed below one unit of the last decimal
        assert choice.tied == (0, 1)

    def test_no_guarantee_and_why(self):
        guarantee = Rounded(decimals=2).guarantee()
        assert isinstance(guarantee, NoGuarantee)
        assert "submissions can be built" in guarantee.reason

    def test_exact_scores_have_no_regret(self):
        choice = choose_by(Exact(), [0.5, 0.25], models="ab")
        assert (choice.model, choice.expected_regret, choice.probability_within) == ("b", 0.0, 1.0)


def holdout(*, rows=4, threshold=0.0, scale=0.5, refreshes=1, seed=0):
    """Losses of 0 and 1 on a grid of whole numbers, so that every total is small."""
    rng = np.random.default_rng(seed)
    return ReusableHoldout(rows=rows, threshold=threshold, scale=scale, refreshes=refreshes, rng=rng, step=Fraction(1))


class TestThresholdout:
    def test_pin_of_its_price(self):
        """h4: n = 1000, s = .05, B = 10 costs epsilon .4, the labels' unit."""
        guarantee = holdout(rows=1000, scale=0.05, refreshes=10).guarantee
        assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (0.4, 0.0, Unit.LABEL)

    def law(self, totals, trains, *, bar, scale, reach=60):
        """Every transcript of two queries and one refresh: P(train, train), P(train, v), P(v)."""
        k = np.arange(-reach, reach + 1)
        one, two, four = (DiscreteLaplace(scale=Fraction(m) * scale) for m in (1, 2, 4))
        far = np.arange(-40 * int(4 * scale + 1), 40 * int(4 * scale + 1) + 1)
        below = np.cumsum(four.pmf(far))
        gamma = np.arange(-30 * int(2 * scale + 1), 30 * int(2 * scale + 1) + 1)

        def stays(total, train):  # P(|total - train| <= bar + gamma + eta), for each gamma
            least = abs(total - train) - bar - gamma
            return 1 - below[np.clip(least - far[0] - 1, 0, len(far) - 1)]

        weight = two.pmf(gamma)
        a, b = (stays(t, s) for t, s in zip(totals, trains, strict=True))
        first = (weight * (1 - a)).sum() * one.pmf(k - totals[0])
        second = (weight * a * (1 - b)).sum() * one.pmf(k - totals[1])
        return (weight * a * b).sum(), first, second

    @pytest.mark.parametrize(("bar", "scale"), [(0, Fraction(2)), (3, Fraction(5, 2)), (1, Fraction(1))])
    def test_private_by_enumeration(self, bar, scale):
        """One label moves each total by at most 1; the price of one refresh is 2/scale."""
        worst = 0.0
        for totals, trains in product(product(range(4), repeat=2), [(0, 0), (3, 1)]):
            here = self.law(totals, trains, bar=bar, scale=scale)
            for moves in product((-1, 0, 1), repeat=2):
                there = self.law([t + m for t, m in zip(totals, moves, strict=True)], trains, bar=bar, scale=scale)
                ratios = [np.log(np.asarray(p) / np.asarray(q)) for p, q in zip(here, there, strict=True)]
                worst = max(worst, *(float(np.abs(r).max()) for r in ratios))
        assert worst <= 2 / float(scale) + 1e-9
        assert worst > 1.2 / float(scale)  # the answer alone costs 1/scale: the comparison is not free

    def test_does_what_was_enumerated(self):
        """2,000 runs of the class against the enumerated law, and against a law of other noise."""
        totals, trains, rows, scale = (3, 1), (1, 1), 4, 0.5
        counts = {"stay": 0, "first": 0, "second": 0}
        first = np.zeros(121)
        for seed in range(2000):
            asked = holdout(rows=rows, threshold=0.25, scale=scale, seed=seed)
            losses = [np.arange(rows) < t for t in totals]
            train = [np.arange(rows) < t for t in trains]
            value = asked.answer(train[0], losses[0])
            if asked.left == 0:
                counts["first"] += 1
                first[round(value * rows) + 60] += 1
                continue
            asked.answer(train[1], losses[1])
            counts["stay" if asked.left else "second"] += 1
        seen = [counts["stay"], counts["second"], first[:62].sum(), *first[62:65], first[65:].sum()]
        assert self.fit(seen, self.law(totals, trains, bar=1, scale=Fraction(2))) > LEVEL
        assert self.fit(seen, self.law(totals, trains, bar=1, scale=Fraction(4))) < LEVEL

    @staticmethod
    def fit(seen, law):
        stay, first, second = law
        expected = np.array([stay, second.sum(), first[:62].sum(), *first[62:65], first[65:].sum()])
        return chisquare(seen, expected / expected.sum() * sum(seen)).pvalue

    def test_stops_when_its_refreshes_are_spent(self):
        asked = ReusableHoldout(rows=1000, threshold=0.05, scale=0.001, refreshes=2, rng=np.random.default_rng(0))
        agree, differ = (np.zeros(1000), np.zeros(1000)), (np.zeros(1000), np.ones(1000))
        assert [asked.answer(*agree) for _ in range(20)] == [0.0] * 20
        assert asked.left == 2
        assert all(abs(asked.answer(*differ) - 1) < 0.05 for _ in range(2))
        with pytest.raises(BudgetExceeded, match="all 2 refreshes are spent"):
            asked.answer(*agree)

    def test_training_means_are_put_on_the_same_scale(self):
        asked = ReusableHoldout(rows=300, threshold=0.5, scale=1e-4, refreshes=1, rng=np.random.default_rng(0))
        assert asked.answer([0, 1, 1], np.full(300, 2 / 3)) == pytest.approx(2 / 3, abs=1e-3)

    def test_protects_from_overfitting_to_the_holdout(self):
        """Blum and Hardt's game: of 200 coin-flip models keep those better than chance on the holdout, and vote.

        The exact holdout is fooled; Thresholdout's answers are not.
        """
        rng = np.random.default_rng(5)
        rows, models = 1000, 200
        holdout_errors = (rng.random((models, rows)) < 0.5).astype(float)
        train_errors = np.full((models, 1000), 0.5)
        exact_gain = 0.5 - self.vote(holdout_errors, holdout_errors.mean(axis=1))
        asked = ReusableHoldout(rows=rows, threshold=0.12, scale=0.004, refreshes=20, rng=rng)
        answers = {asked.answer(*errors) for errors in zip(train_errors, holdout_errors, strict=True)}
        assert exact_gain > 0.1
        assert answers == {0.5}  # every answer came from the training rows: nothing was learned

    @staticmethod
    def vote(errors, released):
        better = released < 0.5
        return float((errors[better].mean(axis=0) > 0.5).mean())

    @pytest.mark.parametrize("models", [2, 20])
    def test_regret_by_simulation(self, models):
        rng = np.random.default_rng(6)
        rows, runs, x = 2000, 150, 0.18
        exact = np.full(models, 0.3 + 1.01 * x)
        exact[-1] = 0.3
        fooled = 0
        bound = mean_bound = 0.0
        for _ in range(runs):
            asked = ReusableHoldout(rows=rows, threshold=0.02, scale=0.002, refreshes=models, rng=rng)
            train = np.repeat((exact + rng.uniform(-0.06, 0.06, size=models))[:, None], 50, axis=1)
            held = np.repeat(exact[:, None], rows, axis=1)
            shown = [asked.answer(*losses) for losses in zip(train, held, strict=True)]
            choice = choose(range(models), shown, regret=asked, within=x)
            fooled += exact[choice.index] - exact.min() > x
            bound, mean_bound = 1 - choice.probability_within, choice.expected_regret
        assert bound < 0.01
        assert mean_bound < 0.2
        assert fooled <= binom.ppf(1 - LEVEL, runs, bound)
        # control: a threshold that lets any training score pass has no such bound
        asked = ReusableHoldout(rows=rows, threshold=1.0, scale=0.002, refreshes=1, rng=rng)
        assert asked.tail(x, models=models) == 1.0

    @pytest.mark.parametrize(
        ("train", "held", "message"),
        [
            ([0.0], [0.0], "holdout_losses must be one for each of 4 rows, got shape"),
            ([], [0.0] * 4, "train_losses must be one for each training row"),
            ([math.nan], [0.0] * 4, "finite"),
        ],
    )
    def test_bad_losses(self, train, held, message):
        with pytest.raises(InvalidInput, match=message):
            holdout().answer(train, held)


class TestChoose:
    def test_chooses_among_real_models(self):
        data = satellite()
        order = np.random.default_rng(0).permutation(len(data))
        train, held = order[:1500], order[1500:]
        models = [
            LogisticRegression(max_iter=200, C=0.01),
            GaussianNB(),
            *(DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 3, 9)),
        ]
        wrong = np.array([m.fit(data.X[train], data.codes[train]).predict(data.X[held]) for m in models])
        losses = (wrong != data.codes[held]).astype(float)
        policy, metric, rng = Laplace(epsilon=0.2), Accuracy(classes=6), np.random.default_rng(1)
        shown = [-policy.release(metric.measure(data.codes[held], one), state={}, rng=rng).mean for one in wrong]
        choice = choose(models, shown, regret=policy.regret(metric, rows=len(held)), within=0.02)
        assert losses[choice.index].mean() - losses.mean(axis=1).min() <= 0.02
        assert choice.model is models[choice.index]
        assert choice.probability_within > 0.999

    def test_as_many_models_as_scores(self):
        with pytest.raises(InvalidInput, match="models must be one for each of the 2 scores, got 3"):
            choose_by(Rounded(decimals=1), [0.1, 0.2], models="abc")

    def test_no_models(self):
        with pytest.raises(InvalidInput, match="models must be one for each of the 0"):
            choose([], [], regret=BoundedRegret(most=0.1))

    @pytest.mark.parametrize("within", [-0.1, math.nan])
    def test_bad_within(self, within):
        with pytest.raises(InvalidInput, match="within must be a number >= 0"):
            choose_by(Rounded(decimals=1), [0.1], within=within)
