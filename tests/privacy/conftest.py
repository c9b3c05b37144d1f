"""Places for ledgers: a SQLite file, and a schema of the PostgreSQL server; and children to kill."""

import itertools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.privacy.ledger import Ledger

PATIENCE = 120


@pytest.fixture(params=["sqlite", "postgresql"])
def new_location(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Places where a ledger may be made: every test that asks for them runs on both databases."""
    return request.getfixturevalue(f"new_{request.param}_location")


@pytest.fixture
def new_sqlite_location(tmp_path: Path) -> Callable[[], str]:
    """Files that do not exist yet."""
    names = itertools.chain(["ledger.db"], map("ledger-{}.db".format, itertools.count()))
    return lambda: str(tmp_path / next(names))


@pytest.fixture
def location(new_location: Callable[[], str]) -> str:
    """One such place."""
    return new_location()


@pytest.fixture
def sqlite_location(new_sqlite_location: Callable[[], str]) -> str:
    """A file that does not exist yet, for what only files have."""
    return new_sqlite_location()


@pytest.fixture
def ledger(location: str) -> Ledger:
    """An empty ledger."""
    return Ledger.create(location)


@pytest.fixture
def fork() -> Callable[[Callable[[], None]], int]:
    """Run a function in a child process and return how it ended: an exit code, or minus a signal."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    return lambda function: wait(start(function))


@pytest.fixture
def fork_all() -> Callable[[list[Callable[[], None]]], list[int]]:
    """Run functions in children at the same time."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    return lambda functions: [wait(child) for child in [start(function) for function in functions]]


def start(function: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        function()
    except BaseException:
        os._exit(1)  # no clean-up: the parent's fixtures are not the child's to tear down
    os._exit(0)


def wait(child: int) -> int:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError(f"a child did not end within {PATIENCE} s")
