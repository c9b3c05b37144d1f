"""The page in a real browser: nothing asked of the network, read by keyboard, at phone width, in the dark, on paper."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tacit.audit import SkippedSurface, bundled_plan, run_audit
from tacit.report import render_page

# the contrast of every visible text with what is painted behind it, as WCAG 2 computes it
CONTRAST = """() => {
  const read = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const over = (top, under) => [0, 1, 2].map((k) => top[k] * top[3] + under[k] * (1 - top[3]));
  const light = (c) => { const f = (v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
  const behind = (e) => { const layers = [];
    for (; e; e = e.parentElement) layers.push(read(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]); };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
    if (!text || !e.checkVisibility()) continue;
    const style = getComputedStyle(e), back = behind(e);
    const ink = over(read(e instanceof SVGElement ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    found.push([(a + .05) / (b + .05), text.slice(0, 40)]);
  }
  return found;
}"""


FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  const outlined = parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== 'none';
  return e === document.body ? null : [box.top + scrollY, outlined];
}"""


@pytest.fixture(scope="module")
def path(browser, tmp_path_factory):  # without a browser nothing is made for it
    plan = replace(bundled_plan().only(["bags", "scores"]), epsilons=(0.3, 3.0))
    result = run_audit(plan, seed=0)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_page(result, earlier=result))
    return path


@pytest.fixture
def visit(open_page, path):
    def visit(**options):
        page = open_page(**options)
        page.goto(path.as_uri())
        return page

    return visit


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_is_readable_and_asks_nobody(visit, shoot, path, width, scheme):
    page = visit(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((details) => details.open = true)")
    assert page.asked == [path.as_uri()]
    assert page.said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "no sideways scrolling"
    contrasts = page.evaluate(CONTRAST)
    assert len(contrasts) > 300
    assert min(contrasts)[0] >= 4.5, min(contrasts)
    shoot(page, f"{scheme}-{width}")


@pytest.mark.parametrize("width", [390, 1200])
def test_names_without_a_space_break(browser, tmp_path, width):
    """A column may be called anything, and at any length."""
    result = run_audit(replace(bundled_plan().only(["labels"]), epsilons=(1.0,)), seed=0)
    long = replace(result.findings[0], setting="x" * 300, data="y" * 300, told="z" * 300, commands=("w" * 300,) * 4)
    skipped = SkippedSurface(surface="models", reason="v" * 300)
    totals = tuple(replace(total, data="y" * 300) for total in result.totals)
    path = tmp_path / "report.html"
    path.write_text(render_page(replace(result, findings=(long,), curve=(long,), totals=totals, skipped=(skipped,))))
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((details) => details.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "no sideways scrolling"
    page.close()


def test_the_answer_is_on_the_first_screen(visit):
    page = visit(viewport={"width": 390, "height": 844})
    for words in ("Do not hand out", "What to do:"):
        box = page.get_by_text(words).first.bounding_box()
        assert box["y"] + box["height"] < 844
    first = page.locator(".rates li").first
    assert "log loss rounded to 5 decimals" in first.inner_text(), "the picture begins with it too"


def test_every_control_is_reached_by_tab_in_order_and_seen(visit):
    page = visit(viewport={"width": 1200, "height": 900})
    wanted = page.locator("a[href], summary, [tabindex='0']").count()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0, "shown when focused"
    tops, seen = [], 0
    for _ in range(wanted - 1):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at is None:
            break
        tops.append(at[0])
        seen += at[1]
    assert len(tops) >= 20
    assert seen == len(tops), "focus is visible everywhere"
    assert sum(b < a - 300 for a, b in pairwise(tops)) == 0, "from the top to the bottom"
    details = page.locator("article details").first
    details.locator("summary").focus()
    page.keyboard.press("Enter")
    assert details.get_attribute("open") is not None


def test_every_link_has_its_place_and_every_picture_its_words(visit):
    page = visit()
    for href in page.eval_on_selector_all("a[href^='#']", "all => all.map((a) => a.getAttribute('href'))"):
        assert page.locator(f"[id='{href[1:]}']").count() == 1, href
    unnamed = page.locator("svg:not([aria-label]), [role='img']:not([aria-label]), [role='region']:not([aria-label])")
    assert unnamed.count() == 0
    levels = [int(tag[1]) for tag in page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map((h) => h.tagName)")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels)), "no level is skipped"


def test_it_prints_with_everything_that_was_folded(visit, shoot, tmp_path):
    page = visit(color_scheme="dark", viewport={"width": 718, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print")
    shoot(page, "print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    hidden = page.locator("article details").first.locator("table")
    assert hidden.evaluate("(table) => table.getBoundingClientRect().height") > 100
    page.pdf(path=str(tmp_path / "page.pdf"), format="A4")
    assert 20_000 < (tmp_path / "page.pdf").stat().st_size < 3_000_000
