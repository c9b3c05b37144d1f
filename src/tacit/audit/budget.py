"""The budget of the audited table in a ledger: spent, left, and what the planned releases would add."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.audit.finding import Finding
from tacit.leak.stored_result import StoredResult
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.ledger.records import format_down, format_share

if TYPE_CHECKING:
    from tacit.privacy.ledger import DataSetStatement, Ledger

__all__ = ["BudgetLedger", "LedgerBalance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerBalance(StoredResult):
    """What a ledger has of a data set, and would have after the planned releases; nothing is charged.

    Parameters
    ----------
    budget, left
        Epsilons for one unit: the budget's, and the largest that one more charge may have.
    used, after
        The share of the budget that is used, now and after the planned releases that the ledger can be charged for;
        None if it would refuse one.
    uncharged
        The other planned releases: they guarantee nothing, or something for another unit.
    """

    dataset: str
    unit: str
    budget: float
    delta: float
    used: float
    left: float
    after: float | None
    uncharged: tuple[str, ...] = ()

    @property
    def exceeded(self) -> bool:
        """Whether the ledger would refuse one of the planned releases."""
        return self.after is None

    def __str__(self) -> str:
        after = "it would refuse one of the planned releases"
        if self.after is not None:
            after = f"the planned releases would bring it to {format_share(self.after)}"
        return (
            f"The ledger's budget of {self.dataset} is epsilon {self.budget:g}: {format_share(self.used)} is used and "
            f"epsilon {format_down(self.left)} fits; {after}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLedger:
    """A ledger that is read, never charged.

    Parameters
    ----------
    place
        Its file or URL.
    dataset
        The name of the data set; default: the only one.
    """

    place: str
    dataset: str | None = None

    def check(self) -> None:
        """Raise if it cannot be read, or has no such data set."""
        self._statement()

    def balance(self, findings: Iterable[Finding]) -> LedgerBalance:
        """Return the balance with the planned releases that were measured."""
        ledger, statement = self._statement()
        made = list(findings)
        charged = [found for found in made if _covers(found, statement.budget)]
        after = ledger.share_after(statement.name, *(found.guarantee for found in charged))
        return LedgerBalance(
            dataset=statement.name,
            unit=statement.budget.protects,
            budget=statement.budget.epsilon,
            delta=statement.budget.delta,
            used=statement.used,
            left=statement.left,
            after=after if after <= 1 else None,
            uncharged=tuple(found.name for found in made if found not in charged),
        )

    def _statement(self) -> tuple[Ledger, DataSetStatement]:
        from tacit.privacy.ledger import Ledger

        ledger = Ledger.open(self.place)
        names = ledger.data_sets
        if self.dataset is None and len(names) != 1:
            raise InvalidInput(
                f"must name one of the ledger's data sets: {', '.join(names) or 'none'}", field="dataset"
            )
        return ledger, ledger.statement(self.dataset or names[0])


def _covers(finding: Finding, budget: Guarantee) -> bool:
    """Whether a release can be charged to the budget: its unit is the same, or a record for a label."""
    held = finding.guarantee
    if not isinstance(held, Guarantee) or held.rows != budget.rows or (held.delta and not budget.delta):
        return False
    return held.unit is budget.unit or (held.unit is Unit.RECORD and budget.unit is Unit.LABEL)
