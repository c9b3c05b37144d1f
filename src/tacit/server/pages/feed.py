"""What happens in a competition as an Atom feed: it opens, scores improve, it closes, the final ranking is released."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from tacit.server.records import BoardView

__all__ = ["atom_feed"]

_ATOM = "http://www.w3.org/2005/Atom"
_ENTRIES = 50


def atom_feed(view: BoardView, *, address: str, now: datetime) -> bytes:
    """Return the newest entries of a competition, newest first.

    Parameters
    ----------
    address
        Of the competition's page, with the server's name.
    """
    found = view.competition
    entries = sorted(_entries(view, now), key=lambda entry: entry[0], reverse=True)[:_ENTRIES]
    feed = Element("feed", xmlns=_ATOM)
    _add(feed, id=address, title=found.name, updated=(entries[0][0] if entries else now).isoformat())
    SubElement(feed, "link", href=address)
    for moment, key, title in entries:
        entry = SubElement(feed, "entry")
        _add(entry, id=f"{address}#{key}", title=title, updated=moment.isoformat())
        SubElement(entry, "link", href=address)
        _add(SubElement(entry, "author"), name=found.name)
    return bytes(tostring(feed, encoding="utf-8", xml_declaration=True))


def _entries(view: BoardView, now: datetime) -> Iterator[tuple[datetime, str, str]]:
    found = view.competition
    for moment, key, title in (
        (found.opens, "opens", "Submissions are accepted"),
        (found.closes, "closes", "The competition is closed"),
    ):
        if moment is not None and moment <= now:
            yield moment, key, title
    for score in view.progress:
        yield score.time, f"{score.team}-{score.number}", f"{score.team} improved to {score.text}"
    if view.final and view.finished is not None:
        yield view.finished, "final", f"The final ranking is released; first: {view.final[0].team}"


def _add(parent: Element, **texts: str) -> None:
    for name, text in texts.items():
        SubElement(parent, name).text = "".join(one if one.isprintable() else " " for one in text)
