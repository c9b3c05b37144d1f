"""A competition to try the server with: Titanic."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from tacit.data import titanic
from tacit.server.engine import ScoringEngine
from tacit.server.errors import Conflict
from tacit.server.records import Competition
from tacit.server.rules import CompetitionPlan, Rules
from tacit.server.terms import CompetitionTerms

__all__ = ["create_titanic", "offer_titanic", "titanic_terms"]

_DESCRIPTION = (
    "Who survived the Titanic? Each row is a person: class, age and sex. "
    "Predict the probability that the person survived."
)


def titanic_terms(*, slug: str = "titanic", rules: Rules | None = None) -> CompetitionTerms:
    """Return the terms of the demo: log loss of capped probabilities, and the default rules for four teams."""
    chosen = rules or Rules(plan=CompetitionPlan(), teams=4, rarest=0.25)
    return CompetitionTerms(slug=slug, name="Titanic", description=_DESCRIPTION, rules=chosen)


def create_titanic(engine: ScoringEngine, *, terms: CompetitionTerms | None = None) -> Competition:
    """Create the Titanic competition from the bundled data: 2,201 rows, two classes."""
    data = titanic()
    columns = [data.table.column(name).to_pylist() for name in data.features]
    features = _csv(["id", *data.features], ([row, *cells] for row, cells in enumerate(zip(*columns, strict=True))))
    labels = _csv(["id", "label"], enumerate(data.y.tolist()))
    return engine.create_competition(terms or titanic_terms(), features=features, labels=labels)


def offer_titanic(engine: ScoringEngine) -> None:
    """Create the Titanic competition if there is no competition; another server may do so at the same time."""
    if engine.competitions():
        return
    try:
        create_titanic(engine)
    except Conflict:
        if not engine.competitions():
            raise


def _csv(header: list[str], rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()
