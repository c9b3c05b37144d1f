"""Text that writes numbers, dates or times has their types where every value is one; other text stays."""

from datetime import UTC, date, datetime, time, timedelta, timezone

import pyarrow as pa
import pytest

from tacit.data import open_table, read_rows
from tacit.data.written import GAP_MARKS

BERLIN, NEW_YORK = timezone(timedelta(hours=2)), timezone(timedelta(hours=-5))

MEANT = {
    "money": (["$1,234.50", "($80.00)", "-$3.10", "7"], [1234.5, -80, -3.1, 7]),
    "euros": (["1.234,50 €", "80,00 €", "-3,10 €", "1 234,5"], [1234.5, 80, -3.1, 1234.5]),
    "thousands": (["1,234", "12", "1,234,567", "-3"], [1234, 12, 1_234_567, -3]),
    "percent": (["11.2%", "0%", "-3 %", "100%"], [11.2, 0, -3, 100]),
    "currency": (["EUR 5", "EUR 1,000", "EUR 2", "EUR 3"], [5, 1000, 2, 3]),
    "swiss": (["CHF 1'200.50", "CHF 3", "CHF 2", "CHF 1"], [1200.5, 3, 2, 1]),
    "gaps": (["45", "-", " N/A ", "46"], [45, None, None, 46]),
    "exponent": (["1e-5", "?", "2.5E3", "3"], [1e-5, None, 2500, 3]),
    "american": (["12/31/2024", "01/02/2024", "-", None], [date(2024, 12, 31), date(2024, 1, 2), None, None]),
    "british": (["31/12/2024", "01/02/2024", "", None], [date(2024, 12, 31), date(2024, 2, 1), None, None]),
    "two formats": (
        ["31/12/2024", "2024-02-01", "none", "01/02/2024"],
        [date(2024, 12, 31), date(2024, 2, 1), None, date(2024, 2, 1)],
    ),
    "two clocks": (
        ["1/31/2024 3:05 PM", "2024-01-31 15:05:00", "02/01/2024", "-"],
        [*[datetime(2024, 1, 31, 15, 5)] * 2, datetime(2024, 2, 1), None],
    ),
    "one order": (
        ["01/02/2024", "31.12.2024", "03/04/2024", "-"],  # a day first in one format, so in the other
        [date(2024, 2, 1), date(2024, 12, 31), date(2024, 4, 3), None],
    ),
    "two orders": (["12/31/2024", "31.12.2024", "03/04/2024", "-"], None),
    "empty strings": (["45", "", " ", "46"], [45, None, None, 46]),
    "mostly gaps": (["unknown", "None", "NULL", "46"], [None, None, None, 46]),
    "french": (["31/12/2024", "01/02/2024", "-", None], [date(2024, 12, 31), date(2024, 2, 1), None, None]),
    "month": (
        ["3 Jan 2024", "31 Dec 2023", "1 May 2024", "-"],
        [date(2024, 1, 3), date(2023, 12, 31), date(2024, 5, 1), None],
    ),
    "afternoon": (
        ["1/31/2024 3:05 PM", "-", "-", "1/2/2024 9:00 AM"],
        [datetime(2024, 1, 31, 15, 5), None, None, datetime(2024, 1, 2, 9)],
    ),
    "iso": (
        ["2024-05-01", "2024-05-02", None, "2024-05-03"],
        [date(2024, 5, 1), date(2024, 5, 2), None, date(2024, 5, 3)],
    ),
    "zone": (
        ["2024-05-01T10:00:00+02:00", "2024-05-01T10:00:00Z", "2024-05-01T10:00:00-05:00", "-"],
        [datetime(2024, 5, 1, 10, tzinfo=zone) for zone in (BERLIN, UTC, NEW_YORK)] + [None],
    ),
    "zone without seconds": (
        ["2024-05-01T10:00+02:00", "2024-05-01T10:00Z", "2024-05-01 10:00:00 -05", "-"],
        [datetime(2024, 5, 1, 10, tzinfo=zone) for zone in (BERLIN, UTC, NEW_YORK)] + [None],
    ),
    "clock": (["07:30", "19:05:30", "-", "0:00"], [time(7, 30), time(19, 5, 30), None, time(0)]),
    "plain numbers": (["1", "2", "3", "4"], None),
    "codes": (["00123", "-", "00125", "7"], None),
    "phones": (["555 123 456", "555 123 457", "555 123 458", "-"], None),
    "long ids": (["12345678901234567890", "12345678901234567891", "-", "1"], None),
    "versions": (["1.2.3", "1.2.4", "1.3.0", "2.0.0"], None),
    "a word": (["$1", "$2", "$3", "about $4"], None),
    "both styles": (["1,5%", "1.5%", "2,25%", "2.25%"], None),
    "no such day": (["02/30/2024", "01/02/2024", "-", None], None),
    "words": (["yes", "no", "-", None], None),
    "only marks": (["-", "?", None, "-"], None),
}


@pytest.mark.parametrize("case", MEANT)
def test_text_becomes_what_it_means(case):
    written, meant = MEANT[case]
    column = read_rows(open_table(pa.table({"x": pa.array(written, pa.string()), "row": range(4)})))["x"]
    assert column.to_pylist() == (written if meant is None else meant)


@pytest.mark.parametrize(("late", "meant"), [("-", None), ("n.a.", None), ("soon", "soon"), ("", None)])
def test_every_row_is_read_before_a_type_is_settled(late, meant):
    column = read_rows(open_table(pa.table({"x": ["5%"] * 5000 + [late]})))["x"]
    assert column[-1].as_py() == meant
    assert (column[0].as_py() == "5%") == (meant is not None)


def test_large_integers_keep_their_digits():
    column = read_rows(open_table(pa.table({"x": [str(2**53 + 1), "-", str(-(2**62) - 1)]})))["x"]
    assert column.to_pylist() == [2**53 + 1, None, -(2**62) - 1]


def test_a_mark_is_a_gap_among_numbers_and_a_word_among_words():
    rows = pa.table({"age": [*GAP_MARKS, *map(str, range(20))], "word": [*GAP_MARKS, *["grade"] * 20]})
    read = read_rows(open_table(rows))
    assert read["age"].to_pylist() == [None] * len(GAP_MARKS) + list(range(20))
    assert read["word"].equals(rows["word"])
