"""A throw-away PostgreSQL server, a local Spark, a browser, and the larger data sets, for every test that wants one."""

import itertools
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from glob import glob
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Pool, event

_NUMBERS = itertools.count()
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SLOW = 60_000  # milliseconds: the machine may be busy


def _unsynced(connection: object, _record: object) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=OFF").close()


# these tests kill processes, never the machine: what is written survives without waiting for the disk
event.listen(Pool, "connect", _unsynced)
os.fsync = lambda _: None


@pytest.fixture
def synced() -> Iterator[None]:
    """SQLite as users have it."""
    event.remove(Pool, "connect", _unsynced)
    yield
    event.listen(Pool, "connect", _unsynced)


@pytest.fixture(scope="module")
def small_forests() -> Iterator[None]:
    """What features alone reveal, and the model without protection, from few trees: where no number is judged."""
    from tacit.audit import model_utility
    from tacit.bags.attacks import feature_prior
    from tacit.leak import prior

    def forget() -> None:
        prior._KEPT.clear()
        model_utility._best_model.cache_clear()

    forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prior, "_TREES", 10)
        for name in ("RandomForestClassifier", "RandomForestRegressor"):
            patch.setattr(model_utility, name, partial(getattr(model_utility, name), 10))
        boosted, name = feature_prior.HistGradientBoostingClassifier, "HistGradientBoostingClassifier"
        patch.setattr(feature_prior, name, lambda max_iter: boosted(max_iter=max_iter // 10))
        yield
    forget()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the larger data sets."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ["TACIT_DATA"]) if os.environ.get("TACIT_DATA") else beside
    if not folder.is_dir():
        pytest.skip("needs the larger data sets: set TACIT_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The socket's folder of a server that is started once a worker and lives in a temporary folder."""
    programs = _postgresql_programs()
    if programs is None:
        pytest.skip("PostgreSQL is absent: no initdb on PATH, in /usr/lib/postgresql or where pg_config points")
    home = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
    become = _as_other_user(home)

    def call(program: str, *arguments: str) -> None:
        subprocess.run([*become, programs / program, *arguments], check=True, capture_output=True, cwd=home)

    data, log = str(home / "data"), str(home / "log")
    # no fsync: these tests kill clients, never the server
    options = f"-F -k '{home}' -c listen_addresses='' -c max_connections=50"
    try:
        call("initdb", "-D", data, "-U", "tacit", "-A", "trust", "-E", "UTF8", "--no-sync")
        call("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")
        yield str(home)
        call("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _postgresql_programs() -> Path | None:
    places = [shutil.which("initdb"), *sorted(glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)]
    if shutil.which("pg_config"):
        told = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False)
        places.append(f"{told.stdout.strip()}/initdb")
    found = [Path(place).resolve().parent for place in places if place and Path(place).exists()]
    return next((folder for folder in found if (folder / "pg_ctl").exists()), None)


def _as_other_user(home: Path) -> list[str]:
    """PostgreSQL refuses to run as root: then another user runs it and owns its folder."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return []
    import pwd

    if shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and setpriv is absent")
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(home, user.pw_uid, user.pw_gid)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


@pytest.fixture
def new_postgresql_location(postgresql: str) -> Callable[[], str]:
    """Fresh schemas of one database."""

    def make() -> str:
        schema = f"place_{next(_NUMBERS)}"
        with psycopg.connect(host=postgresql, user="tacit", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return f"postgresql://tacit@/postgres?host={postgresql}&options=-csearch_path%3D{schema}"

    return make


@pytest.fixture(scope="session")
def spark():
    """A local Spark, set to start quickly: its queries are small, and compiling them well takes longer than they do."""
    pytest.importorskip("pyspark", reason="needs PySpark: install the extra spark")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("needs Java, which Spark runs on")
    from tacit.data.spark import start_spark

    session = start_spark(
        {
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.sql.shuffle.partitions": "2",
        }
    )
    yield session
    session.stop()


@pytest.fixture(scope="module")  # no longer: while it is open, no other test can run an event loop
def browser():
    """Chromium, driven by playwright."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        pytest.skip("Chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        args = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=program, args=args)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Open a page in a context of its own, which notes what it says on the console and whom it asks."""
    contexts = []

    def open_page(**options):
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(_SLOW)
        page = contexts[-1].new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def shoot() -> Callable[..., None]:
    """Keep a picture of a page where TACIT_SCREENSHOTS names a folder."""

    def shoot(page, name: str) -> None:
        if folder := os.environ.get("TACIT_SCREENSHOTS"):
            page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)

    return shoot
