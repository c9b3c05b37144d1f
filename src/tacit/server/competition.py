"""Competitions in the tables: found, described, stored and opened."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from sqlalchemy import Connection, RowMapping, func, insert, select

from tacit.privacy.guarantee import AnyGuarantee
from tacit.scores.metrics import CustomMetric, Metric
from tacit.server.board import CompetitionBoard, columns_of
from tacit.server.cautions import cautions
from tacit.server.errors import NotFound
from tacit.server.host_files import FeatureRows, PrivateLabels
from tacit.server.key import ServerKey
from tacit.server.limits import ServerLimits
from tacit.server.records import Competition
from tacit.server.reservation import team_guarantee
from tacit.server.rules import Rules
from tacit.server.schema import COMPETITION, FILE, TEAM
from tacit.server.terms import SLUG, CompetitionTerms

__all__ = ["COMPETITIONS", "describe", "find", "insert_competition", "labels_place", "read_board", "rules_of"]

_UNLIMITED = ServerLimits(rows=2**31, columns=2**31, cell=2**31)  # what was let in once is read again

COMPETITIONS = select(
    COMPETITION,
    select(func.count()).where(TEAM.c.competition == COMPETITION.c.id).scalar_subquery().label("joined"),
)
"""All competitions, with the number of their teams."""


def find(connection: Connection, slug: str, *, lock: bool = False) -> RowMapping:
    """Return a competition's row, or raise; with ``lock`` other writers of it wait."""
    row = None
    if SLUG.fullmatch(slug):  # PostgreSQL takes no text with a zero byte
        query = COMPETITIONS.where(COMPETITION.c.slug == slug)
        row = connection.execute(query.with_for_update(of=COMPETITION) if lock else query).mappings().first()
    if row is None:
        raise NotFound(f"there is no competition {slug[:64]!a}")
    return row


def rules_of(row: RowMapping, *, custom: Iterable[CustomMetric]) -> Rules:
    """Return a competition's rules."""
    return _read_rules(row["rules"], tuple(custom))


@lru_cache(maxsize=1_024)
def _read_rules(text: str, custom: tuple[CustomMetric, ...]) -> Rules:
    # rules from before there was such a limit do not name it
    return Rules.from_json({"together": None, **json.loads(text)}, custom=custom)


def describe(row: RowMapping, rules: Rules) -> Competition:
    """Return what everybody may know."""
    metric = rules.plan.metric.for_classes(row["classes"])
    sentences, warned, guarantee = _in_words(rules, metric, row["rows"], row["answers"])
    return Competition(
        slug=row["slug"],
        name=row["name"],
        description=row["description"],
        metric=metric.name,
        rules=sentences,
        cautions=warned,
        lower_is_better=metric.lower_is_better,
        rows=row["rows"],
        classes=row["classes"],
        columns=columns_of(metric),
        submissions=rules.plan.submissions,
        per_day=rules.per_day,
        answers=row["answers"],
        joined=row["joined"],
        teams=rules.teams,
        opens=_moment(row["opens"]),
        closes=_moment(row["closes"]),
        public=row["public"],
        guarantee=guarantee,
        finished=row["finished"] is not None,
        archived=row["archived"] is not None,
    )


@lru_cache(maxsize=1_024)
def _in_words(
    rules: Rules, metric: Metric, rows: int, answers: int | None
) -> tuple[tuple[str, ...], tuple[str, ...], AnyGuarantee]:
    """Return what never changes: the rules in words, what a host should know of them, and a team's guarantee."""
    sentences = (*rules.describe(), *rules.describe_answers(answers))
    return sentences, cautions(rules, metric, rows=rows, answers=answers), team_guarantee(rules)


def insert_competition(
    connection: Connection,
    terms: CompetitionTerms,
    *,
    classes: int,
    features: FeatureRows,
    labels: PrivateLabels,
    data_set: str | None,
    parted: bool,
    answers: int | None,
    key: ServerKey,
    now: str,
) -> None:
    """Store a competition, its features, and its labels under the key."""
    connection.execute(
        insert(COMPETITION).values(
            slug=terms.slug,
            name=terms.name,
            description=terms.description,
            rules=json.dumps(terms.rules.to_json()),
            opens=_text(terms.opens),
            closes=_text(terms.closes),
            public=terms.public,
            delta=terms.delta,
            rows=len(labels.codes),
            classes=classes,
            data_set=data_set,
            parted=parted,
            time=now,
            finished=None,
            archived=None,
            answers=answers,
        )
    )
    number = find(connection, terms.slug)["id"]
    sealed = key.seal(labels.to_bytes(), place=labels_place(terms.slug))
    contents = {"features": features.to_csv(), "labels": sealed}
    rows = [{"competition": number, "kind": kind, "content": content} for kind, content in contents.items()]
    connection.execute(insert(FILE), rows)


def read_board(connection: Connection, competition: RowMapping, *, rules: Rules, key: ServerKey) -> CompetitionBoard:
    """Open a competition: its labels are decrypted into memory."""
    ours = (FILE.c.competition == competition["id"], FILE.c.kind.in_(("features", "labels")))
    files = connection.execute(select(FILE).where(*ours)).mappings()
    contents = {row["kind"]: bytes(row["content"]) for row in files}
    opened = key.open(contents["labels"], place=labels_place(competition["slug"]))
    return CompetitionBoard(
        id=competition["id"],
        rules=rules,
        metric=rules.plan.metric.for_classes(competition["classes"]),
        features=FeatureRows.read(contents["features"], limits=_UNLIMITED),
        labels=PrivateLabels.from_bytes(opened),
    )


def labels_place(slug: str) -> str:
    """Return what a competition's encrypted labels are bound to."""
    return f"the labels of {slug}"


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
