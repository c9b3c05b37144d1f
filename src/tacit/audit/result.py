"""What an audit found: promise, leak, utility and advice of every surface, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.leak import Leak
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Promise, promise_from_json

__all__ = ["AuditResult", "Finding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One release that was planned or made, attacked.

    Parameters
    ----------
    surface
        Which of the five surfaces.
    data, setting
        The data set, and what leaves it, in words.
    promise
        The guarantee, or an explicit none.
    leak
        What the attack measured.
    utility
        What the release is worth to who may use it, in words.
    advice
        One sentence.
    command
        The command that reproduces the finding.
    seconds
        What the attack took.

    Examples
    --------
    >>> from tacit.leak import leak_from_guesses
    >>> from tacit.privacy import NoGuarantee
    >>> finding = Finding(surface="scores", data="two rows", setting="exact loss",
    ...                   promise=NoGuarantee(reason="exact"), leak=leak_from_guesses([1, 0], [1, 0], baseline=0.5),
    ...                   utility="exact", advice="Add noise.", command="tacit scores attack", seconds=0.1)
    >>> finding.broken
    False
    """

    surface: str
    data: str
    setting: str
    promise: Promise
    leak: Leak
    utility: str
    advice: str
    command: str
    seconds: float

    @property
    def broken(self) -> bool:
        """Whether the leak proves more than the promise allows: a bug in one of the two."""
        return isinstance(self.promise, Guarantee) and self.leak.bound is not None and self.leak.exceeds(self.promise)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON.

        Examples
        --------
        >>> Finding.to_json.__name__
        'to_json'
        """
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {**plain, "promise": self.promise.to_json(), "leak": self.leak.to_json(), "broken": self.broken}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Finding:
        """Read back what :meth:`to_json` wrote.

        Examples
        --------
        >>> Finding.from_json({})
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: a finding must say its surface
        """
        try:
            return cls(
                **{name: document[name] for name in _PLAIN},
                promise=promise_from_json(document["promise"]),
                leak=Leak.from_json(document["leak"]),
            )
        except KeyError as missing:
            raise InvalidInput(f"a finding must say its {missing.args[0]}") from None


_PLAIN = ("surface", "data", "setting", "utility", "advice", "command", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """All findings of one run.

    Parameters
    ----------
    findings
        In the order they were made.
    version
        Of tacit.
    date
        Of the run, ISO 8601.
    seed
        The seed, or None: then real entropy was used and the numbers vary from run to run.

    Examples
    --------
    >>> AuditResult(findings=(), version="0.1.0", date="2026-01-01", seed=0).worst is None
    True
    """

    findings: tuple[Finding, ...]
    version: str
    date: str
    seed: int | None

    @property
    def worst(self) -> Finding | None:
        """The finding with the largest advantage."""
        return max(self.findings, key=lambda finding: finding.leak.advantage, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON.

        Examples
        --------
        >>> AuditResult(findings=(), version="0.1.0", date="2026-01-01", seed=0).to_json()["seed"]
        0
        """
        return {
            "version": self.version,
            "date": self.date,
            "seed": self.seed,
            "findings": [finding.to_json() for finding in self.findings],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> AuditResult:
        """Read back what :meth:`to_json` wrote.

        Examples
        --------
        >>> AuditResult.from_json({"version": "0.1.0", "date": "2026-01-01", "seed": None, "findings": []}).findings
        ()
        """
        try:
            findings = tuple(Finding.from_json(finding) for finding in document["findings"])
            return cls(findings=findings, version=document["version"], date=document["date"], seed=document["seed"])
        except KeyError as missing:
            raise InvalidInput(f"an audit must say its {missing.args[0]}") from None
