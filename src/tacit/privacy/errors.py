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
    """Base of every error that tacit raises on purpose.

    Examples
    --------
    >>> issubclass(InvalidInput, TacitError)
    True
    """


class InvalidInput(TacitError, ValueError):
    """An argument or a file is not what the function needs; the message says which, and the remedy.

    Examples
    --------
    >>> raise InvalidInput("epsilon must be > 0, got -1.0")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: epsilon must be > 0, got -1.0
    """


class MissingExtra(TacitError):
    """A package of an optional extra is not installed; the message says how to install it.

    Examples
    --------
    >>> issubclass(MissingExtra, TacitError)
    True
    """


class InvalidRelease(InvalidInput):
    """A release file is of another version, damaged, or does not say its guarantee.

    Examples
    --------
    >>> issubclass(InvalidRelease, InvalidInput)
    True
    """


class UnitMismatch(InvalidInput):
    """Two guarantees protect different things and cannot be added.

    Examples
    --------
    >>> issubclass(UnitMismatch, InvalidInput)
    True
    """


class LedgerError(TacitError):
    """The ledger cannot be opened or does not know what was asked for.

    Examples
    --------
    >>> issubclass(LedgerError, TacitError)
    True
    """


class UnknownData(LedgerError):
    """The ledger has not seen these rows: register them, or name the data set they belong to.

    Examples
    --------
    >>> issubclass(UnknownData, LedgerError)
    True
    """


class BudgetExceeded(LedgerError):
    """A charge would overspend; nothing was charged.

    Examples
    --------
    >>> issubclass(BudgetExceeded, LedgerError)
    True
    """
