"""A file is there whole or not at all, and never replaces another one by accident."""

import errno
import io
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import check_writable, write_atomically
from tacit.privacy.unfinished import temporary_folder

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions, links and devices")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def write_late_and_early(path):
    with write_atomically(path) as late:
        late.write(b"late")
        with write_atomically(path) as early:
            early.write(b"early")


def write_and_raise(path, error, *, force=False):
    with write_atomically(path, force=force) as file:
        file.write(b"new")
        raise error


def no_hard_links(*_args, **_kwargs):
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.fixture(params=["hard links", "no hard links"])
def file_system(request, monkeypatch):
    if request.param == "no hard links":
        monkeypatch.setattr(os, "link", no_hard_links)


@pytest.mark.usefixtures("file_system")
class TestNewFile:
    def test_appears_whole_at_the_end_of_the_block(self, tmp_path):
        path = tmp_path / "a.bin"
        with write_atomically(path) as file:
            file.write(b"half")
            file.flush()
            assert not path.exists()
        assert path.read_bytes() == b"half"
        assert names(tmp_path) == ["a.bin"]

    def test_existing_file_is_kept(self, tmp_path):
        path = tmp_path / "a.bin"
        path.write_bytes(b"old")
        with pytest.raises(InvalidInput, match=r"a\.bin exists already; choose another path"), write_atomically(path):
            pytest.fail("the block must not run")
        assert path.read_bytes() == b"old"

    def test_second_of_two_writers_is_refused_though_both_began_before_the_file_existed(self, tmp_path):
        path = tmp_path / "a.bin"
        with pytest.raises(InvalidInput, match="exists already"):
            write_late_and_early(path)
        assert path.read_bytes() == b"early"
        assert names(tmp_path) == ["a.bin"]

    def test_one_of_many_threads_wins(self, tmp_path):
        path, start, won, lost = tmp_path / "a.bin", threading.Barrier(16), [], []

        def write(number):
            try:
                with write_atomically(path) as file:
                    file.write(bytes([number]) * 1000)
                    start.wait()
                won.append(number)
            except InvalidInput:
                lost.append(number)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert len(lost) == 15
        assert path.read_bytes() == bytes(won) * 1000
        assert names(tmp_path) == ["a.bin"]


def test_a_rename_would_lose_the_early_writers_file(tmp_path, monkeypatch):
    """The control: were the name taken by a rename, the race above would overwrite."""
    monkeypatch.setattr(os, "link", os.replace)
    path = tmp_path / "a.bin"
    write_late_and_early(path)
    assert path.read_bytes() == b"late"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, OSError])
@pytest.mark.parametrize("force", [False, True])
def test_error_in_the_block_leaves_everything_as_it_was(tmp_path, error, force):
    path = tmp_path / "a.bin"
    if force:
        path.write_bytes(b"old")
    before = names(tmp_path)
    with pytest.raises(error):
        write_and_raise(path, error, force=force)
    assert names(tmp_path) == before
    assert not force or path.read_bytes() == b"old"


