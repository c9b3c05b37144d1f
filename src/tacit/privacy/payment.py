"""Who pays for a release: a ledger, charged before any noise is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.privacy.errors import InvalidInput, UnknownData
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.ledger import Ledger, Receipt, Statement

__all__ = ["Payment", "recognise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """The ledger that pays for a release, and the data set that it is charged to.

    A promise for one record is charged as the same promise for one label where the data set is kept for labels: every
    pair of tables that differ in one label differ in one record, so what holds for records holds for labels. The other
    way round it does not hold, and is refused.

    Parameters
    ----------
    ledger
        Charged before anything is drawn; a charge that it refuses stops the release.
    dataset
        The data set to charge; default: the one that the ledger recognises by the private column.
    parts
        The declared parts of the data set that the release is made from, and no other row; default: all. The ledger
        recognises whole columns, not parts of them: name the data set as well. A column that it recognises, and that
        has rows outside of these parts, is refused.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
    >>> _ = ledger.register([0, 1], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    >>> spent = Payment(ledger=ledger).charge(Guarantee(unit=Unit.LABEL, epsilon=0.5), [0, 1], purpose="totals")
    >>> print(spent)
    entry clicks/1: spent epsilon 0.5, left 0.5
    """

    ledger: Ledger
    dataset: str | None = None
    parts: Sequence[str] | None = None

    def charge(self, guarantee: Guarantee, labels: object, *, purpose: str) -> Receipt:
        """Charge the ledger for a release made from these labels; raise if it refuses.

        Parameters
        ----------
        labels
            The private column in the order it was registered in: a list, an array, an Arrow or Ibis table of one
            column. None where the rows have no order: ``dataset`` must then name what to charge.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
        >>> _ = ledger.register([0, 1], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
        >>> Payment(ledger=ledger).charge(Guarantee(unit=Unit.LABEL, epsilon=2.0), [0, 1], purpose="too much")
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.BudgetExceeded: clicks has spent epsilon 0 of 1 ...
        """
        if labels is None:
            if self.dataset is None:
                raise InvalidInput("dataset must name what to charge: a table without a row order is not recognised")
            dataset, version = self.dataset, None
        else:
            dataset, version = recognise(self.ledger, labels, dataset=self.dataset)
        statement = self.ledger.statement(dataset)
        if version is not None and self.parts is not None:
            _check_covered(statement, version, self.parts)
        if guarantee.unit is Unit.RECORD and statement.budget.unit is Unit.LABEL:
            guarantee = guarantee.for_unit(Unit.LABEL)
        return self.ledger.charge(dataset, guarantee, purpose=purpose, parts=self.parts, version=version)


def _check_covered(statement: Statement, version: int, parts: Sequence[str]) -> None:
    rows = next(known.rows for known in statement.versions if known.number == version)
    declared = {part.name: part.rows for part in statement.parts}
    if not declared.keys() >= set(parts):
        return  # the ledger refuses it
    named = [declared[part] for part in set(parts)]
    covered = sum(len(run) for run in named if run is not None)
    if covered < rows and None not in named:  # who is in a part without rows is the caller's to know
        raise InvalidInput(
            f"parts must hold all {rows} rows of the labels, which are {statement.name}'s own, got {', '.join(parts)} "
            f"with {covered}: make the release from the rows of its parts alone, or charge all parts"
        )


def recognise(ledger: Ledger, labels: object, *, dataset: str | None) -> tuple[str, int | None]:
    """Return the data set to charge for these labels, and its version where the ledger knows the labels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db")
    >>> _ = ledger.register([0, 1], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    >>> recognise(ledger, [0, 1], dataset=None)
    ('clicks', 1)
    >>> recognise(ledger, [0, 1], dataset="visits")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: dataset must be 'clicks', as which the ledger knows these labels, got 'visits'
    """
    try:
        known = ledger.identify(labels)
    except UnknownData:
        if dataset is None:
            raise
        return dataset, None  # registered with more columns than the labels
    if dataset not in (None, known.data_set):
        raise InvalidInput(
            f"dataset must be {known.data_set!r}, as which the ledger knows these labels, got {dataset!r}"
        )
    return known.data_set, known.number
