"""The one way in: a table from a file, from memory or from a database."""

from __future__ import annotations

import glob
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import duckdb
import pyarrow as pa
import pyarrow.parquet

from tacit.data.connection import connection, limit_memory
from tacit.data.csv_file import ACCEPTED, fault, read_csv_file
from tacit.data.excel_file import read_excel_file
from tacit.data.locations import BUNDLED, STDIN, files_of, is_location
from tacit.data.names import check_names
from tacit.data.packed import check_cells
from tacit.data.pictures import read_arrays, read_pictures
from tacit.data.remote import open_url, spooled_stdin
from tacit.data.spark import open_spark
from tacit.data.view import TableView, literal, quoted, union_views
from tacit.data.written import SAMPLE, settle_text, texts_of
from tacit.privacy.endings import ARRAYS, ENDINGS, PICTURES
from tacit.privacy.errors import InvalidInput
from tacit.privacy.lazy import is_a

if TYPE_CHECKING:
    import ibis
    import pandas as pd
    import pyarrow.dataset

__all__ = ["open_table"]

_PARQUET, _ARROW_FILE, _ARROW_STREAM, _ZIP = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"PK\x03\x04"


def open_table(
    source: object, *, engine: Literal["duckdb", "spark"] = "duckdb", memory: str | None = None
) -> TableView | ibis.Table:
    """Return the rows of a table, wherever they are: a view of DuckDB, or the Ibis table of another database.

    The rows of a file stream through DuckDB, in order, which spills to disk what does not fit in memory. A CSV file is
    read once from end to end to decide its types; up to 32 MB, its rows are kept then, and it is not read again.
    ``NA``, ``N/A``, ``NaN``, ``null`` and nothing between two delimiters are missing values there.
    :func:`tacit.data.read_rows` brings columns into memory, and :func:`tacit.data.as_ibis` gives a lazy Ibis table to
    query.

    Parameters
    ----------
    source
        A path, a pattern (``2026-*.csv``), a list of paths, or a folder, whose ``key=value`` subfolders become columns.
        Files are CSV or TSV (plain or gzipped), Parquet, Arrow or Feather, JSON lines or Excel; ``-`` is standard
        input. A folder of images has the columns ``file`` and ``image``, an ``.npz`` file one per array.
        ``URL#TABLE`` or ``URL#SELECT ...`` for a database that Ibis connects to; a URL of an object store or the web,
        as DuckDB reads it. ``bundled:NAME`` for a set that comes with tacit. Or a pandas or polars frame, a pyarrow
        table, dataset or record batch reader, or an Ibis table, which is returned unchanged. A record batch reader is
        read completely into DuckDB. A pandas index is left out.
    engine
        ``"spark"`` reads Parquet, or a table of its catalog, by Spark.
    memory
        The most memory that DuckDB may use in this process, such as ``2GB``.

    Returns
    -------
    TableView or ibis.Table
        At least one column and one row; no two columns with the same name.

    Raises
    ------
    InvalidInput
        The file is missing, empty or not a table, two columns share a name, or there are no rows.

    Examples
    --------
    >>> import pandas as pd
    >>> table = open_table(pd.DataFrame({"x": [1, 2, 3], "y": ["a", "b", "a"]}))
    >>> table.columns
    ('x', 'y')
    """
    if memory is not None:
        limit_memory(memory, engine=engine)
    if engine == "spark":
        return open_spark(str(source))
    if isinstance(source, TableView):
        return source
    name = _name_of(source)
    if isinstance(source, str) and source == STDIN:
        return _read_stdin()
    if isinstance(source, str | PathLike) and not str(source).startswith(BUNDLED) and not is_location(str(source)):
        path = Path(source)
        return _read_files(files_of(path), name, folder=path if path.is_dir() else None)
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | PathLike) for one in source):
        return _read_files([file for one in source for file in files_of(Path(one))], name)
    rows = _open(source, name)
    check_names(rows.columns, source=name)
    return _settled(rows, name)


def _open(source: object, name: str) -> TableView | ibis.Table:
    if isinstance(source, str):
        return _from_bundle(source) if source.startswith(BUNDLED) else open_url(source)
    return source if _is_ibis(source) else _from_memory(source, name)


def _read_stdin() -> TableView:
    path = spooled_stdin()
    try:
        return _read_files([path], "standard input")
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(str(path), "standard input")) from None


