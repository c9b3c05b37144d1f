"""The client of the scoring server: a connection that the server gave up costs nothing."""

import json
import socket
import threading

import pytest

from tacit.scores.attacks import OracleError
from tacit.server.client import ServerClient, ServerUnreachable


class Host:
    """Answers one request a connection and then closes it without a word, as an idle connection is closed."""

    def __init__(self, *, answers):
        self.seen = []
        self._left = answers
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            connection, _ = self._listening.accept()
            with connection, connection.makefile("rb") as read:
                headers = {}
                for line in iter(read.readline, b"\r\n"):
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                read.read(int(headers.get("content-length", 0)))
                self.seen.append(headers.get("idempotency-key"))
                if self._left > 0:
                    self._left -= 1
                    body = json.dumps({"text": "0.5"}).encode()
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def test_a_submission_is_sent_again_under_the_same_key():
    host = Host(answers=2)
    with ServerClient(url=host.url, timeout=10) as client:
        assert client.submit("coins", [0, 1]) == "0.5"
        assert client.submit("coins", [0, 1]) == "0.5"  # over a connection that is closed by now
    assert all(host.seen)
    assert len(set(host.seen)) == 2


def test_a_host_that_never_answers_is_refused_with_one_sentence():
    host = Host(answers=0)
    with ServerClient(url=host.url, timeout=10) as client, pytest.raises(OracleError, match="closed the connection"):
        client.submit("coins", [0, 1])
    assert len(host.seen) == 2
    assert len(set(host.seen)) == 1


def test_a_busy_server_is_asked_again_under_the_same_key(monkeypatch):
    """Two refusals that name a time, one lost answer, and then a score: one submission."""
    told, seen, slept = [], [], []
    answers = [(429, b'{"error": "too many requests"}', "3"), (503, b'{"error": "full"}', "1"), OSError, None]

    def send(client, method, path, body, headers):
        seen.append(headers["Idempotency-Key"])
        answer = answers[len(seen) - 1]
        if answer is OSError:
            raise ServerUnreachable("no answer")
        return answer or (201, b'{"text": "0.5"}', None)

    monkeypatch.setattr(ServerClient, "_send", send)
    monkeypatch.setattr("tacit.server.client.sleep", slept.append)
    client = ServerClient(url="http://host.example", patience=60, tell=told.append)
    assert client.submit_file("coins", b"id,prediction\n")["text"] == "0.5"
    assert len(seen) == 4
    assert len(set(seen)) == 1
    assert slept == [3, 1, 2]
    assert told[0] == "the server refuses: too many requests; trying again in 3 s"


def test_a_spent_budget_is_told_at_once(monkeypatch):
    refusal = (429, b'{"error": "today 10 of 10 submissions are used"}', None)
    monkeypatch.setattr(ServerClient, "_send", lambda *_: refusal)
    client = ServerClient(url="http://host.example", patience=60)
    with pytest.raises(OracleError, match="today 10 of 10") as spent:
        client.submit_file("coins", b"")
    assert not isinstance(spent.value, ServerUnreachable)
