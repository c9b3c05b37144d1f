"""What the page says, of which run, and that all of it is one file."""

import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacit.audit import (
    AuditPlan,
    AuditResult,
    PlannedRelease,
    ReleaseCost,
    RunLimits,
    SkippedSurface,
    TotalCost,
    bundled_plan,
    faults,
    judge,
    run_audit,
)
from tacit.audit.plan import planned_release
from tacit.audit.source import bundled_source
from tacit.audit.utility import share_utility
from tacit.leak import OddsChange
from tacit.privacy import Guarantee, NoGuarantee, Unit
from tacit.report import render_page
from tacit.report.chart import draw_utility
from tacit.report.scale import AxisRange
from tacit.report.tradeoff import draw_tradeoff


@pytest.fixture(scope="module")
def result():
    return run_audit(replace(bundled_plan().only(["scores"]), epsilons=(1.0, 10.0)), seed=0)


@pytest.fixture(scope="module")
def page(result):
    return render_page(result)


@pytest.fixture(scope="module")
def labels():
    titanic = bundled_source("titanic")
    shuffled = np.random.default_rng(0).permutation(titanic.rows)  # the bundled rows are sorted, which is a leak itself
    titanic = replace(titanic, table=titanic.table.take(pa.array(shuffled)))
    step = PlannedRelease(source=titanic, plan=planned_release("labels", titanic, {"epsilon": 5.0}))
    return run_audit(AuditPlan(steps=(step,), epsilons=(1.0,)), seed=0)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<body>") :]))


def test_page_is_one_file_without_network(page):
    assert page.startswith("<!doctype html>")
    assert re.findall(r'(?:src|href)\s*=\s*"([^"#][^"]*)"', page) == []
    assert not re.search(r"@import|url\(|http|<script", page)
    assert len(page.encode()) < 3_000_000


def test_page_says_what_matters(page, result):
    said = text_of(page)
    assert f"Do not hand out scores: {result.worst.setting}." in said
    assert f"{result.worst.reason} What to do: Instead, release log loss with Laplace noise" in said
    assert "After 176 submissions (36 days at 5 per day) 2,201 labels are determined for certain, and 100%" in said
    assert "Seeded noise is not private" in said
    assert "tacit audit --surfaces scores --seed 0 --fresh --json --out again.html" in said


def test_intervals_of_rows_that_share_their_noise_are_of_this_release(page, labels):
    changes = re.findall(r"the error shared by all classes and both rates[^<]*", page)
    assert changes
    assert set(changes) == {"the error shared by all classes and both rates; of this release"}
    assert "of this release" not in re.sub("Every number of this release", "", text_of(render_page(labels)))