def _read_files(files: list[Path], name: str, *, folder: Path | None = None, mended: bool = False) -> TableView:
    """Return the rows of files; where text that was opened cannot be read to its end, of mended copies."""
    if files[0].suffix.lower() in PICTURES:
        return _from_memory(read_pictures(files), name)
    views = [_read_file(file, mended=mended) for file in files]
    if any(view.decimal_marks != views[0].decimal_marks for view in views):
        views = [_read_files([file], str(file)) for file in files]
    rows = union_views(views, files=files, folder=folder)
    check_names(rows.columns, source=name)
    if mended or not rows.decimal_marks:
        return _settled(rows, name)
    try:
        return _typed(rows, name)
    except duckdb.Error:
        return _read_files(files, name, folder=folder, mended=True)


def _is_ibis(source: object) -> TypeGuard[ibis.Table]:
    return is_a(source, "ibis", "Table")


def _name_of(source: object) -> str:
    if isinstance(source, str | PathLike):
        return str(source)
    return "the Ibis table" if _is_ibis(source) else f"the {type(source).__name__}"


def _from_bundle(source: str) -> TableView:
    from tacit.data.bundled_sets import bundled_table  # whose sets are tables themselves

    return _from_memory(bundled_table(source.removeprefix(BUNDLED)), source)


def _read_file(path: Path, *, mended: bool) -> TableView:
    start = _read_start(path)
    if not start:
        raise InvalidInput(f"{path} is empty; a table needs columns and at least one row")
    if start.startswith(_PARQUET) or path.suffix.lower() in ENDINGS["Parquet"]:
        return _read_parquet(path)
    if start.startswith((_ARROW_FILE, _ARROW_STREAM)) or path.suffix.lower() in ENDINGS["Arrow"]:
        return _read_arrow(path, stream=start.startswith(_ARROW_STREAM))
    if start.startswith(_ZIP) and path.suffix.lower() == ".xlsx":
        return _from_memory(_from_pandas(read_excel_file(path), str(path)), str(path))
    if start.startswith(_ZIP) and path.suffix.lower() == ARRAYS:
        return _from_memory(read_arrays(path), str(path))
    if path.name.lower().removesuffix(".gz").endswith(ENDINGS["JSON"]):
        return _read_json(path)
    return read_csv_file(path, mended=mended)


def _read_start(path: Path) -> bytes:
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(8)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None


def _read_parquet(path: Path) -> TableView:
    try:
        footer = pyarrow.parquet.read_metadata(path)
        names = footer.schema.to_arrow_schema().names
        check_cells(path, rows=footer.num_rows, columns=len(names))
        check_names(names, source=str(path))
        return TableView.of_query(f"FROM read_parquet({literal(glob.escape(str(path)))})")
    except (pa.ArrowException, OSError, duckdb.Error) as error:
        raise InvalidInput(f"{path} is not a readable Parquet file: {fault(error)}; {ACCEPTED}") from None


def _read_arrow(path: Path, *, stream: bool) -> TableView:
    # Not as a dataset: Arrow frees an IPC file whose scan DuckDB drops, while its threads still read ahead in it.
    try:
        with pa.memory_map(str(path)) as file:
            rows = pa.ipc.open_stream(file) if stream else _batches_of(file)
            check_names(rows.schema.names, source=str(path))
            return TableView.of_arrow(rows)
    except (pa.ArrowException, OSError, duckdb.Error) as error:
        raise InvalidInput(f"{path} is not a readable Arrow file: {fault(error)}; {ACCEPTED}") from None


def _batches_of(file: pa.MemoryMappedFile) -> pa.RecordBatchReader:
    opened = pa.ipc.open_file(file)
    batches = map(opened.get_batch, range(opened.num_record_batches))
    return pa.RecordBatchReader.from_batches(opened.schema, batches)


def _read_json(path: Path) -> TableView:
    """Read JSON lines, or a list of objects; a column of several types, such as numbers and ``unknown``, as text."""
    try:
        rows = TableView.of_query(f"FROM read_json({literal(glob.escape(str(path)))})")
    except (duckdb.Error, OSError) as error:
        raise InvalidInput(f"{path} is not readable JSON: {fault(error)}") from None
    return rows.replaced({name: f"{quoted(name)} ->> '$'" for name, kind in rows.types.items() if kind == "JSON"})


