"""Servers to test: engines on both databases, a clock to turn, and a client without a network."""

import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the scoring server needs the extra web")

from fastapi.testclient import TestClient

from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Laplace
from tacit.server import CompetitionTerms, RequestRate, ScoringEngine, ServerLimits, ServerSettings
from tacit.server.app import create_app
from tests.server.rules import rules_of

FREE = RequestRate(per_minute=10**7, burst=10**6)
ROWS = 40
FEATURES = ("size,color\n" + "".join(f"{row},{'red' if row % 3 else 'blue'}\n" for row in range(ROWS))).encode()
LABELS = (
    "id,label\n" + "".join(f"{row},{'zq-positive' if row % 4 == 1 else 'zq-negative'}\n" for row in range(ROWS))
).encode()


class Clock:
    """A clock that stands until it is turned."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def turn(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def empty_server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server without competitions, to copy: making one takes longer than most tests."""
    folder = tmp_path_factory.mktemp("empty") / "server"
    ScoringEngine.open(ServerSettings(folder=folder)).close()
    return folder


@pytest.fixture
def sqlite_settings(tmp_path: Path, clock: Clock, empty_server: Path) -> ServerSettings:
    shutil.copytree(empty_server, tmp_path / "server")
    return ServerSettings(
        folder=tmp_path / "server", limits=ServerLimits(token_rate=FREE, address_rate=FREE), clock=clock
    )


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, sqlite_settings: ServerSettings) -> ServerSettings:
    """Places for a server: every test that asks for one runs on both databases."""
    if request.param == "sqlite":
        return sqlite_settings
    return replace(sqlite_settings, database=request.getfixturevalue("new_postgresql_location")())


@pytest.fixture
def engine(settings: ServerSettings) -> Iterator[ScoringEngine]:
    opened = ScoringEngine.open(settings)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_engine(sqlite_settings: ServerSettings) -> Iterator[ScoringEngine]:
    opened = ScoringEngine.open(sqlite_settings)
    yield opened
    opened.close()


@pytest.fixture
def make() -> Callable[..., None]:
    """Create a competition of 40 rows in an engine."""

    def create(
        engine: ScoringEngine,
        *,
        slug: str = "coins",
        features: bytes = FEATURES,
        labels: bytes = LABELS,
        teams: int = 20,
        **terms,
    ):
        terms.setdefault(
            "rules",
            rules_of(metric=Accuracy(), policy=Laplace(epsilon=0.5), submissions=5, public_fraction=1.0, teams=teams),
        )
        return engine.create_competition(
            CompetitionTerms(slug=slug, name="Coins", **terms), features=features, labels=labels
        )

    return create


@pytest.fixture
def join() -> Callable[..., object]:
    """Let a team join; each has another name."""
    numbers = itertools.count(1)
    return lambda engine, slug="coins": engine.register(engine.invite(slug), name=f"Team {next(numbers)}")


@pytest.fixture
def client(sqlite_engine: ScoringEngine) -> TestClient:
    return TestClient(create_app(sqlite_engine), raise_server_exceptions=False)


@pytest.fixture
def host(sqlite_engine: ScoringEngine) -> dict[str, str]:
    """The host's header."""
    return {"Authorization": f"Bearer {sqlite_engine.new_admin_token()}"}
