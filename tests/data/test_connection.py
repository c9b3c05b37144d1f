import gc
import os
import stat
import weakref

import pyarrow as pa
import pytest

from tacit.data.connection import connection, ibis_backend
from tacit.data.view import TableView


def setting(name):
    return connection().execute(f"SELECT current_setting('{name}')").fetchone()[0]


def test_settings():
    assert setting("preserve_insertion_order") is True
    assert setting("enable_progress_bar") is False
    assert setting("autoinstall_known_extensions") is False


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_rows_are_spilled_where_only_the_user_reads():
    assert stat.S_IMODE(os.stat(setting("temp_directory")).st_mode) == 0o700


@pytest.mark.parametrize("kind", ["table", "reader"])
def test_data_goes_when_nothing_refers_to_it(kind):
    rows = pa.table({"x": list(range(10))})
    table = TableView.of_arrow(rows if kind == "table" else rows.to_reader()).to_ibis()
    name = table.get_name()
    derived = table.filter(table.x > 3)
    watch = weakref.ref(table.op())
    del table
    gc.collect()
    TableView.of_arrow(rows)
    assert derived.count().execute() == 6
    assert name in ibis_backend().list_tables()
    del derived
    gc.collect()
    assert watch() is None
    TableView.of_arrow(rows)
    assert name not in ibis_backend().list_tables()
