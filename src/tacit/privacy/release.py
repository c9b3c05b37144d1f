"""What an outsider sees and nothing else, with its promise; one file format for all surfaces."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.privacy.canonical import ColumnDigest
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.files import write_atomically
from tacit.privacy.guarantee import Promise, promise_from_json

__all__ = ["FORMAT_VERSION", "Release", "ReleaseWriter", "open_release_writer", "read_release"]

FORMAT_VERSION = 1
"""The version of the release file format; readers refuse every other."""

_KEY = b"tacit_release"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """A value that left the building, and what is promised about it.

    Parameters
    ----------
    value
        An Arrow table, or a JSON document. Attacks take a Release, never the private input.
    guarantee
        The promise, or an explicit none with its reason.
    surface
        Which of the five surfaces it left by.
    mechanism
        What was done, in public terms: its name and its public parameters.
    seeded
        Whether the noise came from a seeded generator: then whoever knows the seed can remove it.

    Examples
    --------
    >>> from tacit.privacy import Guarantee, Unit
    >>> promise = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    >>> one = Release(value={"totals": [3, 4]}, guarantee=promise, surface="bags", mechanism={"name": "laplace"},
    ...               seeded=True)
    >>> print(one)
    bags release by laplace: epsilon 1 for one label; seeded, so the noise hides nothing from who knows the seed
    """

    value: pa.Table | Mapping[str, Any]
    guarantee: Promise
    surface: str
    mechanism: Mapping[str, Any]
    seeded: bool

    def __post_init__(self) -> None:
        _header(self.guarantee, self.surface, self.mechanism, self.seeded)

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the release: Parquet for a table, JSON for a document; never half, never over another file.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from tacit.privacy import NoGuarantee
        >>> release = Release(value={"mean": 0.5}, guarantee=NoGuarantee(reason="exact"), surface="scores",
        ...                   mechanism={"name": "exact"}, seeded=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release.write(pathlib.Path(folder) / "score.json")
        ...     read_release(pathlib.Path(folder) / "score.json").value
        {'mean': 0.5}
        """
        if isinstance(self.value, pa.Table):
            with open_release_writer(
                path,
                schema=self.value.schema,
                guarantee=self.guarantee,
                surface=self.surface,
                mechanism=self.mechanism,
                seeded=self.seeded,
                force=force,
            ) as out:
                out.write(self.value)
            return
        header = _header(self.guarantee, self.surface, self.mechanism, self.seeded)
        value = _canonical_json(self.value)
        header["checksum"] = _checksum(header, hashlib.sha256(value).digest())
        with write_atomically(path, force=force) as file:
            file.write(json.dumps({_KEY.decode(): header, "value": json.loads(value)}, indent=1).encode() + b"\n")

    def __str__(self) -> str:
        warning = "; seeded, so the noise hides nothing from who knows the seed" if self.seeded else ""
        return f"{self.surface} release by {self.mechanism['name']}: {self.guarantee}{warning}"


class ReleaseWriter:
    """Takes batches of a release that is larger than memory; made by :func:`open_release_writer`.

    Examples
    --------
    >>> ReleaseWriter.write.__name__
    'write'
    """

    def __init__(self, parquet: pq.ParquetWriter) -> None:
        self._parquet = parquet
        self._digest = ColumnDigest(hashlib.sha256)

    def write(self, batch: pa.Table | pa.RecordBatch) -> None:
        """Append rows.

        Examples
        --------
        >>> callable(ReleaseWriter.write)
        True
        """
        plain = batch.replace_schema_metadata(None)
        self._digest.update(plain)
        (self._parquet.write_table if isinstance(plain, pa.Table) else self._parquet.write_batch)(plain)

    def _close(self, header: dict[str, Any]) -> None:
        header["rows"] = self._digest.rows
        header["checksum"] = _checksum(header, self._digest.digest())
        self._parquet.add_key_value_metadata({_KEY: json.dumps(header).encode()})


