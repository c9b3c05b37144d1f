"""Connections that strangers open and do not use."""

import http.client
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tacit.server import ScoringEngine, ServerLimits
from tacit.server.app import running
from tacit.server.connections import network_of

PATIENT = ServerLimits(connections=5, header_bytes=4096)
HASTY = replace(PATIENT, header_seconds=1.0)


@pytest.fixture(params=[PATIENT])
def port(sqlite_settings, request, monkeypatch) -> Iterator[int]:
    monkeypatch.setattr("tacit.server.connections._TICK", 0.3)
    engine = ScoringEngine.open(replace(sqlite_settings, limits=request.param))
    with running(engine) as url:
        yield int(url.rpartition(":")[2])
    engine.close()


@pytest.fixture
def connect(port: int) -> Iterator[Callable[..., socket.socket]]:
    """Connect from an address of the loopback and send something."""
    with ExitStack() as opened:

        def connected(sent: bytes, *, source: str = "127.0.0.2") -> socket.socket:
            found = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0))
            opened.enter_context(found)
            found.sendall(sent)
            return found

        yield connected


def is_closed(connection: socket.socket) -> bool:
    """Return whether the server closes the connection without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def is_served(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/api/v1/health")
    return connection.getresponse().status == 200


@pytest.mark.parametrize("port", [HASTY], indirect=True)
def test_half_sent_requests_end_and_stop_nobody(port, connect):
    held = [connect(b"GET / HTTP/1.1\r\nHost: x\r\nX-a: ") for _ in range(8)]
    assert is_served(port)
    assert all(map(is_closed, held))


def test_an_address_has_few_connections_at_once(port, connect):
    whole = b"GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n"
    held = [connect(whole) for _ in range(PATIENT.connections)]
    assert all(one.recv(12) == b"HTTP/1.1 200" for one in held)
    assert is_closed(connect(b""))
    assert connect(whole, source="127.0.0.3").recv(12) == b"HTTP/1.1 200"
    for one in held:
        one.close()
    latest = time.monotonic() + 30
    while (answer := connect(whole)) and is_closed(answer) and time.monotonic() < latest:
        time.sleep(0.05)  # the server learns of the closed ones one by one
    assert time.monotonic() < latest


def test_headers_have_a_size(connect):
    assert is_closed(connect(b"GET / HTTP/1.1\r\nX-a: " + b"a" * 8192))


def test_a_request_that_comes_at_once_is_not_all_headers(connect):
    body = b"{" + b" " * 3 * PATIENT.header_bytes
    head = f"POST /api/v1/teams HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    assert connect(head + body).recv(12) == b"HTTP/1.1 422"


def test_a_body_must_come_at_a_pace(connect):
    held = connect(b"POST /api/v1/teams HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
    assert is_closed(held)


def test_requests_may_follow_each_other(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for _ in range(3):
        connection.request("GET", "/api/v1/health")
        kept = connection.sock
        assert connection.getresponse().read() == b'{"status":"ok"}'
        assert connection.sock is kept


@pytest.mark.parametrize(
    ("client", "network"),
    [
        (None, "unknown"),
        (("testclient", 1), "testclient"),
        (("192.0.2.7", 1), "192.0.2.7"),
        (("::ffff:192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::/64"),
    ],
)
def test_whose_connection_it_is(client, network):
    assert network_of(client) == network
