from dataclasses import replace

import pytest

from tacit.audit import (
    AuditPlan,
    AuditResult,
    ReleaseState,
    RunLimits,
    SkippedSurface,
    bundled_plan,
    faults,
    judge,
    run_audit,
)
from tacit.audit.cache import FindingCache
from tacit.audit.compare import compare
from tacit.audit.measure import measure
from tacit.audit.words import in_plain_words
from tacit.privacy import Guarantee, InvalidInput, MissingExtra, NoGuarantee, Unit


def stable(run):
    return [{**finding.to_json(), "seconds": 0} for finding in (*run.findings, *run.curve)]


@pytest.fixture
def stop(monkeypatch):
    """Raise an error instead of measuring the releases of a surface, or those that fulfill a condition."""

    def at(surface, error, *, where=lambda _: True):
        def stopped(step, **options):
            if step.surface == surface and where(step):
                raise error
            return measure(step, **options)

        monkeypatch.setattr("tacit.audit.run.measure", stopped)

    return at


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

    def test_a_finding_is_made_once(self, plan, tmp_path, stop):
        cache = FindingCache(tmp_path / "audit")
        first = run_audit(plan.only(["labels"]), seed=0, cache=cache)
        stop("labels", AssertionError("made again"))
        assert stable(run_audit(plan.only(["labels"]), seed=0, cache=cache)) == stable(first)

    def test_a_surface_whose_extra_is_missing_is_skipped_by_name(self, plan, stop):
        stop("scores", MissingExtra("the package torch is missing"))
        run = run_audit(plan, seed=0)
        assert run.skipped == (SkippedSurface(surface="scores", reason="the package torch is missing"),)
        assert [made.surface for made in run.findings] == ["labels"]

    def test_an_interrupted_run_keeps_what_it_found(self, plan, stop):
        stop("scores", KeyboardInterrupt())
        run = run_audit(plan, seed=0)
        assert [made.surface for made in run.findings] == ["labels"]
        assert run.skipped[0].surface == "the rest"

    def test_a_curve_that_cannot_be_measured_leaves_the_plan(self, plan, stop):
        stop("labels", ValueError("needs 2 classes\nand more"), where=lambda step: step.plan.epsilon == 0.5)
        run = run_audit(plan.only(["labels"]), seed=0)
        said = f"labels, {plan.steps[0].at(0.5).plan.describe()}: needs 2 classes"
        assert run.skipped == (SkippedSurface(surface="the curve of labels", reason=said),)
        assert (len(run.findings), run.curve) == (1, ())

    def test_a_curve_that_cannot_be_planned_leaves_the_plan(self, iris, step_of):
        random = step_of(iris, "bags", epsilon=None, mechanism="random:size=5,bags=20")
        run = run_audit(AuditPlan(steps=(random,), epsilons=(1.0,)), seed=0)
        assert (len(run.findings), run.curve) == (1, ())
        assert [skipped.surface for skipped in run.skipped] == ["the curve of bags"]
        assert "joins" in run.skipped[0].reason, "how many bags a row may join bounds its label's privacy loss"

    def test_the_curve_is_of_the_planned_release(self, iris, step_of):
        plan = AuditPlan(steps=(step_of(iris, "bags", epsilon=1.0, by=[["petal_width"]], min_size=3),), epsilons=(2.0,))
        (point,) = run_audit(plan, seed=0).curve
        assert "--epsilon 2 --by petal_width --totals classes --min-size 3 " in point.commands[1]

    def test_releases_and_tables_have_seeds_of_their_own(self, iris, step_of):
        tables = (iris, replace(iris, name="another table"))
        steps = [step_of(source, "labels", epsilon=epsilon) for source in tables for epsilon in (1.0, 2.0)]
        seeds = [step.seed(0, draw=draw) for step in steps for draw in range(4)]
        assert len(set(seeds)) == len(seeds)
        assert steps[0].seed(None, draw=0) is None, "without a seed, the operating system's entropy"

    def test_days_of_an_attack_follow_from_the_plan_and_are_not_kept(self, plan, tmp_path):
        cache = FindingCache(tmp_path / "cache")
        for per_day, days in ((5, "days at 5 per day"), (10_000, "(1 day at 10,000 per day)")):
            found = run_audit(replace(plan.only(["scores"]), per_day=per_day, epsilons=()), seed=0, cache=cache)
            assert days in found.findings[0].told

    def test_an_error_says_which_release(self, plan, stop):
        stop("labels", InvalidInput("too small"))
        with pytest.raises(InvalidInput, match=rf"^labels, {plan.steps[0].plan.describe()}: too small$"):
            run_audit(plan, seed=0)

    def test_an_error_about_a_key_says_its_line(self, plan, stop):
        planned = replace(plan.steps[0], places={"epsilon": "tacit.toml, line 5, labels.epsilon"})
        stop("labels", InvalidInput("must be larger", field="epsilon"))
        with pytest.raises(InvalidInput, match=r"^tacit\.toml, line 5, labels\.epsilon: epsilon must be larger$"):
            run_audit(AuditPlan(steps=(planned,)), seed=0)