@contextmanager
def open_release_writer(
    path: str | Path,
    *,
    schema: pa.Schema,
    guarantee: Promise,
    surface: str,
    mechanism: Mapping[str, Any],
    seeded: bool,
    force: bool = False,
) -> Iterator[ReleaseWriter]:
    """Write a table release batch by batch; the file appears, whole, when the block ends without an error.

    Parameters
    ----------
    path
        Where to; an existing file is refused unless ``force``.
    schema
        The columns. Their metadata is dropped: it can hold traces of the private table (pandas writes its index).
    guarantee, surface, mechanism, seeded
        As in :class:`Release`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from tacit.privacy import NoGuarantee
    >>> rows = pa.table({"label": [1, 0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "labels.parquet"
    ...     with open_release_writer(path, schema=rows.schema, guarantee=NoGuarantee(reason="shown"),
    ...                              surface="labels", mechanism={"name": "none"}, seeded=False) as out:
    ...         out.write(rows)
    ...         out.write(rows)
    ...     read_release(path).value.num_rows
    4
    """
    plain = schema.remove_metadata()
    header = _header(guarantee, surface, mechanism, seeded)
    header["schema"] = {column.name: str(column.type) for column in plain}
    with (
        write_atomically(path, force=force) as file,
        # store_schema=False: the footer holds the release's header and nothing else
        pq.ParquetWriter(file, plain, compression="zstd", store_schema=False) as parquet,
    ):
        writer = ReleaseWriter(parquet)
        yield writer
        writer._close(header)


def read_release(path: str | Path) -> Release:
    """Read a release file and check it: version, checksum, promise.

    Raises
    ------
    InvalidRelease
        With one sentence: not a release, another version, damaged, or silent about its guarantee.

    Examples
    --------
    >>> read_release("missing.parquet")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidRelease: missing.parquet does not exist
    """
    source = Path(path)
    try:
        with source.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
    except FileNotFoundError:
        raise InvalidRelease(f"{source} does not exist") from None
    except OSError as error:
        raise InvalidRelease(f"{source} cannot be read: {error.strerror}") from None
    header, value, digest = _read_parquet(source) if is_parquet else _read_json(source)
    if header.get("version") != FORMAT_VERSION:
        raise InvalidRelease(f"{source} is of version {header.get('version')!r}; this tacit reads {FORMAT_VERSION}")
    if not isinstance(header.get("guarantee"), dict):
        raise InvalidRelease(f"{source} does not say its guarantee; write an explicit none with its reason")
    stated = header.pop("checksum", None)
    if stated != _checksum(header, digest):
        raise InvalidRelease(f"{source} has a bad checksum: it was changed or damaged since it was written")
    try:
        return Release(
            value=value,
            guarantee=promise_from_json(header["guarantee"]),
            surface=header["surface"],
            mechanism=header["mechanism"],
            seeded=header["seeded"],
        )
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InvalidRelease(f"{source} has an incomplete header: {error}") from error


def _header(guarantee: Promise, surface: str, mechanism: Mapping[str, Any], seeded: bool) -> dict[str, Any]:
    if "name" not in mechanism:
        raise InvalidInput(f"must have a name, got {dict(mechanism)!r}", field="mechanism")
    return {
        "version": FORMAT_VERSION,
        "surface": surface,
        "mechanism": dict(mechanism),
        "seeded": seeded,
        "guarantee": guarantee.to_json(),
    }


def _read_parquet(source: Path) -> tuple[dict[str, Any], pa.Table, bytes]:
    try:
        table = pq.read_table(source)
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidRelease(f"{source} is a damaged Parquet file: {error}") from error
    metadata = table.schema.metadata or {}
    if _KEY not in metadata:
        raise InvalidRelease(f"{source} is Parquet but not a tacit release: it does not say its guarantee")
    try:
        header = json.loads(metadata[_KEY])
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise InvalidRelease(f"{source} has a damaged header: it is not a JSON object")
    plain = table.replace_schema_metadata(None)
    digest = ColumnDigest(hashlib.sha256)
    digest.update(plain)
    return header, plain, digest.digest()


def _read_json(source: Path) -> tuple[dict[str, Any], Any, bytes]:
    try:
        document = json.loads(source.read_bytes())
    except ValueError as error:
        raise InvalidRelease(f"{source} is neither Parquet nor JSON") from error
    header = document.get(_KEY.decode()) if isinstance(document, dict) else None
    if not isinstance(header, dict) or "value" not in document:
        raise InvalidRelease(f"{source} is JSON but not a tacit release: it does not say its guarantee")
    value = document["value"]
    return header, value, hashlib.sha256(_canonical_json(value)).digest()


def _checksum(header: Mapping[str, Any], digest: bytes) -> str:
    """Over the header and the value: a promise cannot be edited apart from what it is about."""
    return hashlib.sha256(_canonical_json(header) + digest).hexdigest()


def _canonical_json(value: object) -> bytes:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"must be plain JSON (no NaN, no objects): {error}", field="value") from error
