"""The pages in a real browser: join, submit, see the score, and the host replays the attack."""

import logging
import re
from functools import partial

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from tacit.scores.metrics import Accuracy, LogLoss
from tacit.scores.policies import Exact
from tacit.server import CompetitionTerms, ScoringEngine, ServerSettings
from tacit.server.app import running
from tests.server.rules import rules_of

ROWS = 60


@pytest.fixture(scope="module")
def engine(browser, tmp_path_factory):  # without a browser nothing is made for it
    log = logging.getLogger("tacit")
    level = log.level
    log.setLevel(logging.CRITICAL)
    engine = ScoringEngine.open(ServerSettings(folder=tmp_path_factory.mktemp("server")))
    rng = np.random.default_rng(0)
    sizes = "".join(f"{i},{rng.normal():.3f}\n" for i in range(ROWS))
    labels = "".join(f"{i},{label}\n" for i, label in enumerate(rng.integers(0, 2, ROWS)))
    for slug, rules in {
        "noised": rules_of(metric=LogLoss(), submissions=20, per_day=10, public_fraction=1.0),
        "leaky": rules_of(metric=Accuracy(), policy=Exact(), public_fraction=1.0),
    }.items():
        terms = CompetitionTerms(
            slug=slug, name=f"The {slug} one", description="Guess the coins.", rules=rules, again=True
        )
        engine.create_competition(terms, features=f"id,size\n{sizes}".encode(), labels=f"id,label\n{labels}".encode())
    yield engine
    engine.close()
    log.setLevel(level)  # other tests read the log


@pytest.fixture(scope="module")
def url(engine):
    with running(engine) as url:
        yield url


@pytest.fixture
def visit(open_page, url):
    return partial(open_page, base_url=url)


def predictions(path, rng):
    path.write_text("id,prediction\n" + "".join(f"{i},{p:.3f}\n" for i, p in enumerate(rng.uniform(size=ROWS))))
    return path


def sign_in(page, token):
    page.goto("/sign-in")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def quiet(page, url, *, refused=0):
    """A refusal is a status that the browser notes; nothing else may be noted, and nobody else may be asked."""
    assert [line for line in page.said if "Failed to load resource" not in line] == []
    assert len(page.said) == refused
    assert all(asked.startswith((url, "data:")) for asked in page.asked)


@pytest.mark.parametrize("javascript", [True, False])
def test_a_team_joins_submits_and_sees_its_score(engine, url, visit, shoot, tmp_path, javascript):
    page = visit(java_script_enabled=javascript)
    page.goto("/join")
    page.get_by_label("Invite").fill(engine.invite("noised"))
    page.get_by_label("Team name").fill(f"Newcomers {javascript}")
    page.get_by_role("button", name="Join").click()
    assert page.get_by_label("Team token").input_value().startswith("tacit_team_")
    shoot(page, f"welcome-{javascript}")
    page.get_by_role("link", name="Submit predictions").click()
    rng = np.random.default_rng(1)
    for number in (1, 2):
        page.get_by_label("CSV file").set_input_files(predictions(tmp_path / "p.csv", rng))
        page.get_by_role("button", name="Submit").click()
        page.get_by_role("status").wait_for()
        assert re.search(rf"Submission {number} scored \d", page.get_by_role("status").inner_text())
    (tmp_path / "short.csv").write_text("id,prediction\n0,0.5\n")
    page.get_by_label("CSV file").set_input_files(tmp_path / "short.csv")
    page.get_by_role("button", name="Submit").click()
    assert "Not accepted" in page.get_by_role("alert").inner_text()
    assert page.locator("tbody tr").count() == 2
    shoot(page, f"team-{javascript}")
    page.goto("/c/noised")
    assert f"Newcomers {javascript}" in page.locator("table").inner_text()
    assert page.locator("svg[role=img]").count() == 1
    shoot(page, f"leaderboard-{javascript}")
    quiet(page, url, refused=1)


def test_the_host_invites_and_replays_the_attack(engine, url, visit, shoot):
    page = visit()
    sign_in(page, engine.new_admin_token())
    page.get_by_role("link", name="Manage").first.click()
    page.get_by_role("button", name="Make an invite").click()
    assert page.get_by_label("New invite").input_value().startswith("tacit_invite_")
    page.goto("/c/leaky/leaks")
    assert "submissions reveal all 60 labels" in page.get_by_role("main").inner_text()
    page.get_by_role("button", name="Replay the attack").click()
    page.get_by_text("After").wait_for()
    assert "100.0%" in page.get_by_role("main").inner_text()
    shoot(page, "leaks")
    quiet(page, url)


