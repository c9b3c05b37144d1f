from dataclasses import replace

import pytest

from tacit.audit import AuditResult, Limits, Plan, Skipped, Step, bundled_plan, faults, judge, run_audit
from tacit.audit.cache import Cache
from tacit.audit.compare import compare
from tacit.audit.labels import LabelsRelease
from tacit.audit.scores import ScoresRelease
from tacit.audit.words import in_plain_words
from tacit.leak import assert_leak_below
from tacit.privacy import Guarantee, InvalidInput, MissingExtra, NoGuarantee, Unit


def stable(run):
    return [{**finding.to_json(), "seconds": 0} for finding in (*run.findings, *run.curve)]


class TestRun:
    def test_every_release_is_found_and_every_surface_has_its_curve(self, result):
        assert [made.surface for made in result.findings] == ["labels", "scores"]
        assert [(made.surface, made.epsilon) for made in result.curve] == [
            ("labels", 0.5), ("labels", 2.0), ("scores", 0.5), ("scores", 2.0),
        ]  # fmt: skip
        assert not result.broken

    def test_exact_scores_tell_every_label(self, result):
        assert result.findings[1].leak.rate == 1.0

    def test_json_round_trip(self, result):
        assert AuditResult.from_json(result.to_json()) == result

    def test_a_seed_repeats_the_run_whatever_else_is_planned(self, result, plan):
        alone = run_audit(plan.only(["labels"]), seed=0)
        assert stable(alone) == [made for made in stable(result) if made["surface"] == "labels"]

    def test_progress_counts_every_part(self, plan):
        told = []
        run_audit(plan.only(["labels"]), seed=0, progress=lambda what, done, parts: told.append((done, parts)))
        assert told == [(0, 3), (1, 3), (2, 3)]

    def test_a_finding_is_made_once(self, plan, tmp_path, monkeypatch):
        cache = Cache(tmp_path / "audit")
        first = run_audit(plan.only(["labels"]), seed=0, cache=cache)
        monkeypatch.setattr(LabelsRelease, "audit", lambda *_, **__: pytest.fail("made again"))
        assert stable(run_audit(plan.only(["labels"]), seed=0, cache=cache)) == stable(first)

    def test_a_surface_whose_extra_is_missing_is_skipped_by_name(self, plan, monkeypatch):
        def refuse(*_, **__):
            raise MissingExtra("the package torch is missing")

        monkeypatch.setattr(ScoresRelease, "audit", refuse)
        run = run_audit(plan, seed=0)
        assert run.skipped == (Skipped(surface="scores", reason="the package torch is missing"),)
        assert [made.surface for made in run.findings] == ["labels"]

    def test_an_interrupted_run_keeps_what_it_found(self, plan, monkeypatch):
        def interrupt(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(ScoresRelease, "audit", interrupt)
        run = run_audit(plan, seed=0)
        assert [made.surface for made in run.findings] == ["labels"]
        assert run.skipped[0].surface == "the rest"

    def test_a_curve_that_cannot_be_measured_leaves_the_plan(self, plan, monkeypatch):
        def refuse(*_):
            return LabelsRelease(epsilon=0.123)

        real = LabelsRelease.audit

        def audit(self, *arguments, **options):
            if self.epsilon == 0.123:
                raise ValueError("needs samples of at least 2 classes")
            return real(self, *arguments, **options)

        monkeypatch.setattr(LabelsRelease, "at", refuse)
        monkeypatch.setattr(LabelsRelease, "audit", audit)
        run = run_audit(plan.only(["labels"]), seed=0)
        said = "labels, randomized response, epsilon 0.123: needs samples of at least 2 classes"
        assert run.skipped == (Skipped(surface="the curve of labels", reason=said),)
        assert (len(run.findings), run.curve) == (1, ())

    def test_one_release_of_two_tables_has_two_seeds(self, iris, monkeypatch):
        drawn = []

        def audit(_, source, *, rng, tell):
            drawn.append(rng.random())
            raise KeyboardInterrupt

        monkeypatch.setattr(LabelsRelease, "audit", audit)
        for source in (iris, replace(iris, name="another table")):
            run_audit(Plan(steps=(Step(source=source, release=LabelsRelease(epsilon=1.0)),)), seed=0)
        assert drawn[0] != drawn[1]

    def test_an_error_says_which_release(self, plan, monkeypatch):
        def refuse(*_, **__):
            raise InvalidInput("too small")

        monkeypatch.setattr(LabelsRelease, "audit", refuse)
        with pytest.raises(InvalidInput, match=r"^labels, randomized response, epsilon 1: too small$"):
            run_audit(plan, seed=0)


class TestPlan:
    def test_unknown_surfaces_are_refused(self):
        with pytest.raises(InvalidInput, match=r"only must name surfaces among .*, got moon"):
            bundled_plan().only(["scores", "moon"])

    def test_surfaces_without_a_release_are_refused(self, plan):
        with pytest.raises(InvalidInput, match="that the plan has a release for, got bags"):
            plan.only(["bags"])

    @pytest.mark.parametrize("parts", [{"epsilons": (0.0,)}, {"delta": 1.0}, {"delta": 1 / 150}])
    def test_impossible_numbers_are_refused(self, iris, parts):
        with pytest.raises(InvalidInput):
            Plan(steps=(Step(source=iris, release=LabelsRelease(epsilon=1.0)),), **parts)

    def test_a_seed_below_zero_is_refused_by_name(self, plan):
        with pytest.raises(InvalidInput, match="seed must be a whole number >= 0, got -1"):
            run_audit(plan, seed=-1)


def test_releases_with_the_same_words_are_compared_in_their_order(finding, run_of):
    one, two = (finding(NoGuarantee(reason="exact"), guesses, (0, 1) * 50) for guesses in ([0] * 100, (0, 1) * 50))
    pairs = compare(run_of(one, two), run_of(one, two, two))
    assert [(pair.before, pair.after) for pair in pairs] == [(one, one), (two, two), (None, two)]


class TestVerdict:
    truth = (0, 1) * 500

    def test_a_leak_above_its_promise_is_said(self, finding, run_of):
        promise = Guarantee(unit=Unit.LABEL, epsilon=1.0)
        assert finding(promise, self.truth, self.truth).broken
        assert not finding(promise, [0] * 1000, self.truth).broken
        assert not finding(NoGuarantee(reason="exact"), self.truth, self.truth).broken
        assert "epsilon is at least" in faults(run_of(finding(promise, self.truth, self.truth)), Limits())[0]

    def test_the_worst_has_the_largest_advantage(self, finding, run_of):
        small, large = (finding(NoGuarantee(reason="exact"), g, self.truth) for g in ([0] * 1000, self.truth))
        assert run_of(small, large).worst is large

    def test_limits_fail_a_run_above_them_alone(self, finding, run_of):
        run = run_of(finding(NoGuarantee(reason="exact"), self.truth, self.truth))
        assert faults(run, Limits(leak=0.6)) == ()
        assert faults(run, Limits(leak=0.4)) == ("labels, a release: leak 50.0%, the limit is 40.0%",)

    def test_a_limit_is_on_what_was_measured_and_the_interval_stands_beside_it(self, finding, run_of):
        few = finding(Guarantee(unit=Unit.LABEL, epsilon=1.0), [0] * 40, self.truth[:40])
        assert faults(run_of(few), Limits(leak=0.05)) == ()
        with pytest.raises(AssertionError, match="too few trials to decide"):
            assert_leak_below(few.leak, advantage=0.05)
        assert "but so would a leak of +16.2 points among only 40 guesses" in judge(run_of(few)).told

    def test_a_leak_just_over_its_limit_does_not_read_as_equal(self, finding, run_of):
        run = run_of(finding(NoGuarantee(reason="exact"), self.truth, self.truth))
        assert faults(run, Limits(leak=0.4996)) == ("labels, a release: leak 50.00%, the limit is 49.96%",)

    def test_an_epsilon_that_was_proved_is_rounded_down_and_a_promise_up(self, finding, run_of):
        measured = finding(Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1.4e-6), self.truth, self.truth)
        bound = replace(measured.leak.bound, value=1.0019, delta=1.4e-6)
        refuted = replace(measured, leak=replace(measured.leak, bound=bound))
        assert "epsilon is at least 1.001, and epsilon 1, delta 1.4e-6" in faults(run_of(refuted), Limits())[0]
        assert judge(run_of(refuted)).told.endswith("and the attack proves at least 1.001.")
        assert "but for a chance of 2e-6." in in_plain_words(refuted.promise)

    def test_a_file_that_is_no_audit_says_what_is_missing(self):
        with pytest.raises(InvalidInput, match="an audit must say its version"):
            AuditResult.from_json({})