def test_force_replaces(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with write_atomically(path, force=True) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a.bin"]


def test_process_that_dies_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    program = (
        "import os, sys\n"
        "from tacit.privacy.files import check_writable, write_atomically\n"
        "with write_atomically(sys.argv[1], force=True) as file:\n"
        "    file.write(b'new')\n"
        "    file.flush()\n"
        "    os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, path], check=False).returncode == 9
    assert path.read_bytes() == b"old"


def test_handle_may_be_closed_by_the_block(tmp_path):
    path = tmp_path / "a.txt"
    with write_atomically(path) as file, io.TextIOWrapper(file, encoding="utf-8", newline="\n") as text:
        text.write("é\n")
    assert path.read_bytes() == "é\n".encode()


def test_full_disk_is_one_sentence(tmp_path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(InvalidInput, match=r"a\.bin cannot be written: .*; choose another path"):
        write_and_raise(tmp_path / "a.bin", full)
    assert names(tmp_path) == []


def test_missing_folder_is_one_sentence(tmp_path):
    path = tmp_path / "none" / "a.bin"
    with pytest.raises(InvalidInput, match="cannot be written: No such file or directory"), write_atomically(path):
        pytest.fail("the block must not run")


def test_a_file_system_that_is_read_only_is_one_sentence(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "a hidden name")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    with (
        pytest.raises(InvalidInput, match=r"a\.bin cannot be written: Read-only file system; choose another path"),
        write_atomically(tmp_path / "a.bin"),
    ):
        pytest.fail("the block must not run")


@posix
@pytest.mark.parametrize(("mode", "wanted"), [(0o600, 0o600), (0o666, 0o640)])
def test_mode_less_umask(tmp_path, mode, wanted):
    before = os.umask(0o027)
    try:
        with write_atomically(tmp_path / "a.bin", mode=mode) as file:
            assert stat.S_IMODE(os.stat(file.name).st_mode) == wanted
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.bin").stat().st_mode) == wanted


@posix
def test_replaced_file_is_not_opened_to_others(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with write_atomically(path, force=True) as file:
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("kind", ["folder", "link", "fifo"])
def test_force_replaces_plain_files_only(tmp_path, kind):
    path, kept = tmp_path / "a", tmp_path / "kept"
    kept.write_bytes(b"old")
    {"folder": path.mkdir, "link": lambda: path.symlink_to(kept), "fifo": lambda: os.mkfifo(path)}[kind]()
    with pytest.raises(InvalidInput, match="is not a plain file"), write_atomically(path, force=True):
        pytest.fail("the block must not run")
    assert kept.read_bytes() == b"old"
    assert names(tmp_path) == ["a", "kept"]


@pytest.mark.parametrize("kind", ["the file", "a link to it", "another name of it"])
def test_what_is_read_is_not_written_over(tmp_path, kind):
    table, out = tmp_path / "table.csv", tmp_path / "out.csv"
    table.write_text("x\n1\n")
    if kind == "a link to it":
        out.symlink_to(table)
    elif kind == "another name of it":
        out.hardlink_to(table)
    else:
        out = tmp_path / "." / "table.csv"
    with pytest.raises(InvalidInput, match="is an input file, which would be lost"):
        check_writable(out, force=True, sources=[table])
    assert table.read_text() == "x\n1\n"
    check_writable(tmp_path / "new.csv", force=True, sources=[table])


KILLED = """
import os, signal, sys
from tacit.privacy.files import write_atomically
from tacit.privacy.folders import write_folder
with (write_folder if sys.argv[2] == "folder" else write_atomically)(sys.argv[1]) as made:
    print("ready", flush=True)
    signal.pause()
"""


@posix
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_is_swept_by_the_next_and_nothing_else_is(tmp_path, kind):
    target, foreign = tmp_path / "a.bin", [".tacit-notes.part", ".tacit-0123456789abcdef.part.gz", "a.part"]
    for name in foreign:
        (tmp_path / name).write_text("mine")
    with subprocess.Popen([sys.executable, "-c", KILLED, target, kind], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        (left,) = (path for path in tmp_path.iterdir() if path.name not in foreign)
        os.utime(left, (0, 0))
        check_writable(target)
        assert left.exists(), "its process lives"
        process.kill()
    os.utime(left)
    check_writable(target)
    assert left.exists(), "too young to tell"
    os.utime(left, (0, 0))
    check_writable(target)
    assert names(tmp_path) == sorted(foreign)


TEMPORARY = """
import signal
from tacit.data.connection import private_folder
(private_folder() / "rows.csv").write_text("age,ill")
print(private_folder(), flush=True)
signal.pause()
"""


@posix
def test_rows_in_a_temporary_folder_outlive_no_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", TEMPORARY], stdout=subprocess.PIPE, text=True) as process:
        left = Path(process.stdout.readline().strip())
        os.utime(left, (0, 0))
        with temporary_folder() as mine:
            assert left.exists(), "its process lives"
            assert (mine.parent, stat.S_IMODE(mine.stat().st_mode)) == (tmp_path, 0o700)
        process.kill()
    os.utime(left, (0, 0))
    with temporary_folder() as mine:
        assert names(tmp_path) == [mine.name]
    assert names(tmp_path) == []
