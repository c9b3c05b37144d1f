"""``tacit serve`` and the commands that talk to it: as a host, as a team, and as an auditor with an exit code."""

import json
import re
import runpy
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("fastapi", reason="the extra server is not installed")

from tacit.cli.scores import app as scores
from tacit.cli.serve import app as serve
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.scores.metrics import LogLoss
from tacit.scores.policies import Ladder, Rounded
from tacit.server import ScoringEngine, ServerSettings
from tacit.server.app import running
from tacit.server.client import ServerClient
from tests.server.rules import rules_of

ROWS = 50
EXACT = "--metric accuracy --policy exact --epsilon none --public-fraction 1 --together none"
TRUTH = np.random.default_rng(0).integers(0, 2, ROWS)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    engine = ScoringEngine.open(ServerSettings(folder=tmp_path_factory.mktemp("server")))
    with running(engine) as url:
        yield url, engine
    engine.close()


@pytest.fixture
def run(server, tmp_path, monkeypatch):
    """Run ``tacit scores`` as the host; an error that is meant for the user is raised."""
    url, engine = server
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_URL", url)
    monkeypatch.setenv("TACIT_TOKEN", engine.new_admin_token())
    Path("f.csv").write_text("id,size\n" + "".join(f"{i},{i % 3}\n" for i in range(ROWS)))
    Path("y.csv").write_text("id,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(TRUTH)))
    Path("p.csv").write_text("id,prediction\n" + "".join(f"{i},{label}\n" for i, label in enumerate(TRUTH)))

    def run(arguments, *, code=0):
        result = CliRunner().invoke(scores, arguments.split())
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.stdout

    return run


def create(run, engine, slug, options):
    """Create a competition unless an earlier test did; labels that the ledger knows are not taken twice."""
    if slug not in {one.slug for one in engine.competitions()}:
        labels = np.random.default_rng(list(slug.encode())).integers(0, 2, ROWS)
        Path("y.csv").write_text("label\n" + "".join(f"{label}\n" for label in labels))
        return run(f"host create {slug} --data f.csv --truth y.csv {options}")
    return ""


def test_a_host_and_a_team_from_the_command_line(run, server, monkeypatch):
    url, engine = server
    said = create(
        run,
        engine,
        "exact",
        f"{EXACT} --submissions 5 --per-day none --name Coins",
    )
    assert said.startswith(f"Coins: 50 rows, {url}/c/exact\n")
    assert "A team may make 5 submissions." in said
    invite = run("host invite --competition exact").strip()
    joined = json.loads(run(f"join {invite} --name Newcomers --json"))
    assert joined["team"]["competition"] == "exact"
    token = joined["token"]
    assert run("host teams --competition exact").startswith("Newcomers, joined ")
    assert json.loads(run("host list --json"))[0]["rows"] == ROWS
    assert "no guarantee" in run("host spend --competition exact")
    host = engine.new_admin_token()
    monkeypatch.setenv("TACIT_TOKEN", token)
    assert re.match(r"Submission 1 scored [\d.]+\. Left: 4 in all\.\n", run("submit p.csv --competition exact"))
    document = json.loads(run("submit p.csv --competition exact --json"))
    assert (document["number"], document["left"]["total"]) == (2, 3)
    client = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "scores_client.py"))
    assert client["submit"](url, "exact", token, Path("p.csv").read_bytes())["number"] == 3
    monkeypatch.setenv("TACIT_TOKEN", host)
    engine.wait_for_inspection()
    assert isinstance(json.loads(run("host flags --competition exact --json")), list)


def test_without_more_words_few_rows_take_few_teams(run, server):
    with pytest.raises(
        TacitError, match=r"teams must be at most \d with together: .* or together must be larger, or none"
    ):
        create(run, server[1], "small", "")


