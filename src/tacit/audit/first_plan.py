"""What ``tacit init`` decides about a table: what its first plan has, what it leaves out, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from tacit.audit.draft import draft_plan
from tacit.audit.numeric_label import NumericLabel
from tacit.audit.source import check_size, source_from_file
from tacit.audit.suggestions import RowOrder, Suggestions
from tacit.audit.words import listed
from tacit.data.encoder.written_numbers import words_among_numbers
from tacit.data.spellings import spellings_of
from tacit.privacy.words import counted

__all__ = ["FirstPlan"]

_COPY = "it tells every label"


@dataclass(frozen=True, kw_only=True, eq=False)
class FirstPlan:
    """The first plan of a table.

    Parameters
    ----------
    rows
        The private table.
    features
        The columns that an attacker may know.
    without_label
        How many rows of the table were left out because they have no label.
    usual
        What is suggested for all columns but the label.
    copies
        The columns that tell every label, each with how; empty: by its value.
    public
        A public table whose ranges and words the plan declares, and its name.
    """

    rows: pa.Table
    label: str
    features: Sequence[str]
    surfaces: Sequence[str]
    epsilon: float
    without_label: int
    usual: Suggestions
    copies: Mapping[str, str]
    public: tuple[str, pa.Table] | None = None

    def draft(self, data: str, *, file: str) -> str:
        """Return the plan's text; ``data`` is the table's name, and ``file`` the same as seen from the plan."""
        source = check_size(source_from_file(data, label=self.label, features=self.features, rows=self.rows))
        return draft_plan(
            self.suggested,
            file=file,
            label=self.label,
            rows=source.rows,
            numeric=self.numeric,
            left_out=self.left_out,
            without_label=self.without_label,
            surfaces=self.surfaces,
            epsilon=self.epsilon,
            public=None if self.public is None else self.public[0],
            order=self.order,
        )

    @cached_property
    def suggested(self) -> Suggestions:
        """Ranges and words, of the public rows if there are any."""
        shown = self.rows if self.public is None else self.public[1]
        return Suggestions(table=shown, features=self.features, chosen=True, public=self.public is not None)

    @cached_property
    def numeric(self) -> NumericLabel | None:
        """The range and cuts of a label that is an amount; None for classes."""
        known = None if self.public is None or self.label not in self.public[1].column_names else self.public[1]
        return NumericLabel.of(self.rows[self.label], None if known is None else known[self.label])

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that are not used, each with the reason."""
        found = {**dict(self.usual.left_out), **dict.fromkeys(self.copies, _COPY)}
        return {name: why for name, why in found.items() if name not in self.features}

    @cached_property
    def mixed(self) -> dict[str, tuple[str, ...]]:
        """The columns that are text because a few values are no numbers, with words that many rows share."""
        found = ((name, words_among_numbers(self.rows[name])) for name in (self.label, *self.features))
        return {name: words for name, words in found if words is not None}

    @cached_property
    def spellings(self) -> dict[str, tuple[str, ...]]:
        """The columns that write a word in several ways, with one such word's spellings."""
        found = ((name, spellings_of(self.rows[name])) for name in (self.label, *self.features))
        return {name: words for name, words in found if words}

    @cached_property
    def order(self) -> RowOrder:
        """What the order of the rows says about the labels."""
        return RowOrder.of(self.rows, self.label)

    def as_dict(self) -> dict[str, Any]:
        """Return everything that was decided, as JSON takes it."""
        return {
            "label": self.label,
            "features": list(self.features),
            "surfaces": list(self.surfaces),
            "epsilon": self.epsilon,
            "left_out": self.left_out,
            "without_label": self.without_label,
            "clipped": self.suggested.clipped,
            "codes": self.suggested.codes,
            "read_as_text": self.mixed,
            "spellings": self.spellings,
            "order": self.order.name.lower(),
            "numeric_label": None if self.numeric is None else asdict(self.numeric),
        }

    def notes(self) -> Iterator[str]:
        """Yield a sentence for everything that the owner of the table should know or check."""
        if self.numeric is not None:
            yield f"Treated as an amount: {self.label}, {self.numeric}."
        if self.without_label:
            rest = f"as if it were public which rows these are; if a gap in {self.label} means no, write no"
            yield f"Left out: {counted(self.without_label, 'row')} without a label ({rest})."
        for name, why in self.left_out.items():
            yield f"Left out: {name} ({why})."
        for name, count in self.suggested.clipped.items():
            yield f"Clipped: {name} ({counted(count, 'value')} far from the rest; declare its public range)."
        for name, codes in self.suggested.codes.items():
            yield f"Far from the rest: {', '.join(codes)} in {name} (if it stands for a gap, leave it empty)."
        for name, words in self.mixed.items():
            such = f", such as {' and '.join(map(repr, words[:3]))}" if words else ""
            remedy = "each value is a class" if name == self.label else "leave those empty to use it as numbers"
            yield f"Read as text: {name} (a few values are no numbers{such}; {remedy})."
        for name, words in self.spellings.items():
            what = "class" if name == self.label else "category"
            same = listed([repr(word) for word in words[:3]])
            yield f"Written in several ways: {name} ({same}; each is a {what} of its own unless you write one of them)."
        if self.order is not RowOrder.RANDOM:
            remedy = (
                "the plan shuffles them" if self.order is RowOrder.SHUFFLED else "put the rows in random order first"
            )
            yield f"Follows the order of the rows, which reveals it at any epsilon: {self.label} ({remedy})."
