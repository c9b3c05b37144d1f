"""Uploads as browsers send them: fields and one CSV file, read piece by piece and never stored on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from tacit.privacy.errors import InvalidInput

__all__ = ["Upload", "read_upload"]

_FIELD_BYTES, _FIELDS = 4096, 20


@dataclass(slots=True)
class Upload:
    """The small fields of a form; the file went to its reader."""

    fields: dict[str, str] = field(default_factory=dict)
    files: int = 0


async def read_upload(
    stream: AsyncIterator[bytes], *, content_type: str, feed: Callable[[bytes], None], file: str = "file"
) -> Upload:
    r"""Read a multipart form: pieces of the file go to ``feed`` as they come, small fields are returned.

    A file's own name is not looked at. Fields are limited in size and number, and other files are refused.

    Examples
    --------
    >>> import asyncio
    >>> async def body():
    ...     yield b'--x\r\nContent-Disposition: form-data; name="mark"\r\n\r\n1\r\n--x\r\n'
    ...     yield b'Content-Disposition: form-data; name="file"; filename="../a"\r\n\r\nid,p\n\r\n--x--\r\n'
    >>> pieces = []
    >>> upload = asyncio.run(read_upload(body(), content_type="multipart/form-data; boundary=x", feed=pieces.append))
    >>> upload.fields, b"".join(pieces)
    ({'mark': '1'}, b'id,p\n')
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise InvalidInput("an upload must be multipart/form-data with a boundary")
    reader = _Reader(feed=feed, file=file)
    try:
        parser = MultipartParser(boundary, reader.callbacks())  # type: ignore[arg-type]
        async for piece in stream:
            parser.write(piece)
        parser.finalize()
    except FormParserError:
        raise InvalidInput("the upload is not a whole multipart form") from None
    return reader.upload


class _Reader:
    """Callbacks of the parser."""

    def __init__(self, *, feed: Callable[[bytes], None], file: str) -> None:
        self.upload = Upload()
        self._feed, self._file = feed, file
        self._header = self._value = self._disposition = b""
        self._name = ""
        self._text = b""

    def callbacks(self) -> dict[str, Callable[..., None]]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._take_header,
            "on_header_value": self._take_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._take_data,
            "on_part_end": self._end,
        }

    def _begin(self) -> None:
        self._header = self._value = self._disposition = self._text = b""

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
        self._name = options.get(b"name", b"").decode("utf-8", errors="replace")
        is_file = self._name == self._file
        if is_file:
            self.upload.files += 1
        if self.upload.files > 1 or len(self.upload.fields) >= _FIELDS or (b"filename" in options and not is_file):
            raise InvalidInput(f"an upload must have one file, in the field {self._file}, and few other fields")

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        if self._name == self._file:
            self._feed(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > _FIELD_BYTES:
            raise InvalidInput(f"a field of an upload must have at most {_FIELD_BYTES} bytes")

    def _end(self) -> None:
        if self._name != self._file:
            self.upload.fields[self._name] = self._text.decode("utf-8", errors="replace")
