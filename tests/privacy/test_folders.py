"""A folder is replaced only where it is a release and nothing else."""

import json
import os
import signal
import sys

import pytest

from tacit.privacy import folders
from tacit.privacy.errors import InvalidInput
from tacit.privacy.folders import KEY, MANIFEST, check_folder, write_folder


def fill(folder, text):
    (folder / "rows.json").write_text(text)
    (folder / MANIFEST).write_text(json.dumps({KEY: {"members": {"rows": {"kind": "json"}}}}))


@pytest.fixture
def release(tmp_path):
    with write_folder(tmp_path / "bags") as folder:
        fill(folder, "old")
    return tmp_path / "bags"


def add_a_file(folder):
    (folder / "thesis.txt").write_text("years of work")


def add_a_hidden_folder(folder):
    (folder / ".git").mkdir()


def lose_a_member(folder):
    (folder / "rows.json").unlink()


def link_a_member(folder):
    (folder / "rows.json").rename(folder.parent / "rows.json")
    (folder / "rows.json").symlink_to(folder.parent / "rows.json")


def write_a_manifest(document):
    def write(folder):
        (folder / MANIFEST).write_text(document)

    return write


def test_a_release_is_replaced(release):
    with write_folder(release, force=True) as folder:
        fill(folder, "new")
    assert (release / "rows.json").read_text() == "new"
    assert [path.name for path in release.parent.iterdir()] == ["bags"]


@pytest.mark.parametrize(
    "change",
    [
        add_a_file,
        add_a_hidden_folder,
        lose_a_member,
        link_a_member,
        *map(write_a_manifest, ["", "[]", "{}", '{"name": "web app"}', f'{{"{KEY}": {{"members": ["rows"]}}}}']),
    ],
)
def test_any_other_folder_is_kept(release, change):
    change(release)
    before = sorted(path.name for path in release.iterdir())
    with pytest.raises(InvalidInput, match="is not exactly a release and is not overwritten"):
        check_folder(release, force=True)
    assert sorted(path.name for path in release.iterdir()) == before


def replace_and_change(release, change):
    with write_folder(release, force=True) as folder:
        fill(folder, "new")
        change(release)


def test_a_file_that_arrives_while_the_new_release_is_written_is_kept(release):
    with pytest.raises(InvalidInput, match="is not exactly a release"):
        replace_and_change(release, add_a_file)
    assert (release / "thesis.txt").read_text() == "years of work"
    assert (release / "rows.json").read_text() == "old"


def kill_at_the_second_rename(release):
    """Replace a release in a process that is killed when it renames a second folder, or else at its end."""
    child = os.fork()
    if child == 0:
        rename, renamed = os.rename, []

        def rename_once(old, new):
            if renamed:
                os.kill(os.getpid(), signal.SIGKILL)
            renamed.append(old)
            rename(old, new)

        os.rename = rename_once
        with write_folder(release, force=True) as folder:
            fill(folder, "new")
        os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two names at once")
def test_a_release_is_whole_whenever_its_writer_is_killed(release):
    kill_at_the_second_rename(release)
    assert (release / "rows.json").read_text() == "new"
    assert [path.name for path in release.parent.iterdir()] == ["bags"]


def test_names_are_exchanged_in_two_renames_where_the_system_has_no_other_way(release, monkeypatch):
    monkeypatch.setattr(folders, "_exchange", lambda *_: False)
    with write_folder(release, force=True) as folder:
        fill(folder, "new")
    assert (release / "rows.json").read_text() == "new"
    assert [path.name for path in release.parent.iterdir()] == ["bags"]
