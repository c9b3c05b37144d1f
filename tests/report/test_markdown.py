"""The short summary: what it holds, and that names from the data are only text in it."""

import re
from dataclasses import replace
from html import unescape

import pytest

from tacit.audit import SkippedSurface, bundled_plan, judge, run_audit
from tacit.report.markdown import render_summary


@pytest.fixture(scope="module")
def result():
    return run_audit(replace(bundled_plan().only(["labels", "scores"]), epsilons=()), seed=0)


def rows(summary):
    return [line for line in summary.splitlines() if line.startswith("|")][2:]


def test_each_release_has_its_row_with_the_answer_and_its_reason(result):
    summary = unescape(render_summary(result))
    assert len(rows(summary)) == len(result.findings) == 3
    assert [finding.answer for finding in result.findings] == ["no", "no", "yes"], "the rows of Titanic are sorted"
    for finding, row in zip(result.findings, rows(summary), strict=True):
        assert f"| {finding.answer} | {finding.reason} |" in row
    assert f"| labels | {result.findings[0].setting} | epsilon 1 for one label |" in rows(summary)[0]
    assert f"| scores | {result.findings[1].setting} | none |" in rows(summary)[1]
    assert f"- {judge(result).headline} {result.worst.reason}" in summary
    assert f"- What to do: {judge(result).action}" in summary


def test_what_is_below_the_limit_may_be_handed_out(result):
    quiet = replace(result, findings=result.findings[2:], planned=1)
    assert "The planned release may be handed out." in render_summary(quiet)


def test_limits_that_were_passed_and_surfaces_left_out_come_first(result):
    partial = replace(result, skipped=(SkippedSurface(surface="models", reason="torch is missing"),))
    summary = render_summary(partial, faults=["scores, exact: leak 20%, the limit is 10%"])
    failed, skipped = (summary.index(f"- **{word}:**") for word in ("Failed", "Skipped"))
    assert failed < skipped < summary.index("| surface |")
    assert "- **Failed:** scores, exact: leak 20%, the limit is 10%." in summary
    assert "- **Skipped:** models: torch is missing." in summary
    assert "Failed" not in render_summary(result)


def test_names_from_the_data_are_text(result):
    name = "a | b\n<img src=x> [link](http://x) `code` **bold** $x$ \\"
    summary = render_summary(
        replace(result, findings=(replace(result.findings[2], setting=name),), totals=()), faults=[name]
    )
    (row,) = rows(summary)
    assert row.count("|") == 7, "six cells"
    assert not re.search(r"[\\`\[\]<>$]", row)
    assert "**bold**" not in summary
    assert unescape(summary).count(" ".join(name.split())) == 2, "control: it is there, above and in the row"


@pytest.mark.parametrize("name", ["http://x.org", "see HTTPS://x.org/a", "www.x.org", "WWW.x.org", ":tada:", "@you"])
def test_addresses_and_signs_that_github_would_read_are_text(result, name):
    finding = replace(result.findings[0], setting=name)
    (row,) = rows(render_summary(replace(result, findings=(finding,), totals=())))
    assert name not in row
    assert not re.search(r"https?:|www\.|:\w+:|@", row, flags=re.IGNORECASE)
    assert name in unescape(row), "control: the name is there"
