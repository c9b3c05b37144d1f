"""Kill a process before a statement of the code that pays for a release and delivers it."""

import os
import sys
from functools import cache

WATCHED = ("delivery.py", "store.py", "ledger.py", "requests.py", "charging.py", "release.py", "files.py", "folders.py")
KILLED = 9


def run_and_kill(action, *, at=None):
    """Run an action in a child that dies before its ``at``-th watched statement; return how many it came to."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _run(action, at, writer)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader) as counted:
        seen = int(counted.read() or 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED), f"the action failed by itself with {code}"
    return seen if code == 0 else None


@cache  # asked at every call of a function
def _is_watched(file):
    return os.path.basename(file) in WATCHED


def _run(action, at, writer):
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if not _is_watched(frame.f_code.co_filename):
            return None
        if event == "line":
            seen += 1
            if seen == at:
                os._exit(KILLED)
        return trace

    code = 1
    try:
        sys.settrace(trace)
        action()
        code = 0
    finally:
        sys.settrace(None)
        os.write(writer, str(seen).encode())
        os._exit(code)
