"""The same labels asked for again give the release that was made before, unless a second one is paid for."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Promise
from tacit.privacy.ledger import Ledger
from tacit.privacy.release import Release, ReleaseWriter, open_release_writer, read_release

__all__ = ["Memo", "memo_key"]


def memo_key(fingerprint: bytes, request: Mapping[str, Any]) -> str:
    """Return the name under which a release is remembered: a hash of the keyed fingerprint and what was asked.

    Two releases have the same name if the same mechanism with the same parameters was asked for the same labels in
    the same order. In which order classes are listed, and whether numbers are written 1, 1.0 or "1", makes no other
    release: nobody's label is drawn a second time for it. Without the ledger's secret nobody can work the name out from
    a guess of the labels.

    Examples
    --------
    >>> one = memo_key(b"labels", {"name": "randomized_response", "epsilon": 1.0, "classes": [0, 1]})
    >>> one == memo_key(b"labels", {"epsilon": 1, "classes": [1.0, 0.0], "name": "randomized_response"})
    True
    >>> one == memo_key(b"others", {"name": "randomized_response", "epsilon": 1.0, "classes": [0, 1]})
    False
    """
    asked = json.dumps(_plain(request), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(len(fingerprint).to_bytes(8, "big") + fingerprint + asked.encode()).hexdigest()


def _plain(request: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked, classes in one order and numbers in one spelling."""
    plain: dict[str, Any] = {name: float(value) if type(value) is int else value for name, value in request.items()}
    if "classes" in plain:
        classes = _by_value(plain["classes"])
        order = sorted(range(len(classes)), key=classes.__getitem__)
        for name in {"classes", "prior"} & plain.keys():
            listed = classes if name == "classes" else plain[name]
            plain[name] = [listed[place] for place in order]
    return plain


def _by_value(classes: Sequence[Any]) -> list[Any]:
    """Classes as the ledger's fingerprint reads labels: as numbers where all are, or as truth values, else as texts."""
    words = [str(value) for value in classes]
    for reading in (float, lambda word: {"true": 1.0, "false": 0.0}[word.lower()]):
        try:
            numbers = [reading(word) for word in words]
        except (ValueError, KeyError):
            continue
        if all(map(math.isfinite, numbers)) and len(set(numbers)) == len(numbers):
            return [int(number) if number.is_integer() else number for number in numbers]
    return words


@dataclass(frozen=True, slots=True)
class Memo:
    """A folder that keeps the label column of every release, readable by its owner only.

    It holds what was released and nothing private. Whoever deletes it makes the next release a second one, which
    is charged.

    Parameters
    ----------
    folder
        Made when the first release is kept.

    Examples
    --------
    >>> Memo(Path("no such folder")).find("0" * 64) is None
    True
    """

    folder: Path

    @classmethod
    def beside(cls, ledger: Ledger) -> Memo:
        """Return the folder beside a ledger's file: ``ledger.db.releases`` for ``ledger.db``.

        Examples
        --------
        >>> import tempfile
        >>> Memo.beside(Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")).folder.name
        'ledger.db.releases'
        """
        if "://" in ledger.location:
            raise InvalidInput(
                f"memo must name a folder: the ledger {ledger.location} is no file, so none can stand beside it"
            )
        return cls(Path(f"{ledger.location}.releases"))

    def path(self, key: str) -> Path:
        """Return where the release of this name is kept.

        Examples
        --------
        >>> Memo(Path("kept")).path("1a").name
        '1a.parquet'
        """
        return self.folder / f"{key}.parquet"

    def find(self, key: str) -> Release | None:
        """Return the release of this name, checked, or None.

        Examples
        --------
        >>> import tempfile
        >>> Memo(Path(tempfile.mkdtemp())).find("1a") is None
        True
        """
        return read_release(self.path(key)) if self.path(key).exists() else None

    @contextmanager
    def keep(
        self,
        key: str,
        *,
        schema: pa.Schema,
        guarantee: Promise,
        mechanism: Mapping[str, Any],
        seeded: bool,
    ) -> Iterator[ReleaseWriter]:
        """Write the label column of a release batch by batch; an earlier one of the same name is replaced.

        Examples
        --------
        >>> import tempfile
        >>> from tacit.privacy import NoGuarantee
        >>> memo, labels = Memo(Path(tempfile.mkdtemp()) / "kept"), pa.table({"label": [1, 0]})
        >>> with memo.keep("1a", schema=labels.schema, guarantee=NoGuarantee(reason="shown"),
        ...                mechanism={"name": "none"}, seeded=False) as out:
        ...     out.write(labels)
        >>> memo.find("1a").value["label"].to_pylist()
        [1, 0]
        """
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with open_release_writer(
            self.path(key),
            schema=schema,
            guarantee=guarantee,
            surface="labels",
            mechanism=mechanism,
            seeded=seeded,
            force=True,
        ) as out:
            yield out
        os.chmod(self.path(key), 0o600)
