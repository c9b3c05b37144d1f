import re

import pytest

from tacit.audit import bundled_plan, run_audit
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
