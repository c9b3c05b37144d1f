"""Every surface's plan through its own protect, learn and attack: what is measured, and what is reported of it."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.audit import Permission, ReleaseState, read_plan
from tacit.audit.measure import measure
from tacit.audit.source import bundled_source
from tacit.privacy import Guarantee, NoGuarantee

BY = [["class", "sex", "age"]]


@pytest.fixture(scope="module")
def audit(step_of):
    def make(name, surface, **keys):
        step = step_of(bundled_source(name), surface, **keys)
        return measure(step, seed=0, tell=lambda _: None)

    return make


class TestLabels:
    def test_the_bound_is_close_to_what_is_guaranteed_and_below(self, audit):
        found = audit("titanic", "labels", epsilon=3.0)
        assert found.guarantee.epsilon == 3.0
        assert 1.5 < found.leak.epsilon_lower_bound < 3.0
        assert not found.broken

    @pytest.mark.parametrize("mechanism", ["prior", "laplace"])
    def test_every_mechanism_of_classes_has_a_bound(self, audit, mechanism):
        found = audit("titanic", "labels", epsilon=3.0, mechanism=mechanism)
        assert 0.5 < found.leak.epsilon_lower_bound < 3.0

    def test_a_mechanism_that_spends_more_than_it_states_is_reported(self, audit, monkeypatch):
        """Randomized response that forgets half of its noise."""
        from tacit.labels.mechanisms import RandomizedResponse

        real = RandomizedResponse.randomize

        def careless(self, labels, *, rng):
            return np.where(rng.random(len(labels)) < 0.5, labels, real(self, labels, rng=rng))

        monkeypatch.setattr(RandomizedResponse, "randomize", careless)
        found = audit("titanic", "labels", epsilon=1.0)
        assert found.guarantee.epsilon == 1.0, "control: the guarantee that is stated"
        assert found.broken
        assert found.state is ReleaseState.VIOLATED


class TestBags:
    def test_exact_totals_determine_labels(self, audit):
        exact = audit("titanic", "bags", epsilon=None, by=BY, min_size=1)
        assert exact.certain > 0
        assert exact.state is ReleaseState.DETERMINED, "a label that is certain is a leak, whatever the rate"
        assert exact.told.startswith(f"{exact.certain} labels are determined for certain, and ")
        assert isinstance(exact.guarantee, NoGuarantee)
        assert exact.leak.baseline > 0.75, "the attacker without the release has the features"

    def test_noise_takes_that_away_and_leaves_the_utility(self, audit):
        noisy = audit("titanic", "bags", epsilon=1.0, by=BY, min_size=1)
        assert isinstance(noisy.guarantee, Guarantee)
        assert noisy.guarantee.epsilon == 1.0
        assert noisy.advice.endswith(": release it, once.")
        assert (noisy.certain, noisy.answer) == (0, Permission.YES)
        assert noisy.leak.advantage < 0.05
        assert noisy.utility.protected > 0.75

    def test_more_than_two_classes(self, audit):
        found = audit("iris", "bags", epsilon=None, mechanism="random:size=2,bags=150")
        assert found.leak.trials == 75


class TestFeatures:
    def test_rows_in_clear_are_linked(self, audit):
        found = audit("satellite", "features", epsilon=None, ranges={"*": [-10, 10]})
        assert found.leak.rate > 0.99
        assert isinstance(found.guarantee, NoGuarantee)

    def test_noisy_rows_are_not_and_keep_their_guarantee(self, audit):
        found = audit("satellite", "features", epsilon=16.0, delta=1e-5, select=6, ranges={"*": [-3, 3]})
        assert isinstance(found.guarantee, Guarantee)
        assert found.guarantee.epsilon == pytest.approx(16.0)
        assert found.leak.rate < 0.01
        assert 0.5 < found.leak.epsilon_lower_bound < 16.0
        assert "a part of the guarantee" in found.leak.method
        assert not found.broken
        assert 0.3 < found.utility.protected < found.utility.unprotected

    def test_class_totals_are_worth_more_at_the_same_epsilon(self, audit):
        keys = {"epsilon": 1.0, "delta": 1e-5, "select": 6, "ranges": {"*": [-3, 3]}}
        totals, rows = (audit("satellite", "features", mechanism=kind, **keys) for kind in ("totals", "rows"))
        assert totals.utility.protected > rows.utility.protected + 0.2
        assert not totals.broken


class TestScores:
    def test_rounded_scores_reveal_every_label_and_the_submissions_are_counted(self, audit):
        found = audit("titanic", "scores", epsilon=None, policy="rounded:decimals=5", submissions=400)
        assert found.leak.rate == 1.0
        assert found.certain == 2201
        assert found.told.startswith(f"After {found.leak.facts['submissions']} submissions 2,201 labels are determined")

    def test_fewer_submissions_than_honest_models_have_the_noise_of_the_plan(self, audit):
        few, many = (audit("iris", "scores", epsilon=e, submissions=n) for e, n in ((2.0, 2), (12.0, 12)))
        assert few.guarantee.epsilon == 2.0
        assert few.utility.interval.low < many.utility.protected < few.utility.interval.high

    def test_draws_that_agree_are_not_called_exact(self, audit):
        use = audit("titanic", "scores", epsilon=1e6, submissions=2).utility
        assert use.protected == 1.0
        assert use.interval.low < 0.9
        assert "draws of the noise agree" in use.method
        control = audit("iris", "scores", epsilon=None, policy="rounded:decimals=9", submissions=2).utility
        assert control.interval.low == control.interval.high, "without noise it is exact"


class TestModels:
    @pytest.fixture(autouse=True)
    def torch(self):
        pytest.importorskip("opacus", reason="the models surface needs the extra torch")

    def test_an_unprotected_network_is_caught(self, audit):
        found = audit("digits", "models", epsilon=None, mechanism="plain:estimator=mlp")
        assert isinstance(found.guarantee, NoGuarantee)
        assert found.leak.epsilon_lower_bound > 1, "the loss alone proves 1 or less"
        assert found.answer is not Permission.YES
        assert found.utility.protected > 0.9

    def test_dp_sgd_keeps_its_guarantee_and_some_utility(self, audit):
        how = "dp_sgd:width=64,epochs=20,batch_size=200,learning_rate=0.05"
        found = audit("digits", "models", epsilon=3.0, delta=1e-5, ranges={"*": [0, 16]}, mechanism=how)
        assert found.guarantee.epsilon == pytest.approx(3.0)
        assert found.leak.epsilon_lower_bound < 0.5
        assert 0.7 < found.utility.protected < found.utility.unprotected

    def test_a_seed_repeats_it(self, audit):
        keys = {"epsilon": 3.0, "delta": 1e-5, "ranges": {"*": [0, 8]}, "mechanism": "dp_sgd:epochs=1"}
        one, two = (audit("iris", "models", **keys) for _ in range(2))
        assert one.leak == two.leak


def test_truth_values_that_totals_predict_as_0_and_1_are_compared_as_truth_values(tmp_path):
    site = np.arange(400) % 2
    pq.write_table(pa.table({"site": site, "ill": site == 1}), tmp_path / "visits.parquet")
    path = tmp_path / "tacit.toml"
    path.write_text('[data]\nfile = "visits.parquet"\nlabel = "ill"\n[[bags]]\nby = ["site"]\nepsilon = 5\n')
    (step,) = read_plan(path).steps
    assert measure(step, seed=0, tell=print).utility.protected == 1
