"""Requests made up from the OpenAPI description, right and wrong ones: none makes the server fail."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode

from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Laplace
from tacit.server import CompetitionTerms, RequestRate, ScoringEngine, ServerLimits, ServerSettings
from tacit.server.app import create_app
from tests.server.rules import rules_of

FREE = RequestRate(per_minute=10**7, burst=10**6)
EXAMPLES = 8


@contextmanager
def toy() -> Iterator[ScoringEngine]:
    """Open an engine with the competition ``coins``: three rows, and noisy scores of epsilon 1."""
    rules = rules_of(metric=Accuracy(), policy=Laplace(epsilon=1.0), public_fraction=1.0)
    terms = CompetitionTerms(slug="coins", name="Coins", rules=rules)
    with tempfile.TemporaryDirectory(prefix="tacit-toy-") as folder:
        engine = ScoringEngine.open(ServerSettings(folder=Path(folder)))
        try:
            engine.create_competition(terms, features=b"size\n1\n2\n3\n", labels=b"label\nno\nyes\nno\n")
            yield engine
        finally:
            engine.close()


def operations():
    """All operations with right requests, and those that take a body with wrong ones too."""
    with tempfile.TemporaryDirectory() as folder:
        engine = ScoringEngine.open(ServerSettings(folder=Path(folder)))
        paths = create_app(engine).openapi()["paths"]
        engine.close()
    for path, methods in paths.items():
        for method, operation in methods.items():
            modes = {"right": GenerationMode.POSITIVE}
            if "requestBody" in operation:
                modes["wrong"] = GenerationMode.NEGATIVE
            for name, mode in modes.items():
                yield pytest.param(f"{method.upper()} {path}", mode, id=f"{method} {path} {name}")


@pytest.fixture(scope="module")
def served():
    """A server with the competition ``coins``, and the tokens of nobody, its host and a team."""
    with toy() as engine:
        engine.settings = replace(
            engine.settings, limits=ServerLimits(body=100_000, token_rate=FREE, address_rate=FREE)
        )
        joined = engine.register(engine.invite("coins"), name="Newcomers")
        app = create_app(engine)
        yield app, [None, engine.new_admin_token(), joined.token]
        if app.state.replays.state("coins") is not None:
            app.state.replays.wait("coins")  # an attack that a request began


def ask_all(app, operation, mode, tokens, description="/api/v1/openapi.json"):
    """Ask one operation with made-up requests, for each token, and for the competition that exists."""
    method, path = operation.split()
    schema = schemathesis.openapi.from_asgi(description, app)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def ask(case):
        for token in tokens:
            for slug in {case.path_parameters.get("slug"), "coins"} if "{slug}" in path else {None}:
                case.path_parameters |= {} if slug is None else {"slug": slug}
                answer = case.call(headers={"Authorization": f"Bearer {token}"} if token else {})
                assert answer.status_code < 500, answer.text

    ask()


@pytest.mark.parametrize(("operation", "mode"), list(operations()))
def test_no_request_makes_the_server_fail(served, operation, mode):
    app, tokens = served
    ask_all(app, operation, mode, tokens)


def test_a_server_that_fails_is_caught():
    app = FastAPI()

    @app.get("/fail")
    def fail(number: int) -> float:
        return 1 / (number - number)

    with pytest.raises((AssertionError, ZeroDivisionError)):
        ask_all(app, "GET /fail", GenerationMode.POSITIVE, [None], description="/openapi.json")
