"""The errors that a person can act on; the command line prints their one sentence and exits with 2."""

__all__ = [
    "BudgetExceeded",
    "InvalidInput",
    "InvalidRelease",
    "LedgerError",
    "MissingExtra",
    "TacitError",
    "UnitMismatch",
    "UnknownData",
]


class TacitError(Exception):
    """Base of every error that tacit raises on purpose."""


class InvalidInput(TacitError, ValueError):
    """An argument or a file is invalid; the message names it and the remedy.

    Parameters
    ----------
    sentence
        The whole sentence; or, with ``field``, the sentence without its subject: ``must be > 0, got -1``.
    field
        The argument or the field of a plan that the sentence is about. Python, the command line and ``tacit.toml`` each
        print their own word for it: a keyword, an option, a key.

    Examples
    --------
    >>> error = InvalidInput("must be > 0, got -1.0", field="min_size")
    >>> str(error), error.worded("--min-size")
    ('min_size must be > 0, got -1.0', '--min-size must be > 0, got -1.0')
    """

    def __init__(self, sentence: str, *, field: str | None = None) -> None:
        super().__init__(sentence if field is None else f"{field} {sentence}")
        self.field = field
        self._sentence = sentence

    def worded(self, name: str) -> str:
        """Return the sentence with the caller's own word for the field."""
        return str(self) if self.field is None else f"{name} {self._sentence}"


class MissingExtra(TacitError):
    """A package of an optional extra is not installed; the message has the command that installs it."""


class InvalidRelease(InvalidInput):
    """A release file is of another version, damaged, or has no guarantee."""


class UnitMismatch(InvalidInput):
    """Two guarantees protect different things and cannot be added."""


class LedgerError(TacitError):
    """The ledger cannot be opened, or does not know what was requested."""


class UnknownData(LedgerError):
    """The ledger has not seen these rows: register them, or name the data set they belong to."""


class BudgetExceeded(LedgerError):
    """A charge would overspend; nothing was charged."""
