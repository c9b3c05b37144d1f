"""What a team keeps and what a host tells: choices, notes, files, Markdown, the feed, zones, and the board as CSV."""

import io
from datetime import UTC, datetime
from xml.etree import ElementTree

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Rounded
from tacit.server.app import create_app
from tacit.server.errors import Conflict, NotFound
from tacit.server.pages.forms import moment_of
from tacit.server.pages.markdown import from_markdown
from tests.server.rules import rules_of

RULES = rules_of(metric=Accuracy(), policy=Rounded(), public_fraction=0.5, submissions=10, final=Rounded())
ROWS = 40
TRUTH = np.array([row % 4 == 1 for row in range(ROWS)], dtype=float)


@pytest.fixture
def team(sqlite_engine, make, join):
    make(sqlite_engine, rules=RULES, description="**Guess** the [color](https://example.org)")
    return join(sqlite_engine).team


def test_a_team_chooses_what_is_ranked(sqlite_engine, team, join):
    engine = sqlite_engine
    for seed in range(3):
        engine.submit(team, 1 - TRUTH if seed else TRUTH, id=f"s{seed}").result()
    assert engine.remaining(team).chosen is None
    engine.choose_final(team, 1)
    assert engine.remaining(team).chosen == 1
    for wrong in (0, 4, 2**40):
        with pytest.raises(NotFound, match="no submission"):
            engine.choose_final(team, wrong)
    other = join(engine).team
    engine.submit(other, TRUTH).result()
    engine.submit(other, 1 - TRUTH).result()
    first, second = engine.finish("coins")
    assert (first.team, first.released, second.released) == (team.name, 1.0, 0.0)
    with pytest.raises(Conflict, match="was released"):
        engine.choose_final(team, None)


def test_the_same_predictions_get_the_same_final_score(sqlite_engine, make, join):
    rules = rules_of(metric=Accuracy(), policy=Rounded(), public_fraction=0.5, submissions=10)
    make(sqlite_engine, rules=rules)
    for _ in range(5):
        sqlite_engine.submit(join(sqlite_engine).team, TRUTH).result()
    assert len({place.released for place in sqlite_engine.finish("coins")}) == 1


def test_notes_and_files_come_back_to_their_team_alone(sqlite_engine, team, join):
    engine, values = sqlite_engine, np.random.default_rng(0).integers(0, 2, ROWS)
    score = engine.submit(team, values, note="first try").result()
    assert score.note == engine.own_scores(team)[0].note == "first try"
    kept = np.genfromtxt(io.BytesIO(engine.submitted_file(team, 1)), delimiter=",", skip_header=1)
    np.testing.assert_array_equal(kept[:, 1], values)
    with pytest.raises(InvalidInput, match="note must be one line"):
        engine.submit(team, values, note="two\nlines")
    with pytest.raises(NotFound):
        engine.submitted_file(join(engine).team, 1)
    client = TestClient(create_app(engine))
    assert client.put("/api/v1/competitions/coins/choice", json={"number": 1}).status_code == 401
    assert "first try" not in client.get("/api/v1/competitions/coins/history").text
    assert client.get("/api/v1/competitions/coins/submissions/1/file").status_code == 401


def test_the_host_attaches_files(sqlite_engine, team):
    engine = sqlite_engine
    engine.desk.attach("coins", "train.csv", b"a\n1\n")
    engine.desk.attach("coins", "train.csv", b"a\n12\n")
    client = TestClient(create_app(engine))
    page = client.get("/c/coins")
    assert "train.csv</a> (5 bytes)" in page.text
    got = client.get("/c/coins/files/train.csv")
    assert (got.content, got.headers["content-type"]) == (b"a\n12\n", "application/octet-stream")
    assert engine.board("coins").labels is not None, "labels are found among the files"
    for name in ("labels", "../labels", "features"):
        assert client.get(f"/c/coins/files/{name}").status_code == 404
    with pytest.raises(InvalidInput, match="name must be 1 to 100 letters"):
        engine.desk.attach("coins", "../up", b"x")
    engine.desk.detach("coins", "train.csv")
    assert client.get("/c/coins", headers={"if-none-match": page.headers["etag"]}).status_code == 200
    assert "train.csv" not in client.get("/c/coins").text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHN2Zz4=)",
        "![x](https://example.org/pixel.png)",
        '<img src=x onerror="alert(1)">',
        "[x](  JaVaScRiPt:alert(1))",
        "<a href='vbscript:x'>y</a>",
        '<https://example.org/" onclick="x>',
    ],
)
def test_markdown_runs_and_loads_nothing(text):
    made = str(from_markdown(text)).lower()
    for element in ElementTree.fromstring(f"<div>{made}</div>").iter():
        assert element.tag in ("div", "p", "a")
        assert set(element.attrib) <= {"href", "rel"}
        assert element.get("href", "https:").startswith(("https:", "http:", "mailto:", "/", "#"))


def test_markdown_is_what_people_expect():
    made = str(
        from_markdown("# Data\n\n* one\n* **two**\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n[site](https://example.org)")
    )
    for part in ("<h3>Data</h3>", "<li>one</li>", "<strong>two</strong>", "<td>1</td>"):
        assert part in made
    assert 'rel="nofollow noopener noreferrer"' in made


def test_the_page_is_told_once_and_sorted(sqlite_engine, team, join):
    engine = sqlite_engine
    other = join(engine).team
    for one, predictions in ((team, TRUTH), (other, 1 - TRUTH)):
        engine.submit(one, predictions).result()
    client = TestClient(create_app(engine))
    page = client.get("/c/coins")
    assert "<strong>Guess</strong>" in page.text
    again = client.get("/c/coins", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    engine.submit(other, TRUTH).result()
    assert client.get("/c/coins", headers={"if-none-match": page.headers["etag"]}).status_code == 200
    by_count = client.get("/c/coins?sort=submissions").text
    assert by_count.index(f'row">{other.name}') < by_count.index(f'row">{team.name}')
    table = client.get("/c/coins/leaderboard.csv").text.splitlines()
    assert table[0] == "place,last_place,team,score,low,high,submissions,time"
    assert table[1].startswith(f"1,2,{team.name},1.000,")


def test_the_feed_tells_what_happened(sqlite_engine, team, clock):
    sqlite_engine.submit(team, TRUTH).result()
    sqlite_engine.finish("coins")
    feed = ElementTree.fromstring(TestClient(create_app(sqlite_engine)).get("/c/coins/feed.atom").content)
    atom = "{http://www.w3.org/2005/Atom}"
    titles = [entry.findtext(f"{atom}title") for entry in feed.findall(f"{atom}entry")]
    assert sorted(titles) == [f"{team.name} improved to 1.000", f"The final ranking is released; first: {team.name}"]


def test_dates_have_a_zone():
    given = {"closes": "2026-07-01T12:00", "zone": "Europe/Berlin"}
    assert moment_of(given, "closes") == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert moment_of(given | {"zone": ""}, "closes") == datetime(2026, 7, 1, 12, tzinfo=UTC)
    for wrong in ("Mars/Base", "../etc/passwd", "Europe"):
        with pytest.raises(TacitError, match="zone must be a time zone"):
            moment_of(given | {"zone": wrong}, "closes")
