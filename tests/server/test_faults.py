"""kill -9 in the middle of load, over real HTTP: what was acknowledged stays, nothing is scored twice or unpaid."""

import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from sqlalchemy import select

from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Laplace
from tacit.server import ScoringEngine
from tacit.server.schema import FLAG, PREDICTION, SUBMISSION, TEAM
from tests.server.rules import ledger_of, rules_of

ROWS = 40
PER_TEAM = 400
EPSILON = 0.01
TEAMS = 4
PATIENCE = 120
ANSWERS = 12
SERVE = """
import json, os, signal, sys
from pathlib import Path
import uvicorn
from tacit.server import RequestRate, ServerLimits, ServerSettings
from tacit.server.app import serve
free = RequestRate(per_minute=10**7, burst=10**6)
limits = ServerLimits(token_rate=free, address_rate=free)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a server that ended leaves nothing
for line in sys.stdin:
    folder, port, database = json.loads(line)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        serve(ServerSettings(folder=Path(folder), database=database, limits=limits), port=port)
        os._exit(0)
    print(child, flush=True)
"""
"""Serves in a child for every line it is sent, so that a server that was killed starts again without its imports."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture(scope="module")
def nursery():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    started = subprocess.Popen([sys.executable, "-c", SERVE], text=True, **pipes)
    yield started
    started.stdin.close()
    started.wait(PATIENCE)
    started.stdout.close()


class Server:
    """A server in a process of its own, to kill and start again on the same port and data."""

    def __init__(self, settings, nursery):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._line = json.dumps([str(settings.folder), self.port, settings.database]) + "\n"
        self._nursery, self._child = nursery, 0

    def start(self):
        self._nursery.stdin.write(self._line)
        self._nursery.stdin.flush()
        self._child = int(self._nursery.stdout.readline())
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.02)
            else:
                return

    def end(self, sign):
        os.kill(self._child, sign)
        deadline = time.monotonic() + PATIENCE
        while self._is_there():
            assert time.monotonic() < deadline, "the server did not end"
            time.sleep(0.005)

    def _is_there(self):
        try:
            os.kill(self._child, 0)
        except ProcessLookupError:
            return False
        return True


@dataclass
class Team:
    """A client that sends submissions one after the other, and each again until it hears an answer."""

    token: str
    port: int
    seed: int
    told: dict = field(default_factory=dict)
    refused: int = 0

    def run(self, stopped):
        rng, number = np.random.default_rng(self.seed), 0
        while not stopped.is_set():
            number += 1
            body = json.dumps({"predictions": rng.integers(0, 2, ROWS).tolist()})
            self.ask(f"{self.seed}-{number}", body, stopped)

    def ask(self, key, body, stopped):
        """Ask until there is an answer; the id makes the same submission of every try."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Idempotency-Key": key}
        while not stopped.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                connection.request("POST", "/api/v1/competitions/coins/submissions", body, headers)
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
                continue
            finally:
                connection.close()
            if answer.status == 201:
                self.told.setdefault(key, []).append(json.loads(content))
            else:
                assert answer.status == 429, content
                self.refused += 1
            return


def prepare(settings, make, join):
    rules = rules_of(
        metric=Accuracy(), policy=Laplace(epsilon=EPSILON), submissions=PER_TEAM, per_day=None, public_fraction=1.0
    )
    engine = ScoringEngine.open(settings)
    make(engine, rules=rules)
    tokens = [join(engine).token for _ in range(TEAMS)]
    engine.close()
    return tokens


def wait_for_answers(teams, *, more):
    """Wait until the teams have heard some more answers, or have no budget left."""
    had, deadline = sum(len(team.told) for team in teams), time.monotonic() + PATIENCE
    while sum(len(team.told) for team in teams) < had + more and not all(team.refused for team in teams):
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.01)


def storm(settings, tokens, nursery, *, kills, rng, processes=1):
    """Run teams against servers that are killed again and again; return what they were told.

    With more than one process each team asks all of them for the same submissions at the same time.
    """
    servers = [Server(settings, nursery) for _ in range(processes)]
    for server in servers:
        server.start()
    stopped = threading.Event()
    teams = [Team(token, server.port, seed) for server in servers for seed, token in enumerate(tokens)]
    threads = [threading.Thread(target=team.run, args=(stopped,)) for team in teams]
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            wait_for_answers(teams, more=ANSWERS)
            time.sleep(rng.uniform(0, 0.3))
            server = rng.choice(servers)
            server.end(signal.SIGKILL)
            server.start()
        wait_for_answers(teams, more=ANSWERS)
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
        for server in servers:
            server.end(signal.SIGTERM)
    return teams


