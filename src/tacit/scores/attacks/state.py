"""The file that lets an attack go on after an interruption."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import write_atomically
from tacit.scores.attacks.design import Labels

__all__ = ["read_answers", "write_state"]

_VERSION = 1


def read_answers(path: Path, *, plan: str) -> list[float]:
    """Return the answers that an earlier run of the same plan got, none if there is no file."""
    if not path.exists():
        return []
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version, digest = document["version"], document["plan"]
        answers = [float(answer) for answer in document["answers"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"state file {path.name} is damaged ({error!r}): delete it to start again") from None
    if version != _VERSION:
        raise InvalidInput(f"state file {path.name} is of version {version!r}, this is {_VERSION}: delete it")
    if digest != _digest(plan):
        raise InvalidInput(f"state file {path.name} belongs to another host, plan or order of rows: name another file")
    return answers


def write_state(path: Path, *, plan: str, answers: list[float], labels: Labels) -> None:
    """Write the answers and the labels they reveal (-1 if unknown), completely or not at all."""
    document = {"version": _VERSION, "plan": _digest(plan), "answers": answers, "labels": labels.tolist()}
    with write_atomically(path, force=True, mode=0o600) as file:  # labels are in it
        file.write(json.dumps(document).encode())


def _digest(plan: str) -> str:
    return hashlib.sha256(plan.encode()).hexdigest()