def _from_memory(source: object, name: str) -> TableView:
    rows = _to_arrow(source)
    check_names(rows.schema.names, source=name)
    try:
        return TableView.of_arrow(rows)
    except duckdb.Error as error:
        raise InvalidInput(f"{name} cannot be read: {fault(error)}") from None


def _to_arrow(source: object) -> pa.Table | pa.dataset.Dataset | pa.RecordBatchReader:
    if isinstance(source, pa.Table | pa.RecordBatchReader):
        return source
    if is_a(source, "pyarrow.dataset", "Dataset"):
        return _scanned_to_its_end(source)
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if is_a(source, "pandas", "DataFrame"):
        return _from_pandas(source, "the DataFrame")  # type: ignore[arg-type]
    if type(source).__module__.partition(".")[0] == "polars":  # not imported unless the user did
        frame: Any = source.collect() if hasattr(source, "collect") else source
        if hasattr(frame, "get_columns"):  # a frame, not a series
            return frame.to_arrow()
    raise InvalidInput(
        f"must be a path, a pandas or polars frame, a pyarrow table or an Ibis table, got {type(source).__name__}",
        field="source",
    )


def _scanned_to_its_end(rows: pa.dataset.Dataset) -> pa.dataset.Dataset | pa.RecordBatchReader:
    """A dataset, or its rows where DuckDB must not drop a scan of it: see ``_read_arrow``."""
    ipc = type(getattr(rows, "format", None)).__name__ == "IpcFileFormat"
    return rows.scanner().to_reader() if ipc else rows


def _from_pandas(frame: pd.DataFrame, called: str) -> pa.Table:
    names = [str(name) for name in frame.columns]
    check_names(names, source=called)
    try:
        return pa.Table.from_pandas(frame.set_axis(names, axis=1), preserve_index=False)
    except pa.ArrowException as error:
        column = next((name for name in names if _is_mixed(frame.iloc[:, names.index(name)])), None)
        what = f"column {column!r} mixes types" if column else fault(error)
        raise InvalidInput(f"{called} is not a table: {what}; give each column one type") from None


def _is_mixed(column: pd.Series[Any]) -> bool:
    return column.dropna().map(type).nunique() > 1


def _settled(rows: TableView | ibis.Table, name: str) -> TableView | ibis.Table:
    if not isinstance(rows, TableView):
        return _checked(rows, name)
    try:
        return _typed(rows, name)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{name} cannot be read: {fault(error)}") from None


def _typed(rows: TableView, name: str) -> TableView:
    """Return the rows with settled types, which their first values suggest; raise if there is no row."""
    first = rows.first(texts_of(rows) or rows.columns[:1], SAMPLE)
    _check_rows(first, name)
    return _large_as_text(_in_days(settle_text(rows, first)))


def _checked(rows: ibis.Table, name: str) -> ibis.Table:
    try:
        first = rows[rows.columns[:1]].limit(1).to_pyarrow().to_pydict()
    except Exception as error:  # every database has errors of its own
        raise InvalidInput(f"{name} cannot be read: {fault(error)}") from None
    _check_rows(first, name)
    return rows


def _check_rows(first: dict[str, list[Any]], name: str) -> None:
    if not any(first.values()):
        raise InvalidInput(f"{name} has no rows; a table needs at least one")


def _in_days(rows: TableView) -> TableView:
    """Return the rows with each column of durations as a number of days."""
    durations = [name for name, kind in rows.types.items() if kind == "INTERVAL"]
    return rows.replaced({name: f"epoch({quoted(name)}) / 86400" for name in durations})


def _large_as_text(rows: TableView) -> TableView:
    """Return the rows with each column of integers beyond 2^63, which are ids or hashes, as text."""
    names = [name for name, kind in rows.types.items() if kind == "UBIGINT"]
    if not names:
        return rows
    tests = ", ".join(f"max({quoted(name)}) >= {2**63}" for name in names)
    found = connection().execute(f"SELECT {tests} FROM {quoted(rows.name)}").fetchone() or ()
    large = [name for name, beyond in zip(names, found, strict=True) if beyond]
    return rows.replaced({name: f"CAST({quoted(name)} AS VARCHAR)" for name in large})
