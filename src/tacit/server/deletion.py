"""Deleting a competition: its rows leave every table; its charges stay in the ledger, and its trail is kept."""

from __future__ import annotations

from sqlalchemy import Connection, ScalarSelect, delete, insert, or_, select

from tacit.privacy.errors import InvalidInput
from tacit.server.competition import find
from tacit.server.schema import COMPETITION, DELETED, ORGANIZER, TABLES, TEAM
from tacit.server.trail import Author, record

__all__ = ["delete_competition"]


def delete_competition(connection: Connection, slug: str, *, confirm: str, by: Author, now: str) -> None:
    """Delete a competition with its labels, teams and submissions, which cannot be undone.

    Parameters
    ----------
    confirm
        The competition's short name once more, so that nobody deletes by a slip.
    """
    competition = find(connection, slug, lock=True)
    if confirm != slug:
        raise InvalidInput(
            f"must be the short name of the competition to delete, got {confirm[:64]!r}", field="confirm"
        )
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete=ON")  # what is deleted is overwritten in the file
    owners: dict[str, ScalarSelect[int]] = {
        table.name.removeprefix("server_"): select(table.c.id)
        .where(table.c.competition == competition["id"])
        .scalar_subquery()
        for table in (TEAM, ORGANIZER)
    }
    for table in reversed(TABLES.sorted_tables):  # whatever refers to a row goes before it
        mine = [table.c[name].in_(ids) for name, ids in owners.items() if name in table.c]
        if "competition" in table.c:
            mine.append(table.c.competition == competition["id"])
        if mine:
            connection.execute(delete(table).where(or_(*mine)))
    connection.execute(delete(COMPETITION).where(COMPETITION.c.id == competition["id"]))
    connection.execute(insert(DELETED).values(slug=slug, data_set=competition["data_set"], time=now))
    record(connection, slug, "delete", competition["name"], by=by, now=now)
