"""The methods that learn from released features and attack them, and the help of the three commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tacit.privacy.lazy import lazy_method
from tacit.privacy.settings import Choice, about, count

__all__ = ["HELP", "AttackMethod", "CornerCanaries", "Fisher", "LearnMethod", "Linkage", "RowMembership"]


@dataclass(frozen=True, kw_only=True)
class Fisher(Choice):
    """Fisher's classifier, corrected for the noise of covariance and labels."""

    name: ClassVar[str] = "fisher"
    rule: Literal["independence", "full"] = field(
        default="independence", metadata=about("Variances only, or the whole covariance, which requires rows.")
    )


@dataclass(frozen=True, kw_only=True)
class Linkage(Choice):
    """Match each released row to the row of the protected table that is most likely behind it."""

    name: ClassVar[str] = "linkage"
    attack = lazy_method("tacit.features.attacks.linkage", "link")


@dataclass(frozen=True, kw_only=True)
class RowMembership(Choice):
    """Distinguish rows of the protected table from rows that were never used."""

    name: ClassVar[str] = "membership"
    attack = lazy_method("tacit.features.attacks.membership", "find_members")


@dataclass(frozen=True, kw_only=True)
class CornerCanaries(Choice):
    """Distinguish records in opposite corners of the ranges, under fresh noise of the release's scale."""

    name: ClassVar[str] = "canaries"
    attack = lazy_method("tacit.features.attacks.canaries", "distinguish_canaries")
    records: int = field(default=2000, metadata=count("Records in each corner.", least=2, most=10**7))


LearnMethod = Fisher
AttackMethod = Linkage | RowMembership | CornerCanaries

HELP = {
    "protect": """Select a few features and release them with noise, as rows or as class totals.

    Epsilon covers everything that is released. It is divided between class sizes, the selection, the features and the
    labels of rows.

    Example: tacit features protect visits.csv --label ill --select 5 --ranges '*=-3,3' --epsilon 4 --delta 1e-6

    Example: tacit features protect visits.csv --label ill --mechanism totals --ranges '*=-3,3' --epsilon 1 --delta 1e-6
    """,
    "learn": """Learn Fisher's classifier from a release, corrected for the noise that the release states.

    Learning costs nothing more. Accuracy on a test table is outside the guarantee.

    Example: tacit features learn visits.features.parquet --test later.csv
    """,
    "attack": """Link released rows to rows of the protected table, or distinguish members from rows never used.

    By default: membership with --data, linkage with --truth alone, canaries with neither. Linkage uses the order of
    the rows to count correct links, not to find them.

    Example: tacit features attack visits.features.parquet --truth visits.csv

    Example: tacit features attack visits.features.parquet --truth visits.csv --data later.csv
    """,
}