def test_every_number_of_a_release_has_its_interval_and_method(page, result):
    tables = re.findall(r"<table class=\"stack\">\s*<caption>Every number.*?</table>", page, flags=re.S)
    assert len(tables) == len(result.findings)
    for table in tables:
        rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", table, flags=re.S)
        assert len(rows) >= 9
        for row in rows:
            _, interval, method = (re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td.*?</td>", row))
            assert re.search(r" to |exact|confidence|none", interval), row
            assert len(method) > 5, row


def test_json_has_an_interval_for_every_measured_number(result):
    for finding in [*result.to_json()["findings"], *result.to_json()["curve"]]:
        assert {"interval", "advantage_interval"} <= set(finding["leak"])
        assert finding["baseline_interval"]["low"] <= finding["leak"]["baseline"]
        assert {"interval", "unprotected_interval", "cost_interval", "method"} <= set(finding["utility"])
        assert finding["command"].startswith("tacit audit --surfaces scores")


def test_one_epsilon_is_one_column_of_the_heat_map(labels):
    third = replace(labels.curve[0].guarantee, epsilon=0.9999999999999999)
    other = replace(labels.curve[0], surface="scores", guarantee=third)
    page = render_page(replace(labels, curve=(*labels.curve, other)))
    table = page[page.index('class="heat"') :]
    head = table[: table.index("</thead>")]
    assert re.findall(r'scope="col">([^<]*)<', head) == ["epsilon", "1"]


def test_a_curve_without_a_measured_suspicion_is_written(labels):
    (point,) = labels.curve
    amounts = replace(labels, curve=(replace(point, leak=replace(point.leak, changes=())),))
    before, after = (text_of(render_page(one)).count("none measured") for one in (labels, amounts))
    assert after == before + 3  # its suspicion, change of odds and advantage


def test_a_picture_stands_before_every_table(page):
    for section in re.findall(r"<section.*?</section>", page, flags=re.S):
        for table in re.finditer("<table", section):
            assert re.search(r"<figure|class=\"track\"|<svg", section[: table.start()])


def test_every_table_has_a_caption_and_heads_with_a_scope(page):
    tables = re.findall(r"<table.*?</table>", page, flags=re.S)
    assert len(tables) > 4
    for table in tables:
        assert "<caption>" in table
        assert "<th>" not in table


def test_text_is_escaped(labels):
    bad = "<script>alert(1)</script>"
    named = replace(labels.findings[0], setting=bad, command=bad, commands=(bad,), told=bad, remedy=bad, data=bad)
    assert "<script>" not in render_page(
        replace(labels, findings=(named,), skipped=(SkippedSurface(surface=bad, reason=bad),))
    )


def test_a_column_named_like_markup_or_mathematics_is_shown_as_it_is(labels):
    named = replace(labels.findings[0], setting="totals by <b> and $x_1$")
    page = render_page(replace(labels, findings=(named,)))
    assert "totals by <b>" not in page
    assert "totals by &lt;b&gt; and $x_1$" in page


def test_a_limit_that_was_passed_is_on_the_page(labels):
    over = faults(labels, RunLimits(epsilon=0.5))
    said = text_of(render_page(labels, faults=over))
    assert f"Failed: {over[0]}." in said
    assert said.index("Failed: ") < said.index("Do not hand out")
    assert "Failed: " not in text_of(render_page(labels))


def test_sentences_have_a_blank_between_them(labels):
    for result in (labels, replace(labels, seed=None)):
        words = re.sub(r"<pre.*?</pre>|<code.*?</code>|<style.*?</style>", "", render_page(result), flags=re.S)
        assert re.findall(r"[a-z]\.[A-Z]\w+", re.sub(r"<[^>]+>", " ", words)) == []


@pytest.mark.parametrize("ends", [(0.5, 0.5), (0.5, 0.82), (0.82, 0.5), (0.78, 0.78), (0.8, 0.8), (0.85, 0.85)])
def test_no_curve_runs_through_the_words_of_a_level(labels, ends):
    """The private data are at 80%; the curve is far from it, ends or begins at it, or runs along it."""
    uses = [replace(labels.findings[0].utility, protected=share, unprotected=0.8, blind=0.6) for share in ends]
    curve = [
        replace(point, guarantee=Guarantee(unit=Unit.LABEL, epsilon=epsilon), utility=use)
        for point, epsilon, use in zip(labels.findings * 2, (0.1, 10.0), uses, strict=True)
    ]
    drawing = draw_utility(curve)
    path = re.search(r'<polyline[^>]*points="(.*?)"', drawing)[1]
    (x0, y0), (x1, y1) = (map(float, pair.split(",")) for pair in path.split())
    named = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="end">(private data|no data)<', drawing)
    assert len(named) == 2
    for right, base, words in named:
        for x in range(int(float(right) - 6 * len(words)), int(float(right))):
            curved = y0 + (y1 - y0) * (min(max(x, x0), x1) - x0) / (x1 - x0)
            assert not float(base) - 9 < curved < float(base) + 1, words


def test_the_total_says_what_it_assumes(labels):
    guarantee = Guarantee(unit=Unit.LABEL, epsilon=1.0, assumptions=("one team",))
    page = render_page(
        replace(labels, totals=(TotalCost(data="a table", guarantee=guarantee, parts=(ReleaseCost("one", 1.0),)),))
    )
    assert "<li>one team.</li>" in page


class TestTheTop:
    """The first sentences say which release does the most harm and what to do, whatever was run."""

    truth = (0, 1) * 500

    def top(self, result):
        page = render_page(result)
        return text_of(page[page.index("<header>") - len("<body>") :].replace("<header>", "<body>", 1))[:900]

    def made(self, labels, found, mistaken, guarantee=None, right=800, **parts):
        """A release that flags so many of 500 rows with the label, and of 500 others."""
        use = share_utility("accuracy", [True] * right + [False] * (1000 - right), [True] * 1000, truth=self.truth)
        counts = {"found": found, "rows": 500, "mistaken": mistaken, "others": 500}
        change = OddsChange.from_counts("yes", **counts, share=0.5, level=0.95)
        return replace(
            labels.findings[0],
            guarantee=guarantee or NoGuarantee(reason="exact"),
            leak=replace(labels.findings[0].leak, changes=(change,), bound=None),
            utility=use,
            **parts,
        )

    def run_of(self, *findings, **parts):
        return AuditResult(findings=findings, version="0", date="2026-01-01", seed=None, **parts)

    def test_one_surface(self, labels):
        said = self.top(labels)
        assert f"Do not hand out labels: {labels.findings[0].setting}." in said
        assert labels.findings[0].reason in said
        assert "What to do: Instead, release randomized response, epsilon 1." in said

    def test_the_alternative_is_one_that_was_measured(self, labels):
        bad = self.made(labels, 500, 0, setting="as they are")
        guarantee = Guarantee(unit=Unit.LABEL, epsilon=1.0)
        useful = self.made(labels, 300, 250, guarantee, setting="with noise", right=700)
        useless = self.made(labels, 250, 250, Guarantee(unit=Unit.LABEL, epsilon=0.1), setting="drowned", right=400)
        said = self.top(self.run_of(bad, curve=(useless, useful)))
        assert f"Instead, release with noise. {useful.reason} Accuracy: 70.0%, compared with 100% without" in said
        assert "Instead, release" not in self.top(self.run_of(bad, curve=(useless,)))

    def test_no_alternative_guarantees_next_to_nothing_or_spends_more_than_it_must(self, labels):
        bad = self.made(labels, 500, 0, setting="as they are")
        tenth, one, fifty = (
            self.made(labels, 250, 250, Guarantee(unit=Unit.LABEL, epsilon=e), setting=f"epsilon {e}", right=right)
            for e, right in ((0.1, 690), (1.0, 700), (50.0, 1000))
        )
        assert "Instead, release" not in self.top(self.run_of(bad, curve=(fifty,)))
        assert "Instead, release epsilon 0.1." in self.top(self.run_of(bad, curve=(one, tenth, fifty)))
        less = self.made(labels, 250, 250, tenth.guarantee, setting="less", right=600)
        assert "Instead, release epsilon 1.0." in self.top(self.run_of(bad, curve=(one, less))), "clearly less useful"

    def test_others_are_counted_by_their_answers(self, labels):
        worst, bad, may = (self.made(labels, *counts) for counts in ((500, 0), (400, 10), (300, 250)))
        action = judge(self.run_of(bad, may, worst)).action
        assert "Of the other planned releases, one must not be handed out and one may be handed out." in action
        assert "other planned" not in judge(self.run_of(worst)).action

    def test_too_few_rows(self, labels):
        unknown = self.made(labels, 2, 1, setting="few")
        said = self.top(self.run_of(unknown))
        assert "Not known yet whether to hand out labels: few. Too few rows to tell: suspicion of" in said

    def test_everything_may_be_handed_out(self, labels):
        quiet = self.made(labels, 300, 250, Guarantee(unit=Unit.LABEL, epsilon=1.0))
        total = TotalCost(data="x", guarantee=quiet.guarantee, parts=(ReleaseCost(quiet.name, 1.0),))
        said = self.top(self.run_of(quiet, totals=(total,)))
        assert f"The planned release may be handed out. {quiet.reason}" in said
        assert "What to do: Make it at most once: the total privacy cost is epsilon 1 for one label." in said

    def test_what_may_be_handed_out_without_a_guarantee_is_named(self, labels):
        bare = self.made(labels, 300, 250, setting="bare")
        said = self.top(self.run_of(bare, bare))
        assert "All 2 planned releases may be handed out." in said
        assert "Nothing is guaranteed for bare; bare: a better attack may succeed" in said
        assert bare.reason.endswith("; nothing is guaranteed, so a better attack may find more.")

    def test_no_utility_is_amber_and_never_handed_out(self, labels):
        guarantee = Guarantee(unit=Unit.LABEL, epsilon=0.1)
        idle = self.made(labels, 300, 250, guarantee, right=400, setting="drowned")
        said = self.top(self.run_of(idle))
        assert "The planned release is below the limit, but has no utility." in said
        assert "What to do: Nothing can be learned from drowned: allow a larger epsilon" in said
        assert "may be handed out" not in said
        assert '<div class="verdict unknown">' in render_page(self.run_of(idle))
        useful = self.made(labels, 300, 250, guarantee, setting="useful")
        headline = judge(self.run_of(idle, useful)).headline
        assert headline == "All 2 planned releases are below the limit, but 1 has no utility."

    def test_an_interrupted_run(self, labels):
        rest = SkippedSurface(surface="the rest", reason="the run was interrupted")
        said = self.top(replace(labels, planned=11, skipped=(rest,)))
        assert "Partial: 1 of 11 planned releases were audited, and what was left out may leak more" in said
        assert said.index("Partial") < said.index("Do not hand out")

    def test_nothing_was_audited(self):
        rest = SkippedSurface(surface="the rest", reason="the run was interrupted")
        said = self.top(self.run_of(planned=3, skipped=(rest,)))
        assert "Nothing was audited." in said
        assert "0 of 3 planned releases" in said

    def test_a_refuted_guarantee_comes_first(self, labels):
        guarantee = Guarantee(unit=Unit.LABEL, epsilon=0.1)
        broken = replace(labels.findings[0], guarantee=guarantee)
        worse = self.made(labels, 500, 0, setting="in clear")
        result = self.run_of(worse, broken)
        assert broken.broken
        assert f"A guarantee is violated: labels, {broken.setting}." in self.top(result)
        within = self.made(labels, 300, 250, Guarantee(unit=Unit.LABEL, epsilon=9.0))
        assert '<div class="verdict no">' in render_page(self.run_of(within, curve=(broken,)))
        assert judge(result).action.startswith("Release nothing")
        assert faults(result, RunLimits())


class TestSuspicion:
    def test_a_rare_class_is_seen_on_the_axis(self):
        axis = AxisRange.of_chances([0.0, 1.0])
        places = [axis.place(share) for share in (0.0, 1e-4, 0.004, 0.5, 0.996, 1.0)]
        assert places == sorted(places)
        assert (places[0], places[3], places[-1]) == pytest.approx((0.0, 0.5, 1.0))
        assert 0.15 < places[2] < 0.25

    @pytest.mark.parametrize("shown", [(0.5, 0.52), (0.02, 0.03), (0.97, 0.98)])
    def test_a_small_difference_is_seen_where_nothing_large_is_shown(self, shown):
        axis, whole = AxisRange.of_chances(shown), AxisRange.of_chances([0.0, 1.0])
        assert axis.place(shown[1]) - axis.place(shown[0]) > 0.05
        assert whole.place(shown[1]) - whole.place(shown[0]) < 0.03, "control: the axis of everything"
        assert 2 <= len(axis.ticks) <= 8

    @pytest.mark.parametrize(("odds", "ticks"), [([1.1, 0.9], 3), ([1, 12], 3), ([1, 4e5], 3), ([0.01, math.inf], 3)])
    def test_a_scale_of_odds_fits_what_is_shown(self, odds, ticks):
        axis = AxisRange.of_folds(odds)
        assert len(axis.ticks) >= ticks
        assert [axis.place(one) for one in sorted(odds)] == sorted(axis.place(one) for one in odds)
        assert 0 < axis.place(1.0) <= 1

    def test_each_class_has_its_picture_and_every_term_its_entry(self, labels):
        page = render_page(labels)
        (change, other) = labels.findings[0].leak.changes
        for one in (change, other):
            assert f'aria-label="Suspicion of survived = {one.name}: ' in page
        assert "Private column: survived. Limit on the change of odds: 10-fold." in text_of(page)
        for term in ("Suspicion", "Change of odds", "Flagged", "Limit", "May it be handed out?", "Advantage"):
            assert f"<dt>{term}</dt>" in page

    def test_releases_that_overlap_share_their_number_on_the_chart(self, labels):
        one = labels.findings[0]
        assert ">1, 2</text>" in draw_tradeoff([(one, "no"), (one, "no")])
        assert 'class="limit"' in draw_tradeoff([(one, "no")])
        bare = replace(one, leak=replace(one.leak, changes=()))
        assert "<circle" not in draw_tradeoff([(bare, "no")])
        assert "No change of odds was measured." in render_page(replace(labels, findings=(bare,), curve=(bare,)))
