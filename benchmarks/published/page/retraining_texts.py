"""Tables 6 and 7: AG News, from the points of benchmarks/results/labels_text.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.published.page.items import MISSING, Item
from benchmarks.published.page.retraining_images import ladder
from benchmarks.published.page.retraining_printed import AG_NEWS

__all__ = ["text_items"]

SHOWS = {
    "6": "Test accuracy on AG News from labels by randomized response, and after retraining.",
    "7": "Table 3 for AG News.",
}


def text_items() -> Iterator[Item]:
    """Yield both tables."""
    for table in AG_NEWS:
        yield Item(
            name=f"Table {table.number}",
            shows=SHOWS[table.number],
            status=MISSING,
            because="it has not been run.",
            body=tuple(ladder(table, {})),
        )
