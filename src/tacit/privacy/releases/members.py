"""The members of a release: rows in Parquet, or a JSON document; a surface may add its own kinds."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.privacy.bounded_json import parse_json
from tacit.privacy.canonical import ColumnDigest
from tacit.privacy.errors import InvalidRelease
from tacit.privacy.folders import KEY
from tacit.privacy.releases.header import canonical_json
from tacit.privacy.releases.parquet_rows import read_batches, read_table

__all__ = ["DocumentMember", "Facts", "ReleaseMember", "Seal", "TableMember"]

_DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)

Facts = Mapping[str, Any]
Seal = Callable[[Facts], Mapping[str, Any]]
"""From a member's facts to the header in its file."""


class ReleaseMember(ABC):
    """One part of a release. A single file contains the header; in a folder the manifest does."""

    kind: ClassVar[str]
    """The file's ending, without the dot."""

    @abstractmethod
    def save(self, file: BinaryIO, seal: Seal | None) -> Facts:
        """Write the member, with the header that ``seal`` makes of its facts, and return its facts."""

    @classmethod
    @abstractmethod
    def load(cls, path: Path) -> tuple[Self, object]:
        """Return the member and the header in its file, None if it has none."""

    @abstractmethod
    def check(self, facts: Facts, *, source: str) -> None:
        """Raise if the content does not match the facts."""

    def in_memory(self) -> Self:
        """Return the member in memory, so that its file may be removed."""
        return self


class TableMember(ReleaseMember):
    """Rows: a table in memory, a Parquet file, or batches that are drawn as they are written.

    Parameters
    ----------
    source
        A table, the path of a Parquet file, or batches.
    schema
        The columns of the batches. Metadata is dropped, because it may contain traces of the private table.
    """

    kind = "parquet"

    def __init__(self, source: pa.Table | Path | Iterable[pa.RecordBatch], *, schema: pa.Schema | None = None) -> None:
        self._source = source
        self._schema = schema
        self._facts: Facts | None = None

    @property
    def table(self) -> pa.Table:
        """All rows."""
        if isinstance(self._source, Path):
            self._source = _read(self._source)
            if self._facts is not None:
                self.check(self._facts, source="the release")
        if not isinstance(self._source, pa.Table):
            self._source = pa.Table.from_batches(self._source, schema=self._schema)
        return self._source

    @property
    def rows(self) -> int:
        """The number of rows; for a file, without reading them."""
        if isinstance(self._source, Path):
            return int(pq.read_metadata(self._source).num_rows)
        return int(self.table.num_rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns; for a file, without reading rows."""
        if isinstance(self._source, Path):
            return list(pq.read_schema(self._source).names)
        return list(self.table.column_names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order; those of a file are never all in memory."""
        if isinstance(self._source, Path):
            try:
                yield from read_batches(self._source)
            except _DAMAGE as error:
                raise _damaged(self._source, error) from error
        elif isinstance(self._source, pa.Table):
            yield from self._source.to_batches()
        else:
            yield from self._source

    def save(self, file: BinaryIO, seal: Seal | None) -> Facts:
        """Write the rows as they come."""
        schema = (self._schema or self.table.schema).remove_metadata()
        digest = ColumnDigest(hashlib.sha256)
        # store_schema=False: the footer holds the release's header and nothing else
        with pq.ParquetWriter(file, schema, compression="zstd", store_schema=False) as parquet:
            for batch in self.batches():
                plain = batch.replace_schema_metadata(None)
                digest.update(plain)
                parquet.write_batch(plain)
            facts = {"kind": self.kind, "rows": digest.rows, "sha256": digest.digest().hex()}
            if seal is not None:
                parquet.add_key_value_metadata({KEY: json.dumps(seal(facts))})
        return facts

    @classmethod
    def load(cls, path: Path) -> tuple[Self, object]:
        """Open a Parquet file; its rows are read when they are used."""
        try:
            metadata = pq.read_schema(path).metadata or {}
        except _DAMAGE as error:
            raise _damaged(path, error) from error
        text = metadata.get(KEY.encode())
        try:
            return cls(path), None if text is None else parse_json(text)
        except ValueError as error:
            raise InvalidRelease(f"{path} has a damaged header: {error}") from None

    def check(self, facts: Facts, *, source: str) -> None:
        """Compare the rows with their digest: at once in memory, when they are read from a file."""
        if isinstance(self._source, Path):
            self._facts = facts
            return
        digest = ColumnDigest(hashlib.sha256)
        digest.update(self.table.replace_schema_metadata(None))
        if digest.digest().hex() != facts.get("sha256"):
            raise InvalidRelease(f"{source} has a bad checksum: its rows were changed or damaged since it was written")

    def in_memory(self) -> Self:
        """Read all rows."""
        _ = self.table
        return self


class DocumentMember(ReleaseMember):
    """A JSON document."""

    kind = "json"

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.value = value

    def save(self, file: BinaryIO, seal: Seal | None) -> Facts:
        """Write the document beside its header."""
        content = canonical_json(self.value)
        facts = {"kind": self.kind, "sha256": hashlib.sha256(content).hexdigest()}
        header = {} if seal is None else {KEY: dict(seal(facts))}
        file.write(json.dumps({**header, "value": json.loads(content)}, indent=1).encode() + b"\n")
        return facts

    @classmethod
    def load(cls, path: Path) -> tuple[Self, object]:
        """Read a document and its header."""
        try:
            document = parse_json(path.read_bytes())
        except ValueError as error:
            raise InvalidRelease(f"{path} is neither Parquet nor JSON that a release may have: {error}") from error
        if not isinstance(document, dict) or not isinstance(document.get("value"), dict):
            raise InvalidRelease(f"{path} is JSON but not a tacit release: it has no header and value")
        return cls(document["value"]), document.get(KEY)

    def check(self, facts: Facts, *, source: str) -> None:
        """Compare the document with its digest."""
        if hashlib.sha256(canonical_json(self.value)).hexdigest() != facts.get("sha256"):
            raise InvalidRelease(f"{source} has a bad checksum: it was changed or damaged since it was written")


def _read(path: Path) -> pa.Table:
    try:
        return read_table(path)
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InvalidRelease:
    return InvalidRelease(f"{path} is a damaged Parquet file: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    """The first line of an error of Arrow, without the pages that it may append."""
    return str(error).strip().partition("\n")[0]
