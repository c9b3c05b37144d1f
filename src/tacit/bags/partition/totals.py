"""What leaves the building: label totals of bags, with their promise; a folder of release files and a manifest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.bags.losses import SemilinearLoss, loss_of
from tacit.bags.partition.bags import Partition
from tacit.bags.partition.feature import COUNT, TOTAL, Feature
from tacit.bags.partition.random_bags import RandomBags
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.folders import MANIFEST, write_folder
from tacit.privacy.guarantee import Promise
from tacit.privacy.release import Release, read_release

__all__ = ["BagTotals", "read_bags"]

_FILE = re.compile(r"(partition-\d+|random)\.parquet")
_RANDOM = "random.parquet"
_ROW, _LABEL = "row_", "label_"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BagTotals:
    """Label totals of bags, and what is promised about them: partitions by features, or random bags.

    Parameters
    ----------
    partitions
        One for each feature set; empty where bags are random.
    random
        The random bags; None where there are partitions.
    loss
        The loss whose T(y) was added up.
    guarantee
        The promise for the whole release, or an explicit none with its reason.
    seeded
        Whether noise or bags came from a seeded generator.
    label
        The private column's name: who learns from the release must leave that column out.
    rows
        How many rows the table has, None where that is not public.
    mechanism
        What was done, in public terms: its name and its public parameters.
    """

    loss: SemilinearLoss
    guarantee: Promise
    seeded: bool
    label: str
    mechanism: Mapping[str, Any]
    partitions: tuple[Partition, ...] = ()
    random: RandomBags | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if bool(self.partitions) == (self.random is not None):
            raise InvalidInput("a release of bags must hold partitions or random bags, and not both")
        parts = self.partitions or (self.random,)
        if any(part is not None and part.targets != self.loss.targets for part in parts):
            raise InvalidInput(f"totals must have {self.loss.targets} columns, one for each target of the loss")

    @property
    def bags(self) -> int:
        """How many bags there are in all."""
        return sum(map(len, self.partitions)) if self.random is None else len(self.random)

    def write(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the release as a folder: one file a partition, and a manifest with their checksums; never half.

        Parameters
        ----------
        folder
            A new folder in an existing one.
        force
            Replace an earlier release of bags; no other folder is ever replaced.
        """
        with write_folder(folder, force=force) as place:
            files = {name: self._file(place, name, table) for name, table in self._tables()}
            value = {
                "label": self.label,
                "loss": self.loss.describe(),
                "rows": self.rows,
                "partitions": [part.describe() for part in self.partitions],
                "random": None if self.random is None else self.random.describe(),
                "files": files,
            }
            self._release(value).write(place / MANIFEST)

    def _tables(self) -> list[tuple[str, pa.Table]]:
        if self.random is not None:
            return [(_RANDOM, _random_table(self.random))]
        return [(f"partition-{i}.parquet", _partition_table(part)) for i, part in enumerate(self.partitions)]

    def _file(self, place: Path, name: str, table: pa.Table) -> str:
        self._release(table).write(place / name)
        return _digest(place / name)

    def _release(self, value: pa.Table | Mapping[str, Any]) -> Release:
        return Release(
            value=value, guarantee=self.guarantee, surface="bags", mechanism=self.mechanism, seeded=self.seeded
        )

    def __str__(self) -> str:
        kind = "random bags" if self.random else f"{len(self.partitions)} partition{'s' * (len(self.partitions) > 1)}"
        warning = "; seeded, so the noise hides nothing from who knows the seed" if self.seeded else ""
        return (
            f"{self.bags:,} bag{'s' * (self.bags != 1)} of {kind} by {self.mechanism['name']}: "
            f"{self.guarantee}{warning}"
        )


def read_bags(folder: str | Path) -> BagTotals:
    """Read a release of bags and check it: manifest, every file's checksum, schema and sizes.

    Raises
    ------
    InvalidRelease
        With one sentence that names the file and what is wrong with it.
    """
    place = Path(folder)
    if not (place / MANIFEST).is_file():
        raise InvalidRelease(f"{place} is not a release of bags: it has no {MANIFEST}")
    head = read_release(place / MANIFEST)
    if head.surface != "bags" or not isinstance(head.value, Mapping):
        raise InvalidRelease(f"{place / MANIFEST} is a release of {head.surface}, not a manifest of bags")
    try:
        return _read(place, head, head.value)
    except InvalidRelease:
        raise
    except (KeyError, TypeError, AttributeError, InvalidInput) as error:
        raise InvalidRelease(f"{place / MANIFEST} is no manifest of bags: {error}") from error