def test_without_a_limit_for_all_teams_noise_protects(run, server, monkeypatch):
    engine = server[1]
    said = create(run, engine, "default", "--together none")
    assert engine.board("default").rules == rules_of(metric=LogLoss(floor=0.01), teams=10)
    assert "made once, at the end, on the other 70%" in said
    host = engine.new_admin_token()
    for name in ("First", "Second"):
        token = json.loads(run(f"join {engine.invite('default')} --name {name} --json"))["token"]
        monkeypatch.setenv("TACIT_TOKEN", token)
        run("submit p.csv --competition default")
    monkeypatch.setenv("TACIT_TOKEN", host)
    with pytest.raises(TacitError, match="yes must be given: the competition default ends now"):
        run("host final --competition default")
    ranking = run("host final --competition default --yes")
    assert re.fullmatch(r"(\d\. \w+: [\d.]+ \(live: \d\)\n){2}", ranking)
    assert run("host final --competition default") == ranking
    monkeypatch.setenv("TACIT_TOKEN", token)
    with pytest.raises(TacitError, match="finished"):
        run("submit p.csv --competition default")


def test_an_owner_closes_exports_and_deletes(run, server, monkeypatch, tmp_path):
    engine = server[1]
    create(run, engine, "short", EXACT)
    owner = run("host organizer Ada/Lovelace --role owner --competition short").strip()
    assert owner.startswith("tacit_organizer_")
    engine.register(engine.invite("short"), name="Either/Or")
    monkeypatch.setenv("TACIT_TOKEN", owner)
    assert run("host team Either/Or --standing frozen --competition short") == "Either/Or is frozen.\n"
    assert run("host organizers --competition short").startswith("Ada/Lovelace, owner, since ")
    assert run("host state archived --competition short") == "short is archived.\n"
    assert run("host state closed --competition short") == "short is closed.\n"
    assert run("host actions --competition short").splitlines()[0].endswith(" Ada/Lovelace (owner): closed")
    for name in ("all.json", "all.zip"):
        run(f"host export --predictions --out {tmp_path / name} --competition short")
    assert json.loads((tmp_path / "all.json").read_text())["teams"][0]["name"] == "Either/Or"
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert "teams.csv" in archive.namelist()
    with pytest.raises(TacitError, match="out must end in"):
        run(f"host export --out {tmp_path / 'all.xlsx'} --competition short")
    with pytest.raises(TacitError, match="yes must be given"):
        run("host delete short")
    assert run("host delete short --yes") == "short is deleted.\n"
    assert "short" not in run("host list")


def test_what_was_spent_is_never_shown_too_small(run, server):
    create(run, server[1], "odd", "--together none --epsilon 1.00001 --public-fraction 1 --submissions 1 --teams 2")
    run(f"join {server[1].invite('odd')} --name Odd --json")
    assert run("host spend --competition odd").startswith("Epsilon 1.001 of 2 spent, 1 left;")


def test_other_rules_are_taken(run, server):
    options = "--policy ladder --epsilon none --final rounded:decimals=2 --final-epsilon none"
    options += " --public-fraction 0.5 --per-day none --together none"
    create(run, server[1], "other", options)
    rules = server[1].board("other").rules
    assert (rules.policy, rules.final_policy) == (Ladder(), Rounded(decimals=2))
    assert (rules.public_fraction, rules.per_day) == (0.5, None)


def test_files_in_another_encoding_are_refused_in_one_sentence(run):
    Path("latin.csv").write_bytes("größe\n1\n".encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"latin\.csv must be a CSV file in UTF-8"):
        run("host create latin --data latin.csv --truth latin.csv")


def test_an_audit_fails_where_labels_leak(run, server):
    create(run, server[1], "leaky", f"{EXACT} --submissions 40")
    text = run("audit --competition leaky --max-recovered 0.05", code=1)
    assert text.startswith("Failed: ")
    assert "100.0% of 50 labels" in text
    document = json.loads(run("audit --competition leaky --max-recovered 1 --json"))
    assert document["passed"]
    assert document["recovered"] == 1.0
    assert document["gained"] == document["recovered"] - document["baseline"]
    assert document["forecast"]["submissions"] <= 40


