"""Labels at rest: the key's file, its place, and what it seals."""

import base64
import os
import stat

import pytest

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.server.key import VARIABLE, ServerKey


def test_the_key_file_is_its_owners_alone(tmp_path):
    file = tmp_path / "labels.key"
    ServerKey.find(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_of_two_processes_that_start_at_once_one_makes_the_key(tmp_path, monkeypatch):
    file, new = tmp_path / "labels.key", ServerKey.new

    def late():
        monkeypatch.setattr(ServerKey, "new", new)
        ServerKey.find(file)  # the other process is quicker
        return new()

    monkeypatch.setattr(ServerKey, "new", late)
    assert ServerKey.find(file) == ServerKey.find(file)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_key_that_others_may_read_is_refused(tmp_path):
    file = tmp_path / "labels.key"
    ServerKey.find(file)
    file.chmod(0o640)
    with pytest.raises(InvalidInput, match="chmod 600"):
        ServerKey.find(file)


def test_with_the_environment_no_key_is_on_disk(tmp_path, monkeypatch):
    key = ServerKey.new()
    monkeypatch.setenv(VARIABLE, base64.b64encode(key.secret).decode())
    assert ServerKey.find(tmp_path / "labels.key") == key
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("told", ["", "short", "not base64 %%", base64.b64encode(b"x" * 31).decode()])
def test_a_wrong_key_is_refused_and_not_shown(tmp_path, monkeypatch, told):
    monkeypatch.setenv(VARIABLE, told)
    with pytest.raises(InvalidInput, match="32 bytes in base64") as refused:
        ServerKey.find(tmp_path / "labels.key")
    assert not told or told not in str(refused.value)


def test_what_is_sealed_opens_in_its_place_alone():
    key, text = ServerKey.new(), b"zq-positive" * 10
    sealed = key.seal(text, place="coins")
    assert text not in sealed
    assert key.open(sealed, place="coins") == text
    for other, place, content in [
        (ServerKey.new(), "coins", sealed),
        (key, "else", sealed),
        (key, "coins", sealed[:-1] + b"x"),
    ]:
        with pytest.raises(TacitError, match="does not open"):
            other.open(content, place=place)


def test_no_two_seals_are_equal():
    key = ServerKey.new()
    assert key.seal(b"x", place="a") != key.seal(b"x", place="a")


def test_a_key_does_not_print_itself():
    key = ServerKey.new()
    assert repr(key) == "ServerKey()"


def test_derived_keys_differ():
    key = ServerKey.new()
    assert len({key.derive("forms"), key.derive("split coins"), key.secret}) == 3