class TestPlan:
    def test_unknown_surfaces_are_refused(self):
        with pytest.raises(InvalidInput, match=r"surfaces must be some of .*, got moon"):
            bundled_plan().only(["scores", "moon"])

    def test_surfaces_without_a_release_are_refused(self, plan):
        with pytest.raises(InvalidInput, match="that the plan has a release for, got bags"):
            plan.only(["bags"])

    @pytest.mark.parametrize("parts", [{"epsilons": (0.0,)}, {"delta": 1.0}, {"delta": 1 / 150}, {"per_day": 0}])
    def test_impossible_numbers_are_refused(self, plan, parts):
        with pytest.raises(InvalidInput):
            AuditPlan(steps=plan.steps, **parts)

    @pytest.mark.parametrize(
        ("surface", "keys", "said"),
        [
            ("bags", {"epsilon": 1, "by": [["petal"]]}, "by must name columns of the table .*, got 'petal'"),
            ("models", {"epsilon": None, "mechanism": "plain", "ranges": {"x": [0, 1]}}, "ranges must name .* got 'x'"),
            ("labels", {"epsilon": 1, "person": "who"}, "person must name columns of the table .*, got 'who'"),
            ("labels", {"epsilon": 1, "features": ["who"]}, "features must name columns of the table .*, got 'who'"),
            ("features", {"epsilon": 1, "delta": 0.01, "ranges": {"*": [0, 9]}}, "delta must be below 1/150"),
        ],
    )
    def test_what_a_table_does_not_have_is_refused(self, iris, step_of, surface, keys, said):
        with pytest.raises(InvalidInput, match=said):
            step_of(iris, surface, **keys)

    def test_words_for_every_column_are_no_column(self, iris, step_of):
        step_of(iris, "labels", epsilon=1, features="all")
        step_of(iris, "features", epsilon=1, delta=1e-6, ranges={"*": [0, 9]})

    def test_a_seed_below_zero_is_refused_by_name(self, plan):
        with pytest.raises(InvalidInput, match=r"seed must be .* >= 0, got -1"):
            run_audit(plan, seed=-1)


def test_releases_with_the_same_words_are_compared_in_their_order(finding, run_of):
    one, two = (finding(NoGuarantee(reason="exact"), guesses, (0, 1) * 50) for guesses in ([0] * 100, (0, 1) * 50))
    pairs = compare(run_of(one, two), run_of(one, two, two))
    assert [(pair.before, pair.after) for pair in pairs] == [(one, one), (two, two), (None, two)]


