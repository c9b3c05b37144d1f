"""Every state in which a kill can leave the files of a release that is being paid for and delivered."""

import os
import sys
from functools import cache

WATCHED = {"privacy", "releases"}
UNWATCHED = {"noise", "loss"}
KILLED = 9


def run_and_kill(action, *, at):
    """Run an action in a child that dies before its ``at``-th watched statement; say whether it was killed."""
    child = os.fork()
    if not child:
        code = 1
        try:
            _run(action, lambda seen: os._exit(KILLED) if seen == at else None)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED), f"the action failed by itself with {code}"
    return code == KILLED


def states_on_disk(action, folder):
    """Run an action; return what a folder held before each watched statement, each state once, and their number.

    A kill leaves what is on disk, and no lock. So whoever finds such a state finds what a kill before that statement
    would have left.
    """
    states = {}
    seen = _run(action, lambda _: states.setdefault(files_of(folder), len(states)))
    return list(states), seen


def put_on_disk(state, folder):
    """Write a state as a folder of its own."""
    folder.mkdir()
    for name, content in state:
        path = folder / name
        if content is None:
            path.mkdir(mode=0o700)
        else:
            path.write_bytes(content)


def files_of(folder):
    """Every file by its name with its content; a folder before what is in it, with none."""
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            found.append((str(path.relative_to(folder)), None if path.is_dir() else path.read_bytes()))
        except FileNotFoundError:  # removed since it was listed: SQLite's journal
            continue
    return tuple(found)


def _run(action, before):
    """Run an action, calling ``before`` with the number of each watched statement; return how many there were."""
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if not _is_watched(frame.f_code.co_filename):
            return None
        if event == "line":
            seen += 1
            sys.settrace(None)
            before(seen)
            sys.settrace(trace)
        return trace

    try:
        sys.settrace(trace)
        action()
    finally:
        sys.settrace(None)
    return seen


@cache  # asked at every call of a function
def _is_watched(file):
    folders = file.split(os.sep)[:-1]
    return (
        "tacit" in folders and any(one in folders for one in WATCHED) and not any(one in folders for one in UNWATCHED)
    )
