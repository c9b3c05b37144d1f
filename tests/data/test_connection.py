import gc
import os
import stat
import weakref

import pyarrow as pa
import pytest

from tacit.data.connection import connection, register


def setting(name):
    return connection().raw_sql(f"SELECT current_setting('{name}')").fetchone()[0]


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
    table = register(rows if kind == "table" else rows.to_reader())
    name = table.get_name()
    derived = table.filter(table.x > 3)
    watch = weakref.ref(table.op())
    del table
    gc.collect()
    register(rows)
    assert derived.count().execute() == 6
    assert name in connection().list_tables()
    del derived
    gc.collect()
    assert watch() is None
    register(rows)
    assert name not in connection().list_tables()