def test_an_audit_passes_where_noise_hides_them(run, server):
    create(run, server[1], "noised", "--together none --epsilon 0.01 --submissions 10")
    document = json.loads(run("audit --competition noised --max-recovered 0.15 --submissions 8 --attackers 1 --json"))
    assert document["passed"]
    assert document["submissions"] == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("audit --competition nowhere", "there is no competition 'nowhere'"),
        ("audit --competition leaky --max-recovered 2", "max.recovered must be a share from 0 to 1"),
        ("audit --competition leaky --submissions 0", "submissions"),
        ("audit --token x --competition leaky", "only the host, or an organizer"),
        ("audit --url http://127.0.0.1:9", "cannot be reached"),
        ("audit --url ftp://host", "url must be a server's address"),
        ("submit nowhere.csv --competition leaky", "nowhere.csv"),
        ("submit p.csv --competition leaky", "only a team of this competition"),
        ("submit p.csv --token= --competition leaky", "token must be given"),
        ("host invite --competition nowhere", "there is no competition"),
        ("join guessed --name A", "this invite is not known"),
        ("host create x --data f.csv --truth y.csv --metric magic", "metric must be one of"),
        ("host create x --data f.csv --truth y.csv --policy laplace:epsilon=1", "laplace takes no parameters"),
        ("host create x --data f.csv --truth y.csv --epsilon 0", "epsilon must be"),
        ("host create X! --data f.csv --truth y.csv", "slug"),
    ],
)
def test_refusals_are_one_sentence(run, server, arguments, words):
    create(run, server[1], "leaky", f"{EXACT} --submissions 40")
    with pytest.raises((TacitError, OSError), match=words) as caught:
        run(arguments)
    assert "\n" not in str(caught.value)


def test_two_competitions_have_to_be_told_apart(run, server):
    for slug in ("leaky", "exact"):
        create(run, server[1], slug, f"{EXACT} --submissions 40")
    with pytest.raises(TacitError, match="competition must be given: the server has"):
        run("host teams")


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "cryptography"])
def test_a_missing_extra_is_named_with_its_remedy(monkeypatch, tmp_path, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    result = CliRunner().invoke(serve, ["--folder", str(tmp_path / "s")])
    assert isinstance(result.exception, TacitError)
    assert "pip install 'tacit[server]'" in str(result.exception)
    assert missing in str(result.exception)
    assert not (tmp_path / "s").exists()


def test_serve_alone_starts_the_demo_and_stops_when_asked(tmp_path):
    def start(*options):
        command = [
            sys.executable,
            "-c",
            "from tacit.cli import main; main()",
            "serve",
            "--port",
            "0",
            "--json",
            *options,
        ]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    told = []
    for asked in (signal.SIGINT, signal.SIGTERM):
        process = start()
        timer = threading.Timer(500, process.kill)  # against hanging alone: a busy machine takes its time
        timer.start()
        try:
            told.append(json.loads(process.stdout.readline()))
            with ServerClient(url=told[-1]["url"], token=told[0]["token"], timeout=400.0) as client:
                assert client.call("GET", "/competitions/titanic/teams") == []
            process.send_signal(asked)
            _, said = process.communicate()
        finally:
            timer.cancel()
            process.kill()
        assert (process.returncode, said) == (0, "")
    assert told[0]["competitions"] == told[1]["competitions"] == ["titanic"]
    assert told[1]["token"] is None  # shown once


def test_a_port_in_use_is_said(server, tmp_path):
    port = server[0].rpartition(":")[2]
    result = CliRunner().invoke(serve, ["--folder", str(tmp_path / "s"), "--port", port, "--no-demo"])
    assert isinstance(result.exception, TacitError)
    assert f"port {port}" in str(result.exception)
