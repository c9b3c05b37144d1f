"""What an audit found: promise, leak, utility and advice of every release, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tacit.leak import Interval, Leak
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Promise, promise_from_json

__all__ = ["AuditResult", "Finding", "Skipped", "Total", "Utility"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Utility:
    """What a release is worth to who may use it, beside what the private data themselves are worth.

    Parameters
    ----------
    measure
        What was measured, in words; more is better.
    protected, unprotected
        With the release, and with the private data.
    interval
        Of ``protected``.

    Examples
    --------
    >>> print(Utility(measure="accuracy of a model", protected=0.75, unprotected=0.8,
    ...               interval=Interval(low=0.7, high=0.8, level=0.95)))
    accuracy of a model: 75.0% (70.0% to 80.0%), 80.0% without protection
    """

    measure: str
    protected: float
    unprotected: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval.low, self.interval.high
        return (
            f"{self.measure}: {self.protected:.1%} ({low:.1%} to {high:.1%}), {self.unprotected:.1%} without protection"
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON.

        Examples
        --------
        >>> Utility.to_json.__name__
        'to_json'
        """
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Utility:
        """Read back what :meth:`to_json` wrote.

        Examples
        --------
        >>> Utility.from_json({"measure": "tau", "protected": 1, "unprotected": 1,
        ...                    "interval": {"low": 1, "high": 1, "level": 0.95}}).measure
        'tau'
        """
        return cls(**{**document, "interval": Interval.from_json(document["interval"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One release that was planned, made and attacked.

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
        What the release is worth.
    advice
        One sentence.
    command
        The command that reproduces the finding.
    seconds
        What release and attack took.

    Examples
    --------
    >>> from tacit.leak import leak_from_guesses
    >>> from tacit.privacy import NoGuarantee
    >>> worth = Utility(measure="ranking", protected=1.0, unprotected=1.0,
    ...                 interval=Interval(low=1.0, high=1.0, level=0.95))
    >>> finding = Finding(surface="scores", data="two rows", setting="exact loss",
    ...                   promise=NoGuarantee(reason="exact"), leak=leak_from_guesses([1, 0], [1, 0], baseline=0.5),
    ...                   utility=worth, advice="Add noise.", command="tacit scores attack", seconds=0.1)
    >>> finding.broken, finding.epsilon
    (False, None)
    """

    surface: str
    data: str
    setting: str
    promise: Promise
    leak: Leak
    utility: Utility
    advice: str
    command: str
    seconds: float

    @property
    def epsilon(self) -> float | None:
        """The promised epsilon; None where nothing is promised."""
        return self.promise.epsilon if isinstance(self.promise, Guarantee) else None

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
        parts = {name: getattr(self, name).to_json() for name in ("promise", "leak", "utility")}
        return {**plain, **parts, "broken": self.broken}

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
                utility=Utility.from_json(document["utility"]),
            )
        except KeyError as missing:
            raise InvalidInput(f"a finding must say its {missing.args[0]}") from None


_PLAIN = ("surface", "data", "setting", "advice", "command", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What all planned releases of one data set cost together, for one label.

    Parameters
    ----------
    data
        The data set.
    promise
        The composed guarantee; none where one of the releases has none.
    releases
        How many.

    Examples
    --------
    >>> from tacit.privacy import Unit
    >>> print(Total(data="Titanic", promise=Guarantee(unit=Unit.LABEL, epsilon=3.0), releases=2).promise)
    epsilon 3 for one label
    """

    data: str
    promise: Promise
    releases: int

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON.

        Examples
        --------
        >>> from tacit.privacy import NoGuarantee
        >>> Total(data="x", promise=NoGuarantee(reason="exact"), releases=1).to_json()
        {'data': 'x', 'promise': {'none': 'exact'}, 'releases': 1}
        """
        return {"data": self.data, "promise": self.promise.to_json(), "releases": self.releases}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Total:
        """Read back what :meth:`to_json` wrote.

        Examples
        --------
        >>> Total.from_json({"data": "x", "promise": {"none": "exact"}, "releases": 1}).releases
        1
        """
        return cls(**{**document, "promise": promise_from_json(document["promise"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A surface that was not audited, and why.

    Examples
    --------
    >>> Skipped(surface="models", reason="the package torch is missing").surface
    'models'
    """

    surface: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """All that one run found.

    Parameters
    ----------
    findings
        The planned releases, in the plan's order.
    curve
        The same surfaces at other epsilons.
    totals
        What the planned releases of each data set cost together.
    skipped
        What was left out.
    version, date
        Of tacit, and of the run, ISO 8601.
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
    curve: tuple[Finding, ...] = ()
    totals: tuple[Total, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def worst(self) -> Finding | None:
        """The planned release with the largest advantage."""
        return max(self.findings, key=lambda finding: finding.leak.advantage, default=None)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Every finding whose leak is above its promise."""
        return tuple(finding for finding in (*self.findings, *self.curve) if finding.broken)

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
            "curve": [finding.to_json() for finding in self.curve],
            "totals": [total.to_json() for total in self.totals],
            "skipped": [asdict(skipped) for skipped in self.skipped],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> AuditResult:
        """Read back what :meth:`to_json` wrote.

        Examples
        --------
        >>> AuditResult.from_json({"version": "0.1.0", "date": "2026-01-01", "seed": None, "findings": [],
        ...                        "curve": [], "totals": [], "skipped": []}).findings
        ()
        """
        try:
            return cls(
                version=document["version"],
                date=document["date"],
                seed=document["seed"],
                findings=tuple(Finding.from_json(finding) for finding in document["findings"]),
                curve=tuple(Finding.from_json(finding) for finding in document["curve"]),
                totals=tuple(Total.from_json(total) for total in document["totals"]),
                skipped=tuple(Skipped(**skipped) for skipped in document["skipped"]),
            )
        except KeyError as missing:
            raise InvalidInput(f"an audit must say its {missing.args[0]}") from None