class TestVerdict:
    truth = (0, 1) * 500

    def test_a_leak_above_its_guarantee_is_said(self, finding, run_of):
        guarantee = Guarantee(unit=Unit.LABEL, epsilon=1.0)
        assert finding(guarantee, self.truth, self.truth).broken
        assert not finding(guarantee, [0] * 1000, self.truth).broken
        assert not finding(NoGuarantee(reason="exact"), self.truth, self.truth).broken
        assert "epsilon is at least" in faults(run_of(finding(guarantee, self.truth, self.truth)), RunLimits())[0]

    def test_releases_are_ranked_by_harm_and_not_by_points(self, finding, run_of):
        strong, weak = (Guarantee(unit=Unit.LABEL, epsilon=epsilon) for epsilon in (1.0, 9.0))
        right, half = self.truth, [0, 1, 0, 0] * 250
        violated = finding(strong, right, self.truth)
        determined = finding(NoGuarantee(reason="exact"), [0] * 1000, self.truth, certain=3)
        above = finding(weak, right, self.truth)
        unknown = finding(NoGuarantee(reason="exact"), half[:40], self.truth[:40])
        below = finding(strong, [0, 1, 1, 1] * 250, self.truth)
        ranked = [violated, determined, above, unknown, below]
        assert [made.answer for made in ranked] == ["no", "no", "no", "not known yet", "yes"]
        assert [*run_of(*reversed(ranked)).ranked] == ranked
        assert determined.leak.advantage < unknown.leak.advantage, "control: points would rank otherwise"

    def test_odds_have_three_outcomes_and_too_few_rows_do_not_pass(self, finding, run_of):
        none, few = NoGuarantee(reason="exact"), [0, 1, 0, 0] * 10
        above, unknown = finding(none, self.truth, self.truth), finding(none, few, self.truth[:40])
        below = finding(none, [0, 1, 1, 1] * 250, self.truth)
        (fault,) = faults(run_of(above), RunLimits(odds=10))
        assert fault.startswith("labels, a release: suspicion of ill = 1 goes from 50.0% to 100% (")
        assert fault.endswith("-fold, and the limit is 10-fold")
        assert "too few rows to tell" in faults(run_of(unknown), RunLimits(odds=10))[0]
        assert faults(run_of(below), RunLimits(odds=10)) == ()
        assert faults(run_of(above, unknown, below), RunLimits()) == ()
        assert faults(run_of(below), RunLimits(odds=1.5)), "the run's limit counts, not the one of the finding"

    @pytest.mark.parametrize(
        ("parts", "passes"),
        [
            ({"epsilon": 2.3}, True),
            ({"epsilon": 2.31}, False),
            ({"epsilon": 1.0, "delta": 0.0024}, True),
            ({"epsilon": 1.0, "delta": 0.0025}, False),
            ({"epsilon": 1.0, "unit": Unit.RECORD}, True),
            ({"epsilon": 1.0, "unit": Unit.BAG}, False),
        ],
    )
    def test_a_guarantee_below_the_limit_passes_where_rows_are_too_few(self, finding, run_of, parts, passes):
        few = finding(Guarantee(**{"unit": Unit.LABEL, **parts}), [0, 1, 0, 0] * 10, self.truth[:40])
        few = replace(few, leak=replace(few.leak, bound=None))
        assert (few.state is ReleaseState.GUARANTEED) == passes
        assert (faults(run_of(few), RunLimits(odds=10)) == ()) == passes
        assert few.reason.startswith("By guarantee: epsilon" if passes else "Too few rows to tell: ")
        assert few.reason.endswith("there are too few rows to check it.") == passes

    def test_what_is_determined_for_certain_fails_whatever_is_guaranteed(self, finding, run_of):
        certain = finding(Guarantee(unit=Unit.LABEL, epsilon=1.0), [0, 1, 1, 1] * 250, self.truth, certain=1)
        assert (certain.answer, certain.reason) == ("no", "1 label is determined for certain.")
        for limits in (RunLimits(odds=10), RunLimits(advantage=1.0)):
            assert faults(run_of(certain), limits) == ("labels, a release: 1 label is determined for certain",)

    def test_advantage_is_balanced_and_has_three_outcomes(self, finding, run_of):
        half, few = finding(NoGuarantee(reason="exact"), [0, 1, 0, 0] * 250, self.truth), [0, 1, 0, 0] * 10
        assert faults(run_of(half), RunLimits(advantage=0.6)) == ()
        assert (
            "+50.0 points (+44.0 to +55.1 points), above the limit: the limit is +40.0 points"
            in (faults(run_of(half), RunLimits(advantage=0.4))[0])
        )
        unknown = finding(NoGuarantee(reason="exact"), few, self.truth[:40])
        assert "too few rows to tell: the limit is +60.0 points" in faults(run_of(unknown), RunLimits(advantage=0.6))[0]
        guaranteed = finding(Guarantee(unit=Unit.LABEL, epsilon=1.0), few, self.truth[:40])
        guaranteed = replace(guaranteed, leak=replace(guaranteed.leak, bound=None))
        assert faults(run_of(guaranteed), RunLimits(advantage=0.47)) == (), "tanh(1/2) is 0.462"
        assert faults(run_of(guaranteed), RunLimits(advantage=0.46))

    @pytest.mark.parametrize("given", [{"odds": 1.0}, {"odds": float("nan")}, {"advantage": 0.0}, {"advantage": 2.0}])
    def test_impossible_limits_are_refused(self, given):
        with pytest.raises(InvalidInput, match=next(iter(given))):
            RunLimits(**given)

    def test_an_epsilon_that_was_proved_is_rounded_down_and_a_guarantee_up(self, finding, run_of):
        measured = finding(Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1.4e-6), self.truth, self.truth)
        bound = replace(measured.leak.bound, value=1.0019, delta=1.4e-6)
        refuted = replace(measured, leak=replace(measured.leak, bound=bound))
        assert "epsilon is at least 1.001, and epsilon 1, delta 1.4e-6" in faults(run_of(refuted), RunLimits())[0]
        assert judge(run_of(refuted)).told.endswith("but the attack shows that epsilon is at least 1.001.")
        assert "except with probability 2e-6." in in_plain_words(refuted.guarantee)

    def test_a_file_that_is_no_audit_says_what_is_missing(self):
        with pytest.raises(InvalidInput, match="an audit must have its version"):
            AuditResult.from_json({})