def check(settings, teams):
    """Compare what was told with what is stored and what was charged."""
    engine = ScoringEngine.open(settings)
    with engine._database.reading() as connection:
        stored = {(row["team"], row["key"]): row for row in connection.execute(select(SUBMISSION)).mappings()}
        contents = set(connection.execute(select(PREDICTION.c.team, PREDICTION.c.number)).all())
        rows = connection.execute(select(TEAM).order_by(TEAM.c.id)).mappings().all()
    engine.close()
    assert sum(len(team.told) for team in teams) > 10, "control: submissions were made"
    for team, row in zip(teams, itertools.cycle(rows), strict=False):
        for key, answers in team.told.items():
            kept = stored[row["id"], key]
            assert {(answer["number"], answer["score"], answer["text"]) for answer in answers} == {
                (kept["number"], kept["released"], kept["text"])
            }
        mine = sorted(kept["number"] for (owner, _), kept in stored.items() if owner == row["id"])
        assert mine == list(range(1, len(mine) + 1)), "no number twice and none left out"
        charged = sum(kept["charged"] for (owner, _), kept in stored.items() if owner == row["id"])
        assert row["used"] == len(mine) <= PER_TEAM
        assert row["drawn"] == charged <= row["reserved"] == PER_TEAM
    assert contents == {(kept["team"], kept["number"]) for kept in stored.values()}
    entries = ledger_of(settings).statement("coins").entries
    assert {entry.id for entry in entries} == {row["entry"] for row in rows}
    assert sum(entry.guarantee.epsilon for entry in entries) == pytest.approx(TEAMS * PER_TEAM * EPSILON)
    return stored


def test_kills_under_load(settings, make, join, nursery):
    settings = replace(settings, clock=type(settings)(folder=settings.folder).clock)
    teams = storm(settings, prepare(settings, make, join), nursery, kills=3, rng=random.Random(0))
    check(settings, teams)


def test_kills_of_processes_that_share_a_database(settings, make, join, nursery):
    settings = replace(settings, clock=type(settings)(folder=settings.folder).clock)
    teams = storm(settings, prepare(settings, make, join), nursery, kills=1, rng=random.Random(4), processes=2)
    stored = check(settings, teams)
    shared = set(teams[0].told) & set(teams[TEAMS].told)
    assert shared, "control: one submission was answered by both"
    assert len(stored) <= TEAMS * PER_TEAM


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 3])
def test_many_kills_until_the_budget_is_spent(settings, make, join, nursery, processes):
    settings = replace(settings, clock=type(settings)(folder=settings.folder).clock)
    teams = storm(settings, prepare(settings, make, join), nursery, kills=25, rng=random.Random(1), processes=processes)
    stored = check(settings, teams)
    assert len(stored) <= TEAMS * PER_TEAM


def test_a_graceful_stop_answers_what_was_asked(sqlite_settings, make, join, nursery):
    """Requests under way when the server is asked to stop are answered or refused as a whole, never half."""
    settings = replace(sqlite_settings, clock=type(sqlite_settings)(folder=sqlite_settings.folder).clock)
    teams = storm(settings, prepare(settings, make, join), nursery, kills=0, rng=random.Random(2))
    check(settings, teams)


class TestControl:
    """The checks find a server that breaks its word."""

    def test_a_lost_submission_is_found(self, sqlite_settings, make, join, nursery):
        settings = sqlite_settings
        tokens = prepare(settings, make, join)
        teams = storm(settings, tokens, nursery, kills=0, rng=random.Random(3))
        engine = ScoringEngine.open(settings)
        with engine._database.writing() as connection:
            connection.execute(FLAG.delete())
            connection.execute(PREDICTION.delete().where(PREDICTION.c.team == 1, PREDICTION.c.number == 1))
            connection.execute(SUBMISSION.delete().where(SUBMISSION.c.team == 1, SUBMISSION.c.number == 1))
        engine.close()
        with pytest.raises((AssertionError, KeyError)):
            check(settings, teams)