@pytest.mark.parametrize(
    "address", ["/", "/c/noised", "/join", "/sign-in", "/host", "/host/new", "/c/noised/host", "/c/noised/leaks"]
)
def test_a_phone_needs_no_sideways_scrolling(engine, visit, shoot, address):
    page = visit(viewport={"width": 360, "height": 740}, color_scheme="dark")
    sign_in(page, engine.new_admin_token())
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shoot(page, "phone-dark" + address.replace("/", "-"))


def test_keyboard_reaches_the_content_and_fields_have_names(engine, visit):
    page = visit()
    page.goto("/join")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    sign_in(page, engine.new_admin_token())
    for address in ("/host/new", "/c/noised/leaks", "/c/noised"):
        page.goto(address)
        fields = "[...document.querySelectorAll('input:not([type=hidden]),select,textarea')]"
        assert page.evaluate(f"{fields}.filter(field => !field.labels.length).length") == 0
        assert page.locator("h1").count() == 1
        assert {page.locator(part).count() for part in ("header", "main", "footer", "nav")} == {1}


@pytest.mark.parametrize("width", [390, 1280])
def test_a_host_runs_a_competition_by_forms_alone(engine, url, visit, shoot, tmp_path, width):
    slug = f"forms-{width}"
    rng = np.random.default_rng(width)
    (tmp_path / "rows.csv").write_text("id,size\n" + "".join(f"{i},{rng.normal():.3f}\n" for i in range(ROWS)))
    (tmp_path / "labels.csv").write_text(
        "id,label\n" + "".join(f"{i},{v}\n" for i, v in enumerate(rng.permutation(ROWS) % 2))
    )
    page = visit(java_script_enabled=False, viewport={"width": width, "height": 800})
    sign_in(page, engine.new_admin_token())

    def press(button, *, within=None, **fields):
        """Unfold a part, fill its form in, and send it; the page never scrolls sideways."""
        part = page.locator("details", has=page.get_by_text(within, exact=True)) if within else page
        if within:
            part.locator("summary").click()
        for label, value in fields.items():
            field = part.get_by_label(label.replace("_", " "))
            (field.select_option if field.evaluate("field => field.tagName") == "SELECT" else field.fill)(value)
        for box in part.get_by_role("checkbox").all() if within else []:
            box.check()
        part.get_by_role("button", name=button, exact=True).click()
        page.wait_for_load_state()  # of the page that the form leads to
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.get_by_role("link", name="New competition").click()
    for label, value in {"Name": f"Forms at {width}", "Short name in addresses": slug}.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Features, a CSV file").set_input_files(tmp_path / "rows.csv")
    page.get_by_label("Labels, a CSV file").set_input_files(tmp_path / "labels.csv")
    shoot(page, f"host-new-{width}")
    press("Create")
    assert "with together" in page.get_by_role("alert").inner_text()  # too few rows for it
    page.get_by_label("Limit for all teams together, in percentage points").fill("")
    page.get_by_label("Policy", exact=True).select_option("laplace")
    page.get_by_label("Features, a CSV file").set_input_files(tmp_path / "rows.csv")
    page.get_by_label("Labels, a CSV file").set_input_files(tmp_path / "labels.csv")
    press("Create")
    press("Make an invite")
    engine.register(page.get_by_label("New invite").input_value(), name="Newcomers")
    press("Add", within="Add an organizer", Name="Ada Lovelace", Role="owner")
    ada = page.get_by_label("Token of Ada Lovelace (owner)").input_value()
    shoot(page, f"host-organizer-{width}")
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, ada)
    press("Change", within="Freeze, disqualify, remove or reinstate a team", New_status="frozen", Reason="crafted")
    press("Make a token", within="Replace a team's token")
    assert page.get_by_label("New token of Newcomers").input_value().startswith("tacit_team_")
    press("Change", within="Change them", Description="Heads or tails.")
    press("Change", within="Close, reopen or archive", New_state="closed")
    assert "Closed: it accepts no submissions." in page.get_by_role("main").inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV files", exact=True).click()
    assert download.value.suggested_filename == f"{slug}.zip"
    for part in page.locator("details").all():
        part.locator("summary").click()
    shoot(page, f"host-manage-{width}")
    page.goto(f"/c/{slug}/host")
    press("Delete for good", within="Delete the competition", Its_short_name=f"not-{slug}")
    assert "must be the short name of the competition" in page.get_by_role("alert").inner_text()
    shoot(page, f"host-refused-{width}")
    page.goto(f"/c/{slug}/host")
    press("Delete for good", within="Delete the competition", Its_short_name=slug)
    assert slug not in {one.slug for one in engine.competitions()}
    sign_in(page, engine.new_admin_token())
    assert f"Ada Lovelace (owner): delete, {slug}, Forms at {width}" in page.get_by_role("main").inner_text()
    shoot(page, f"host-after-{width}")
    quiet(page, url, refused=2)
