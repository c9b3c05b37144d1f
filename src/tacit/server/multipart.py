"""Multipart forms, read piece by piece: each part's name, and where its content goes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from tacit.privacy.errors import InvalidInput

__all__ = ["Take", "read_parts", "read_upload"]

_FIELD_BYTES, _FIELDS = 4096, 20
_PARTS = 100

Take = Callable[[bytes], None]
"""Takes a piece of a part's content."""


async def read_parts(
    stream: AsyncIterator[bytes], *, content_type: str, open_part: Callable[[str, bool], Take]
) -> None:
    r"""Read a multipart form; nothing of it is stored on the way, and a file's own name is not looked at.

    Parameters
    ----------
    stream
        The request's body.
    content_type
        The request's, with the boundary.
    open_part
        Called with a part's name and whether it is a file; returns what takes its content.
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise InvalidInput("an upload must be multipart/form-data with a boundary")
    try:
        parser = MultipartParser(boundary, _PartCallbacks(open_part).callbacks())  # type: ignore[arg-type]
        async for piece in stream:
            parser.write(piece)
        parser.finalize()
    except FormParserError:
        raise InvalidInput("the upload is not a complete multipart form; send it again") from None


async def read_upload(
    stream: AsyncIterator[bytes], *, content_type: str, feed: Callable[[bytes], None], file: str = "file"
) -> dict[str, str]:
    r"""Read a form with one file: pieces of the file go to ``feed`` as they come, small fields are returned.

    Fields are limited in size and number, and other files are rejected.
    """
    fields: dict[str, str] = {}
    files = 0

    def open_part(name: str, is_file: bool) -> Take:
        nonlocal files
        files += name == file
        if files > 1 or len(fields) >= _FIELDS or (is_file and name != file):
            raise InvalidInput(f"an upload must have one file, in the field {file}, and few other fields")
        if name == file:
            return feed
        content = b""

        def take(piece: bytes) -> None:
            nonlocal content
            content += piece
            if len(content) > _FIELD_BYTES:
                raise InvalidInput(f"a field of an upload must have at most {_FIELD_BYTES} bytes")
            fields[name] = content.decode("utf-8", errors="replace")

        take(b"")
        return take

    await read_parts(stream, content_type=content_type, open_part=open_part)
    if not files:
        raise InvalidInput(f"an upload must have a file in the field {file}")
    return fields


class _PartCallbacks:
    """Callbacks of the parser."""

    def __init__(self, open_part: Callable[[str, bool], Take]) -> None:
        self._open = open_part
        self._take: Take | None = None
        self._header = self._value = self._disposition = b""
        self._parts = 0

    def callbacks(self) -> dict[str, Callable[..., None]]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._take_header,
            "on_header_value": self._take_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._take_data,
        }

    def _begin(self) -> None:
        self._header = self._value = self._disposition = b""
        self._parts += 1
        if self._parts > _PARTS:
            raise InvalidInput(f"a form must have at most {_PARTS} parts")

    def _take_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _take_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._take = self._open(options.get(b"name", b"").decode("utf-8", errors="replace"), b"filename" in options)

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        if self._take is not None:
            self._take(data[start:end])
