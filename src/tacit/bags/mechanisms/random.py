"""Random bags: rows drawn at random, with the mean label of each bag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import Choice, about, count
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    from tacit.bags.losses import SemilinearLoss
    from tacit.bags.mechanisms.preparation import PreparedBags, PrivateRows
    from tacit.bags.plan import Plan
    from tacit.privacy.guarantee import AnyGuarantee

__all__ = ["RandomMechanism"]


@dataclass(frozen=True, kw_only=True)
class RandomMechanism(Choice):
    """Draw bags of equal size at random, and release the mean label of each, with noise of the plan's epsilon.

    Unit: one row's label. Which rows are in which bag is public and drawn without looking at labels. Not protected:
    anything about the features, and groups larger than the plan's ``rows_per_person``.
    """

    name: ClassVar[str] = "random"
    phrase: ClassVar[str] = "{bags:,} random bags of {size:,} rows"

    size: int = field(metadata=count("Rows per bag."))
    bags: int = field(metadata=count("How many bags.", most=10**7))
    joins: int | None = field(default=None, metadata=count("The most bags that one row is in.", most=10**7))
    draw: Literal["mean", "bernoulli"] = field(
        default="mean", metadata=about("The label of a bag: its mean, or 0 or 1 with the mean as probability.")
    )

    def check(self, plan: Plan) -> None:
        """Raise if the plan's fields do not describe random bags."""
        for name in ("by", "edges", "categories", "min_size", "select", "selection_epsilon"):
            if getattr(plan, name):
                raise InvalidInput("is for curated bags, got mechanism random", field=name)
        if plan.small != "drop" or not plan.consistent:
            field = "consistent" if plan.small == "drop" else "small"
            raise InvalidInput("is for curated bags, got mechanism random", field=field)
        if plan.protected is not Unit.LABEL:
            raise InvalidInput("must be label for random bags, which reveal their rows", field="unit")
        if plan.epsilon is not None and self.joins is None:
            raise InvalidInput(
                "random must be given joins with an epsilon: the most bags that one label may move", field="mechanism"
            )

    def guarantee(self, plan: Plan, loss: SemilinearLoss) -> AnyGuarantee:
        """Return what a release of this plan guarantees, whatever the rows are."""
        from tacit.bags.mechanisms.drawing import RandomDraw

        return RandomDraw.of_plan(plan, self, loss).guarantee()

    def describe(self, plan: Plan, loss: SemilinearLoss) -> Mapping[str, Any]:
        """Return the noise of a release of this plan, as its header states it."""
        from tacit.bags.mechanisms.drawing import RandomDraw

        return RandomDraw.of_plan(plan, self, loss).describe()

    def prepare(self, plan: Plan, rows: PrivateRows, loss: SemilinearLoss) -> PreparedBags:
        """Check that the release can be made; nothing is drawn."""
        from tacit.bags.mechanisms.drawing import RandomDraw

        how = RandomDraw.of_plan(plan, self, loss)
        try:
            how.check_rows(rows.count())
        except InvalidInput as error:
            raise InvalidInput(f"random: {error}", field="mechanism") from None
        return how.prepare(rows.table, plan.label)
