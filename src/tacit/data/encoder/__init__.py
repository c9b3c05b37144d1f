"""Mixed columns as numbers, by stored rules, so that later rows are encoded in the same way."""

from tacit.data.encoder.encoder import Encoder
from tacit.data.encoder.numbers import DateColumn, FlagColumn, NumberColumn
from tacit.data.encoder.rule import ColumnRule, EncodedColumn
from tacit.data.encoder.words import CategoryColumn, HashedColumn

__all__ = [
    "CategoryColumn",
    "ColumnRule",
    "DateColumn",
    "EncodedColumn",
    "Encoder",
    "FlagColumn",
    "HashedColumn",
    "NumberColumn",
]