def _read(place: Path, head: Release, manifest: Mapping[str, Any]) -> BagTotals:
    tables = {name: _read_file(place, name, stated, head) for name, stated in manifest["files"].items()}
    described = manifest["partitions"]
    names = [f"partition-{i}.parquet" for i in range(len(described))] if described else [_RANDOM]
    if sorted(tables) != sorted(names):
        raise InvalidRelease(f"{place / MANIFEST} must list the files {', '.join(names)}, got {', '.join(tables)}")
    return BagTotals(
        partitions=tuple(_partition(place / n, tables[n], d) for n, d in zip(names, described, strict=False)),
        random=None if described else _random(place / _RANDOM, tables[_RANDOM], manifest["random"]),
        loss=loss_of(manifest["loss"]),
        guarantee=head.guarantee,
        seeded=head.seeded,
        label=manifest["label"],
        rows=manifest["rows"],
        mechanism=head.mechanism,
    )


def _read_file(place: Path, name: str, stated: str, head: Release) -> pa.Table:
    path = place / name
    if not _FILE.fullmatch(name):
        raise InvalidRelease(f"{place / MANIFEST} lists a file {name!r} that a release of bags does not have")
    if not path.is_file():
        raise InvalidRelease(f"{path} is missing; the release is not whole")
    if _digest(path) != stated:
        raise InvalidRelease(f"{path} has a bad checksum: it was changed or damaged since it was written")
    found = read_release(path)
    if found.guarantee != head.guarantee or not isinstance(found.value, pa.Table):
        raise InvalidRelease(f"{path} is not of this release: its guarantee is another one")
    return found.value


def _partition(path: Path, table: pa.Table, described: Mapping[str, Any]) -> Partition:
    features = tuple(
        Feature(one["name"], edges=one["edges"], values=one.get("values")) for one in described["features"]
    )
    totals = [f"{TOTAL}{k}" for k in range(described["targets"])]
    names = [feature.name for feature in features]
    if table.column_names != [*names, COUNT, *totals] or len(table) != described["bags"]:
        raise _mismatch(path)
    count = table[COUNT].to_numpy()
    numbers = _floats(table.select(totals), path)
    if count.dtype.kind not in "if" or not np.isfinite(count).all():
        raise _mismatch(path)
    return Partition(
        features=features,
        keys=table.select(names),
        counts=count.astype(np.int64 if count.dtype.kind == "i" else np.float64),
        totals=numbers,
        variance=float(described["variance"]),
        count_variance=float(described["count_variance"]),
        other=described["other"],
        dropped=bool(described["dropped"]),
    )


def _random(path: Path, table: pa.Table, described: Mapping[str, Any]) -> RandomBags:
    rows = [f"{_ROW}{j}" for j in range(described["size"])]
    labels = [f"{_LABEL}{k}" for k in range(described["targets"])]
    if table.column_names != [*rows, *labels] or len(table) != described["bags"]:
        raise _mismatch(path)
    if any(not pa.types.is_integer(table.schema.field(name).type) for name in rows):
        raise _mismatch(path)
    return RandomBags(
        rows=np.column_stack([table[name].to_numpy() for name in rows]).astype(np.int64),
        labels=_floats(table.select(labels), path),
        joins=described["joins"],
        bernoulli=bool(described["bernoulli"]),
        variance=float(described["variance"]),
    )


def _partition_table(part: Partition) -> pa.Table:
    table = part.keys.append_column(COUNT, pa.array(part.counts))
    for k in range(part.targets):
        table = table.append_column(f"{TOTAL}{k}", pa.array(np.ascontiguousarray(part.totals[:, k])))
    return table


def _random_table(bags: RandomBags) -> pa.Table:
    columns = {f"{_ROW}{j}": np.ascontiguousarray(bags.rows[:, j]) for j in range(bags.size)}
    columns |= {f"{_LABEL}{k}": np.ascontiguousarray(bags.labels[:, k]) for k in range(bags.targets)}
    return pa.table(columns)


def _floats(table: pa.Table, path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    if any(not pa.types.is_float64(column.type) or column.null_count for column in table.columns):
        raise _mismatch(path)
    values = np.column_stack([column.to_numpy() for column in table.columns])
    if not np.isfinite(values).all():
        raise _mismatch(path)
    return np.ascontiguousarray(values)


def _mismatch(path: Path) -> InvalidRelease:
    return InvalidRelease(f"{path} does not have the columns, types and sizes that the manifest says")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
