"""The files to run a server for others: what they start exists, and nothing is open that need not be."""

import base64
import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from tacit.cli.serve import app
from tacit.server.key import VARIABLE, ServerKey

ROOT = Path(__file__).parents[2]
FILES = ROOT / "examples" / "server"
COMPOSE = yaml.safe_load((FILES / "compose.yaml").read_text())
UNIT = configparser.ConfigParser(strict=False, interpolation=None)
UNIT.optionxform = str
UNIT.read(FILES / "tacit.service")


def parsed(arguments):
    """Read the arguments of ``tacit serve`` as it would, without starting it."""
    program, *rest = arguments
    assert program == "serve"
    return get_command(app).make_context("serve", rest, resilient_parsing=False).params


@pytest.mark.parametrize(
    "arguments",
    [COMPOSE["services"]["tacit"]["command"], shlex.split(UNIT["Service"]["ExecStart"])[1:]],
    ids=["compose", "systemd"],
)
def test_the_command_is_one_behind_a_proxy(arguments):
    given = parsed(arguments)
    assert (given["demo"], given["secure_cookies"], given["access_log"]) == (False, True, True)
    assert given["trusted_proxy"]


def test_the_proxy_is_the_trusted_one_and_alone_reached_from_outside():
    services = COMPOSE["services"]
    proxy = services["proxy"]["networks"]["inside"]["ipv4_address"]
    assert parsed(services["tacit"]["command"])["trusted_proxy"] == [proxy]
    assert {name for name, service in services.items() if "ports" in service} == {"proxy"}
    assert "reverse_proxy tacit:8000" in (FILES / "Caddyfile").read_text()


def test_secrets_come_from_outside_the_file():
    text = (FILES / "compose.yaml").read_text()
    environment = COMPOSE["services"]["tacit"]["environment"]
    assert VARIABLE in environment
    assert all(value.startswith("${") for value in environment.values())
    line = re.search(r'python -c "(import base64.*?)"', text).group(1)
    made = subprocess.run(["python3", "-c", line], capture_output=True, text=True, check=True).stdout
    name, _, value = made.strip().partition("=")
    assert name == VARIABLE
    assert ServerKey(base64.b64decode(value))


@pytest.mark.skipif(shutil.which("docker") is None, reason="needs docker compose")
def test_compose_reads_its_file():
    known = {"SITE": "example.org", "POSTGRES_PASSWORD": "x", VARIABLE: "x", "PATH": "/usr/bin:/usr/local/bin"}
    said = subprocess.run(["docker", "compose", "config", "-q"], cwd=FILES, env=known, capture_output=True, text=True)
    if "is not a docker command" in said.stderr or "unknown" in said.stderr:
        pytest.skip("docker has no compose")
    assert said.returncode == 0, said.stderr
