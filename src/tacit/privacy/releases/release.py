"""A release: exactly what a recipient sees, with its guarantee; one format for all surfaces."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from tacit.privacy.bounded_json import parse_json
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.files import RELEASE, write_atomically
from tacit.privacy.folders import KEY, MANIFEST, write_folder
from tacit.privacy.guarantee import AnyGuarantee, NoGuarantee
from tacit.privacy.ledger.records import Receipt
from tacit.privacy.plan import MOST_CLASSES, Plan
from tacit.privacy.releases.header import ReleaseHeader
from tacit.privacy.releases.members import DocumentMember, Facts, ReleaseMember, TableMember
from tacit.privacy.words import counted

__all__ = ["Release"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A header and members: one member is one file with the header inside, several are a folder with a manifest.

    A surface's own ``Release`` names its plan and its kinds of members, and reads its members.

    Parameters
    ----------
    receipt
        What the ledger was charged for it; None without a ledger.
    repeated
        Whether it is an earlier release, delivered again without a charge.
    left_out
        How many rows of persons with too many were left out: for the owner who made it, and not in the release.
    """

    plan_type: ClassVar[type[Plan]]
    member_types: ClassVar[tuple[type[ReleaseMember], ...]] = (TableMember, DocumentMember)

    header: ReleaseHeader
    members: Mapping[str, ReleaseMember]
    receipt: Receipt | None = None
    repeated: bool = False
    left_out: int | None = None

    @cached_property
    def plan(self) -> Plan | None:
        """The plan, rebuilt from the header; None for a model that was made elsewhere."""
        return None if self.header.plan is None else self.plan_type.from_json(self.header.plan)

    @property
    def guarantee(self) -> AnyGuarantee:
        """The guarantee, or an explicit none with its reason."""
        return self.header.guarantee

    @property
    def settled(self) -> Mapping[str, Any]:
        """What the data or a draw decided."""
        return self.header.settled

    @property
    def seeded(self) -> bool:
        """Whether anyone who knows the seed can remove the noise."""
        return self.header.seeded

    def check(self) -> AnyGuarantee:
        """Return the guarantee of the plan's mechanism, or raise if the header does not describe it."""
        return self.guarantee

    def _with_guarantee(self, kept: AnyGuarantee) -> Self:
        """Return the release with the loss and assumptions of ``kept``, or raise if the header claims more."""
        stated = self.guarantee
        if isinstance(stated, NoGuarantee):
            return self
        if (
            isinstance(kept, NoGuarantee)
            or (stated.unit, stated.rows) != (kept.unit, kept.rows)
            or stated.epsilon < kept.epsilon
            or stated.delta < kept.delta
        ):
            raise InvalidRelease(f"the header states {stated}, but its mechanism has {kept}")
        known = replace(kept, epsilon=stated.epsilon, delta=stated.delta)
        return replace(self, header=replace(self.header, guarantee=known))

    def notes(self) -> list[str]:
        """Return what its owner should read after it was made, one line each."""
        return []

    def _notes_on_persons(self) -> list[str]:
        if self.plan is None or self.plan.person is None:
            return []
        left_out = "" if self.left_out is None else f", {counted(self.left_out, 'row')} left out"
        return [f"At most {counted(self.plan.rows_per_person, 'row')} per person{left_out}."]

    def in_memory(self) -> Self:
        """Return the release in memory, so that its files may be removed."""
        return replace(self, members={name: member.in_memory() for name, member in self.members.items()})

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the release completely or not at all; an existing one is replaced only with ``force``."""
        if self.plan is not None and not self.plan.suffix:
            self._write_folder(Path(path), force=force)
            return
        ((name, member),) = self.members.items()
        with write_atomically(path, force=force, over=RELEASE) as file:
            member.save(file, lambda facts: self.header.sealed({name: facts}))

    def _write_folder(self, path: Path, *, force: bool) -> None:
        with write_folder(path, force=force) as folder:
            facts = {name: _save(folder / f"{name}.{member.kind}", member) for name, member in self.members.items()}
            with (folder / MANIFEST).open("wb") as file:
                file.write(json.dumps({KEY: self.header.sealed(facts)}, indent=1).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())

    @classmethod
    def open(cls, source: Self | str | os.PathLike[str]) -> Self:
        """Return a release unchanged, or read the one at a path."""
        if isinstance(source, cls):
            return source
        if not isinstance(source, str | os.PathLike):
            kind = f"a release of {source.header.surface}" if isinstance(source, Release) else type(source).__name__
            raise InvalidInput(f"must be a path, or a release of {cls.plan_type.surface}, got {kind}", field="release")
        return cls.read(source)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a release and check it: format, checksums, surface, plan, guarantee.

        Raises
        ------
        InvalidRelease
            Not a release, of another format or surface, damaged, or with a stronger guarantee than its mechanism
            allows.
        """
        source = Path(path)
        if not source.exists():
            raise InvalidRelease(f"{source} does not exist")
        header, members = cls._read_folder(source) if source.is_dir() else cls._read_file(source)
        if header.surface != cls.plan_type.surface:
            raise InvalidRelease(
                f"{source} is a release of {header.surface}, not of {cls.plan_type.surface}; use tacit {header.surface}"
            )
        release = cls(header=header, members=members)
        try:
            classes = release.settled.get("classes") or ()
            if len(classes) > MOST_CLASSES:
                raise InvalidRelease(f"a release of {header.surface} must have at most {MOST_CLASSES:,} classes")
            if not all(isinstance(one, str | int | float) for one in classes):
                raise InvalidRelease(f"{source} must have names or numbers as classes")
            _ = release.plan
            return release._with_guarantee(release.check())
        except InvalidRelease:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise InvalidRelease(f"{source} has a header that does not fit its surface: {error}") from error

    @classmethod
    def _read_file(cls, source: Path) -> tuple[ReleaseHeader, dict[str, ReleaseMember]]:
        member, document = cls._member_type(source).load(source)
        if document is None:
            return cls._header_of_stranger(source), {"model": member}
        header, facts = ReleaseHeader.unsealed(document, source=str(source))
        if len(facts) != 1:
            raise InvalidRelease(f"{source} has an incomplete header: it must describe one member")
        ((name, one),) = facts.items()
        member.check(one, source=str(source))
        return header, {name: member}

    @classmethod
    def _header_of_stranger(cls, source: Path) -> ReleaseHeader:
        """Return the header of a file that tacit did not write; only models may come from elsewhere."""
        raise InvalidRelease(f"{source} is not a tacit release: it has no header")

    @classmethod
    def _read_folder(cls, source: Path) -> tuple[ReleaseHeader, dict[str, ReleaseMember]]:
        try:
            document = parse_json((source / MANIFEST).read_bytes())[KEY]  # type: ignore[index]
        except FileNotFoundError:
            raise InvalidRelease(f"{source} is a folder without {MANIFEST}, so it is not a release") from None
        except (OSError, ValueError, KeyError, TypeError):
            raise InvalidRelease(f"{source} has a damaged {MANIFEST}") from None
        header, facts = ReleaseHeader.unsealed(document, source=str(source))
        return header, {name: cls._read_member(source, name, one) for name, one in facts.items()}

    @classmethod
    def _read_member(cls, folder: Path, name: str, facts: Facts) -> ReleaseMember:
        kinds = {kind.kind: kind for kind in cls.member_types}
        kind = facts.get("kind")
        path = folder / f"{name}.{kind}"
        if not isinstance(kind, str) or kind not in kinds or path.parent != folder or not path.is_file():
            raise InvalidRelease(f"{folder} has lost {name}.{kind}, or never had it")
        member, _ = kinds[kind].load(path)
        member.check(facts, source=str(path))
        return member

    @classmethod
    def _member_type(cls, source: Path) -> type[ReleaseMember]:
        ending = source.suffix.removeprefix(".").lower()
        for kind in cls.member_types:
            if kind.kind == ending:
                return kind
        return _by_content(source, cls.member_types)

    def to_json(self) -> dict[str, Any]:
        """Return the header, and what was charged, as plain JSON."""
        return {
            **self.header.to_json(),
            "charge": None if self.receipt is None else self.receipt.id,
            "repeated": self.repeated,
        }

    def __str__(self) -> str:
        how = getattr(self.plan, "mechanism", None) or getattr(self.plan, "policy", None)
        return f"{self.header.surface}{'' if how is None else f' by {how}'}: {self.guarantee}"


def _save(path: Path, member: ReleaseMember) -> Facts:
    with path.open("wb") as file:
        facts = member.save(file, None)
        if not file.closed:
            file.flush()
            os.fsync(file.fileno())
    return {**facts, "bytes": path.stat().st_size}


def _by_content(source: Path, kinds: tuple[type[ReleaseMember], ...]) -> type[ReleaseMember]:
    """The kind of a file whose name does not show it."""
    try:
        with source.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise InvalidRelease(f"{source} cannot be read: {error.strerror}") from None
    found = TableMember if start == b"PAR1" else DocumentMember if start[:1] == b"{" else None
    if found is None or found not in kinds:
        endings = ", ".join(f".{kind.kind}" for kind in kinds)
        raise InvalidRelease(f"{source} is not a release: it must be a file that ends in {endings}, or a folder")
    return found
