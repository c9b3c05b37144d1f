"""The page of every situation that a reader may meet: the sentence that answers, and its color."""

import importlib.util
from pathlib import Path

import pytest

from tacit.report import render_page

SCRIPT = Path(__file__).parents[2] / "scripts" / "report_pages.py"
SAID = {
    "nothing-leaks": ("yes", "All 2 planned releases may be handed out."),
    "one-leaks": ("no", "Do not hand out bags: totals by age, region, exact."),
    "too-weak": ("no", "Do not hand out labels: randomized response, epsilon 8."),
    "too-few-rows": ("unknown", "Not known yet whether to hand out labels: randomized response, epsilon 2.5."),
    "no-utility": ("unknown", "The planned release is below the limit, but has no utility."),
    "partial": ("unknown", "So far 1 of 2 planned releases may be handed out; the rest was not audited."),
    "above-together": ("no", "Do not hand out all 2 releases of people.csv, 16,000 rows together."),
}


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("playwright", reason="the script draws with Playwright")
    spec = importlib.util.spec_from_file_location("report_pages", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_situation_has_its_sentence(script):
    assert set(script.SITUATIONS) == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_the_page_answers_in_its_first_sentence(script, name):
    tone, sentence = SAID[name]
    page = render_page(script.SITUATIONS[name]())
    assert ("at most once" in page) == (name in ("nothing-leaks", "partial"))
    assert f'<div class="verdict {tone}">\n<p class="headline">{sentence}</p>' in page
