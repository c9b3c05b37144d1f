"""The header of every release: its plan, what was settled, and its guarantee."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.guarantee import AnyGuarantee, guarantee_from_json
from tacit.privacy.loss import loss_from_json

__all__ = ["FORMAT", "ReleaseHeader", "canonical_json"]

FORMAT = "tacit release 2"
"""The release format; readers reject every other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHeader:
    """The description of a release; it contains no path and no seed.

    Parameters
    ----------
    surface
        The surface of the release.
    plan
        The plan as plain JSON, rebuilt and checked by the surface; None for a model that was made elsewhere.
    settled
        What the plan left open and the data or a draw decided, in public terms: classes, prior, split.
    guarantee
        The guarantee, or an explicit none with its reason.
    seeded
        Whether the noise came from a seeded generator: then anyone who knows the seed can remove it.
    ordered
        Whether rows are in the order of the private table.
    encoder
        The public rules by which columns became numbers, if the release depends on them.
    """

    surface: str
    plan: Mapping[str, Any] | None
    settled: Mapping[str, Any] = field(default_factory=dict)
    guarantee: AnyGuarantee
    seeded: bool
    ordered: bool = True
    encoder: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the header as plain JSON, without what describes the members."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"format": FORMAT, **own, "guarantee": self.guarantee.to_json()}

    def sealed(self, members: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the header with its members' facts and a checksum over all of it.

        The checksum finds damage and careless edits. It is not a signature: anyone can compute it.
        """
        document = {**self.to_json(), "members": {name: dict(facts) for name, facts in members.items()}}
        return {**document, "checksum": _checksum(document)}

    @classmethod
    def unsealed(cls, document: object, *, source: str) -> tuple[ReleaseHeader, dict[str, Any]]:
        """Return a stored header and the facts of its members, or raise if it is damaged or of another format."""
        if not isinstance(document, dict):
            raise InvalidRelease(f"{source} has a damaged header: it is not a JSON object")
        if document.get("format") != FORMAT:
            raise InvalidRelease(f"{source} is of format {document.get('format')!r}; this tacit reads {FORMAT!r}")
        stated = {name: value for name, value in document.items() if name != "checksum"}
        if document.get("checksum") != _checksum(stated):
            raise InvalidRelease(f"{source} has a bad checksum: it was changed or damaged since it was written")
        try:
            own = {one.name: document[one.name] for one in fields(cls)}
            header = cls(**{**own, "guarantee": _stated(document["guarantee"])})
            return header, {name: dict(facts) for name, facts in document["members"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise InvalidRelease(f"{source} has an incomplete header: {error}") from error


def canonical_json(value: object) -> bytes:
    """Return plain JSON as bytes that equal values share."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"must be plain JSON (no NaN, no objects): {error}", field="value") from error


def _stated(document: Mapping[str, Any]) -> AnyGuarantee:
    """The guarantee without its loss: that of the plan counts, and pricing one by a stranger may take hours."""
    if document.get("loss") is not None:
        loss_from_json(document["loss"])  # raises if it is none
    return guarantee_from_json({**document, "loss": None})


def _checksum(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(document)).hexdigest()
