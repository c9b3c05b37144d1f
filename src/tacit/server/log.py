"""The server's log: one JSON object per line, without a request's content."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

__all__ = ["JsonLines", "write_log"]


class JsonLines(logging.Formatter):
    """Write a record as JSON: its time, its level, and its fields or its message.

    Tracebacks are left out: a frame's text may quote what must not be read.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = getattr(record, "fields", None) or {"message": record.getMessage()}
        return json.dumps({"time": moment, "level": record.levelname.lower(), **told})


def write_log(stream: TextIO | None = None) -> logging.Handler:
    """Send the server's log to a stream, by default standard error; return the handler."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("tacit.server")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    return handler
