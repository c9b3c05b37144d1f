"""The methods that learn from bags and attack them, and the help of the three commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tacit.privacy.lazy import lazy_method
from tacit.privacy.settings import Choice, about, count

__all__ = ["HELP", "AttackMethod", "Crosses", "LearnMethod", "Linear", "TotalsAttack", "Trees"]


@dataclass(frozen=True, kw_only=True)
class Crosses(Choice):
    """An additive model with a weight per bag; from exact totals, the same model as from labels."""

    name: ClassVar[str] = "crosses"
    of_random: ClassVar[bool] = False
    train = lazy_method("tacit.bags.learners.learn", "train_crosses")


@dataclass(frozen=True, kw_only=True)
class Trees(Choice):
    """Boosted trees per partition, which share what they learn between similar bags."""

    name: ClassVar[str] = "trees"
    of_random: ClassVar[bool] = False
    train = lazy_method("tacit.bags.learners.learn", "train_trees")


@dataclass(frozen=True, kw_only=True)
class Linear(Choice):
    """A linear model of all columns, from the labels of random bags."""

    name: ClassVar[str] = "linear"
    of_random: ClassVar[bool] = True
    train = lazy_method("tacit.bags.learners.learn", "train_linear")


@dataclass(frozen=True, kw_only=True)
class TotalsAttack(Choice):
    """Labels that the totals determine, and the most probable guess of every other."""

    name: ClassVar[str] = "totals"

    limit: int = field(default=400, metadata=count("The largest connected group of cells that is searched.", least=0))
    whole: bool = field(default=False, metadata=about("For squared totals: whether labels are integers in the range."))


LearnMethod = Crosses | Trees | Linear
AttackMethod = TotalsAttack

HELP = {
    "protect": """Release the label totals of bags of rows, and nothing else of the private column.

    Each --by makes one partition: rows with equal values in its columns are a bag, and the bag's count and label total
    are released. epsilon is split over the partitions. Features, and so the counts of bags, are public.

    Example: tacit bags protect clicks.csv --label click --by city,device --by hour --epsilon 1 --out clicks.bags

    Example: tacit bags protect people.csv --label ill --by age,sex --edges age=18,40,65 --epsilon none --out ill.bags

    Example: tacit bags protect clicks.csv --label click --mechanism random:size=64,bags=1000,joins=4 --epsilon 1
    """,
    "learn": """Train a model from label totals and the features of the rows, and evaluate it.

    --data is the table that the bags were made from; its label column is not read. The model is a sum of parts, one per
    partition. Random bags train a linear model of all columns. Without --test, the totals of the predictions are
    compared with the released ones.

    Example: tacit bags learn clicks.bags --data clicks.csv --test later.csv --json
    """,
    "attack": """Find the labels that the totals determine, and guess the others as well as possible.

    A determined label is certain: no other labels have these totals. Noisy totals determine none. With --truth right
    guesses are counted and compared with those of a model that knows such rows, but not the release.

    Example: tacit bags attack clicks.bags --data clicks.csv --truth clicks.csv
    """,
}
