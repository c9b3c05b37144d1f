import re
from dataclasses import replace

import pytest

from tacit.audit import AuditResult, Total, bundled_plan, run_audit
from tacit.privacy import Guarantee, Unit
from tacit.report import render_page


@pytest.fixture(scope="module")
def page():
    return render_page(run_audit(bundled_plan().only(["scores"]), seed=0))


def test_page_is_one_file_without_network(page):
    assert page.startswith("<!doctype html>")
    outside = re.findall(r'(?:src|href)\s*=\s*"([^"#][^"]*)"', page)
    assert outside == []
    assert "@import" not in page
    assert len(page.encode()) < 3_000_000


def test_page_says_what_matters(page):
    assert "of 2,201 labels" in page
    assert "seeded noise is not private" in page
    assert "tacit scores attack --labels titanic.csv --metric log_loss --decimals 5" in page


def test_picture_follows_the_colours_of_the_page(page):
    picture = page[page.index("<svg") : page.index("</svg>")]
    assert "var(--leak)" in picture
    assert "#070809" not in picture


def test_text_is_escaped():
    from dataclasses import replace

    result = run_audit(bundled_plan().only(["scores"]), seed=0)
    bad = replace(result, findings=(replace(result.findings[0], setting="<script>alert(1)</script>"),))
    assert "<script>" not in render_page(bad)


def test_a_column_named_like_markup_or_mathematics_is_shown_as_it_is():
    """What a user calls her columns reaches the page as text: in tables, headings and pictures."""
    named = replace(run_audit(bundled_plan().only(["labels"]), seed=0).findings[0], setting="totals by <b> and $x_1$")
    page = render_page(AuditResult(findings=(named,), version="0", date="2026-01-01", seed=None))
    assert "<b>" not in page
    assert page.count("$x_1$") == 4, "lead, picture, table, heading"


def test_the_total_says_what_it_assumes():
    promise = Guarantee(unit=Unit.LABEL, epsilon=1.0, assumptions=("one team",))
    found = replace(run_audit(bundled_plan().only(["labels"]), seed=0).findings[0], promise=promise)
    total = Total(data="a table", promise=promise, releases=1)
    page = render_page(AuditResult(findings=(found,), totals=(total,), version="0", date="2026-01-01", seed=None))
    assert "<li>one team.</li>" in page
